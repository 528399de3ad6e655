"""Right scales and exact quotients of blocks, as inputs of wrong element steps.

Each quotient is rounded to odd in the float type that the element step reads; no rounding to fewer
bits can tell that from the exact quotient. Under a power of two that type is the numbers' own, but
float32 for float16, since quotients exceed its range. Under a small-float scale it is float32.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import (
    F32,
    F64,
    LAYOUTS,
    U8,
    FloatLayout,
    Floats,
    Parts,
    bits_of,
    floats_from,
    floor_log2,
    layout_of,
    round_to_code,
    split,
)
from mxref.blocks.exact_scales import scaled
from mxref.blocks.quantization import quantize
from mxref.formats.catalog import E8M0, block_format
from mxref.mutants.mutant import Function

__all__ = ["Quantized", "quantized", "to_odd"]

Values = NDArray[Any]

#: Every inexact number goes to the neighbour with an odd code.
_TO_ODD = np.array([0, 1, 1, 1, 0, 0, 0, 0] * 2, np.int64)


def to_odd(parts: Parts, layout: FloatLayout) -> Floats:
    """Floats of numbers in integer parts, rounded to odd; no number becomes zero or infinite.

    >>> third = Parts.finite(np.array([False]), np.array([0x55555555]), np.array([-32]))
    >>> to_odd(third, F32).view(np.uint32) & 1
    array([1], dtype=uint32)
    """
    is_large = parts.exponent + floor_log2(parts.significand) > layout.bias
    magnitude = round_to_code(
        parts.significand,
        np.where(is_large, 0, parts.exponent),
        parts.negative,
        layout.mantissa_bits,
        layout.emin,
        _TO_ODD,
    )
    magnitude = np.where(is_large, layout.inf_bits - 1, np.minimum(magnitude, layout.inf_bits - 1))
    magnitude = np.where(parts.is_inf, layout.inf_bits, magnitude)
    magnitude = np.where(parts.is_nan, layout.nan_bits, magnitude)
    sign = parts.negative.astype(np.uint64) << np.uint64(layout.width - 1)
    return floats_from(magnitude.astype(np.uint64) | sign, layout)


@dataclass(frozen=True, slots=True)
class Quantized:
    """The right answer for blocks, and the quotients that its elements are made of.

    Args:
        element: the element format.
        scales: the scale codes, as `mxref.quantize` gives them.
        codes: the element codes, too.
        quotients: the elements divided by their scales.
        nan: where the scale is NaN.
    """

    element: str
    scales: U8
    codes: U8
    quotients: Floats
    nan: NDArray[np.bool_]

    def encoded(self, encode: Function) -> U8:
        """The codes that an element step makes of the quotients; 0 under a NaN scale."""
        codes: U8 = encode(self.quotients.reshape(-1), self.element).reshape(self.nan.shape)
        return np.where(self.nan, np.uint8(0), codes)


@functools.lru_cache(maxsize=512)
def _quantized(
    memory: bytes, shape: tuple[int, int], float: str, format: str, axis: int, tensor: Any
) -> Quantized:
    values = np.frombuffer(memory, LAYOUTS[float].dtype).reshape(shape)
    fmt = block_format(format)
    given = {} if tensor is None else {"tensor_scale": tensor}
    blocks = quantize(values, format, axis=axis, **given)
    padded = np.zeros(blocks.codes.shape, values.dtype)
    padded[: shape[0], : shape[1]] = values
    parts = split(*bits_of(padded))
    codes = blocks.scale_codes.astype(np.int64)
    nan = np.repeat(codes == max(fmt.scale.nan_codes), fmt.elements_per_block, axis=axis)
    if fmt.scale == E8M0:
        exponent = np.repeat(codes - E8M0.bias, fmt.elements_per_block, axis=axis)
        parts = dataclasses.replace(parts, exponent=parts.exponent - exponent)
        layout = F32 if float == "f16" else LAYOUTS[float]
    else:
        parts = dataclasses.replace(parts, significand=parts.significand * (codes != 0))
        parts = scaled(parts, codes[:, 0], fmt, blocks.tensor_scale)
        layout = F64 if float == "f64" else F32
    quotients = to_odd(parts, layout)
    return Quantized(fmt.element.name, blocks.scale_codes, blocks.codes, quotients, nan)


def quantized(values: Values, format: str, axis: int = 1, tensor: Any = None) -> Quantized:
    """The right answer for a matrix with blocks along an axis; kept for the next mutant."""
    name = layout_of(values.dtype).name
    return _quantized(values.tobytes(), values.shape, name, format, axis, tensor)
