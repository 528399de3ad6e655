"""Classes A, B and F inside blocks: every wrong `encode` as the element step of a quantizer.

The scales are right, and so are the quotients: each is rounded to odd in the float type that the
element step reads, which no rounding to fewer bits can tell from the exact quotient. That type is
the numbers' own under a power of two, but float32 for float16, whose range quotients exceed; and
float32 under a scale that is a small float.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import (
    F32,
    LAYOUTS,
    U8,
    FloatLayout,
    Floats,
    Parts,
    bits_of,
    floats_from,
    layout_of,
    round_to_code,
    split,
)
from mxref.blocks.quantization import quantize
from mxref.blocks.two_level import scaled
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, block_format
from mxref.mutants.mutant import FLOATS, Function, Mutant, Mutants, moved
from mxref.mutants.range_mutants import RANGES
from mxref.mutants.rounding_mutants import INTEGERS, ROUNDING

__all__ = ["LIFTED", "in_blocks", "in_tensors", "to_odd"]

Values = NDArray[Any]
Pair = tuple[U8, U8]

#: Every inexact number goes to the odd one of its two neighbours.
_TO_ODD = np.array([0, 1, 1, 1, 0, 0, 0, 0] * 2, np.int64)


def to_odd(parts: Parts, layout: FloatLayout) -> Floats:
    """Floats of numbers in integer parts, rounded to odd; no number becomes zero or infinite.

    >>> third = Parts.finite(np.array([False]), np.array([0x55555555]), np.array([-32]))
    >>> to_odd(third, F32).view(np.uint32) & 1
    array([1], dtype=uint32)
    """
    magnitude = round_to_code(
        parts.significand,
        parts.exponent,
        parts.negative,
        layout.mantissa_bits,
        layout.emin,
        _TO_ODD,
    )
    magnitude = np.where(parts.is_inf, layout.inf_bits, np.minimum(magnitude, layout.inf_bits - 1))
    magnitude = np.where(parts.is_nan, layout.nan_bits, magnitude)
    sign = parts.negative.astype(np.uint64) << np.uint64(layout.width - 1)
    return floats_from(magnitude.astype(np.uint64) | sign, layout)


@dataclass(frozen=True, slots=True)
class _Work:
    """What stands before the element step, which is the same for every mutant.

    Args:
        element: the element format.
        scales: the scale codes.
        quotients: the elements divided by their scales.
        nan: where the scale is NaN.
    """

    element: str
    scales: U8
    quotients: Floats
    nan: NDArray[np.bool_]

    def encoded(self, encode: Function) -> U8:
        """The element codes."""
        codes: U8 = encode(self.quotients.reshape(-1), self.element).reshape(self.nan.shape)
        return np.where(self.nan, np.uint8(0), codes)


@functools.lru_cache(maxsize=512)
def _work(
    memory: bytes, shape: tuple[int, int], float: str, format: str, axis: int, tensor: Any
) -> _Work:
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
        layout = F32
    return _Work(fmt.element.name, blocks.scale_codes, to_odd(parts, layout), nan)


def _work_of(values: Values, format: str, axis: int = 1, tensor: Any = None) -> _Work:
    name = layout_of(values.dtype).name
    return _work(values.tobytes(), values.shape, name, format, axis, tensor)


def in_blocks(encode: Function) -> Function:
    """A `quantize` with right scales, the elements of which `encode` makes.

    >>> from mxref.numbers.element import encode
    >>> scales, codes = in_blocks(encode)(np.full((1, 32), 5.0, np.float32), "mxfp4_e2m1")
    >>> scales, codes[0, :4]
    (array([127], dtype=uint8), array([6, 6, 6, 6], dtype=uint8))
    """

    def run(values: Values, format: str, tensor_scale: Any = None) -> Pair:
        work = _work_of(values, format, 1, tensor_scale)
        return work.scales[:, 0], work.encoded(encode)

    return run


def in_tensors(encode: Function) -> Function:
    """A `quantize_tensor` with right scales, the elements of which `encode` makes."""

    def run(values: Values, format: str, axis: int) -> Pair:
        work = _work_of(values, format, axis)
        return work.scales, work.encoded(encode)

    return run


@dataclass(frozen=True, slots=True)
class _Place:
    """Where element steps stand.

    Args:
        letter: what follows the mutant's id.
        words: what follows its name.
        op: the operation.
        lift: makes the operation of an `encode`.
        formats: the block formats by the names of their elements.
        floats: float types, each with the one that quotients have.
        model: the coverage model that is expected to catch the mutants.
    """

    letter: str
    words: str
    op: str
    lift: Callable[[Function], Function]
    formats: dict[str, str]
    floats: dict[str, str]
    model: str

    def holds(self, mutant: Mutant) -> Mutant:
        """The same mistake in this place."""
        if mutant.run is None:
            raise ValueError(f"mutant {mutant.id} cannot be run: {mutant.waiting}")
        return dataclasses.replace(
            mutant,
            op=self.op,
            run=self.lift(mutant.run),
            formats=tuple(self.formats[name] for name in mutant.formats if name in self.formats),
            floats=tuple(name for name, own in self.floats.items() if own in mutant.floats),
            model=self.model,
        )


_ELEMENTS = {fmt.element.name: name for name, fmt in BLOCK_FORMATS.items()}
_OWN = {name: name if name != "f16" else "f32" for name in FLOATS}
_PLACES = (
    _Place("q", "blocks", "quantize", in_blocks, _ELEMENTS, _OWN, "M7"),
    _Place(
        "t",
        "tensors",
        "quantize_tensor",
        in_tensors,
        _ELEMENTS,
        {name: name for name in ("f32", "bf16")},
        "M7",
    ),
    _Place(
        "n",
        "fp4_ue4m3",
        "quantize",
        in_blocks,
        {"e2m1": "fp4_ue4m3"},
        dict.fromkeys(("f32", "bf16"), "f32"),
        "M7",
    ),
    _Place("v", "nvfp4", "quantize", in_blocks, {"e2m1": "nvfp4"}, {"f32": "f32"}, "M7"),
)


def _lifted() -> Mutants:
    found: dict[str, Mutant] = {}
    for heading, mutant in {**ROUNDING, **INTEGERS, **RANGES}.items():
        for place in _PLACES:
            assert isinstance(mutant, Mutant)
            lifted = place.holds(mutant)
            if lifted.formats and lifted.floats:
                of = heading.partition(" ")[0]
                found[moved(heading, place.letter, place.words)] = dataclasses.replace(
                    lifted, lifted_from=of
                )
    return found


#: The mutants of `encode` inside blocks, tensors and NVFP4 blocks.
LIFTED: Mutants = _lifted()
