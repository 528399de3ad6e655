"""Blocks: elements that share a scale, quantized and dequantized along one axis."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref import formats
from mxref._bits import (
    CHUNK,
    U8,
    FloatLayout,
    Floats,
    Parts,
    bits_of,
    compose,
    floats_from,
    layout_of,
    split,
)
from mxref._codes import codes_of, parts_of, view_codes
from mxref.element import READS as ELEMENT_READS
from mxref.element import encode_parts
from mxref.formats import E8M0, BlockFormat
from mxref.policy import Policy, resolve
from mxref.scale import scale_codes

__all__ = ["Blocks", "dequantize", "quantize"]

_READS = (*ELEMENT_READS, "scale_rule")


@dataclass(frozen=True, eq=False)
class Blocks:
    """A tensor in blocks: element codes, scale codes, and what is needed to read them.

    Args:
        codes: uint8 element codes, unpacked. `shape`, but along `axis` rounded up to whole blocks:
            the codes of the zero padding are there, as they are in memory of real kernels.
        scale_codes: uint8 scale codes; `shape`, but along `axis` one for each block.
        format: the block format; its block size is the one used.
        axis: the axis along which blocks run, as a non-negative index.
        shape: shape of the tensor itself.

    >>> blocks = quantize(np.float32([[1.0, -2.0, 3.0]]), "mxfp4_e2m1", block_size=2)
    >>> blocks.codes.tolist(), blocks.scale_codes.tolist(), blocks.shape
    ([[4, 14, 7, 0]], [[126, 126]], (1, 3))
    >>> blocks.elements.dtype, blocks.scales.dtype
    (dtype(float4_e2m1fn), dtype(float8_e8m0fnu))

    Raises:
        TypeError: codes of another type.
        ValueError: codes out of range, or shapes that do not belong together.
    """

    codes: U8
    scale_codes: U8
    format: BlockFormat
    axis: int
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        axis = _axis_index(self.axis, len(self.shape))
        fmt = formats.block_format(self.format)
        shape = tuple(int(n) for n in self.shape)
        codes = codes_of(self.codes, fmt.element)
        scales = codes_of(self.scale_codes, fmt.scale, "scale_codes")
        count = -(-shape[axis] // fmt.block_size)
        for parameter, array, length in (
            ("codes", codes, count * fmt.block_size),
            ("scale_codes", scales, count),
        ):
            wanted = (*shape[:axis], length, *shape[axis + 1 :])
            if array.shape != wanted:
                raise ValueError(
                    f"{parameter} must have shape {wanted} for a tensor of shape {shape} with "
                    f"block size {fmt.block_size} on axis {axis}, got {array.shape}"
                )
        for name, value in (
            ("codes", codes),
            ("scale_codes", scales),
            ("format", fmt),
            ("axis", axis),
            ("shape", shape),
        ):
            object.__setattr__(self, name, value)

    @property
    def block_size(self) -> int:
        """Elements that share one scale."""
        return self.format.block_size

    @property
    def elements(self) -> NDArray[Any]:
        """The codes as an array of the element's ml_dtypes type (int8 for INT8); no copy."""
        return view_codes(self.codes, self.format.element)

    @property
    def scales(self) -> NDArray[Any]:
        """The scale codes as an array of the scale's ml_dtypes type; no copy."""
        return view_codes(self.scale_codes, self.format.scale)

    def dequantize(self, dtype: DTypeLike = np.float32) -> Floats:
        """The numbers that the blocks stand for; see `mxref.dequantize`."""
        return dequantize(self, dtype)


def quantize(
    values: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    axis: int = -1,
    block_size: int | None = None,
    **choices: str,
) -> Blocks:
    """Blocks of elements with a shared scale, from a tensor.

    Each block's scale comes from its largest magnitude; each element is value / scale, rounded once
    to the element format, exact in between for every input, subnormals included.

    Args:
        values: float64, float32, float16 or bfloat16, one axis or more.
        block_format: block format or its name.
        policy: a `Policy` or its spelling.
        axis: the axis along which blocks run. A tail is filled up with +0.
        block_size: elements that share a scale; the format's own (32) if None.
        choices: `rounding`, `overflow`, `scale_rule`: single choices of the policy.

    Returns:
        `Blocks`. A block with NaN or infinity has scale FF and element codes 00; a block of zeros
        has scale 00.

    Raises:
        TypeError: values of another type.
        ValueError: no axis, axis out of range, block_size below 1, unknown format or choice.

    Source: OCP MX v1.0 §6.3; SPEC_NOTES N1 to N10, N24, N25, N29 to N31.

    >>> blocks = quantize(np.float32([0.5, -3.0, 100.0, 7.0]), "mxfp8_e4m3")
    >>> blocks.scale_codes, blocks.codes[:4]
    (array([125], dtype=uint8), array([ 64, 212, 124,  94], dtype=uint8))
    >>> blocks.dequantize()
    array([ 0.5, -3. , 96. ,  7. ], dtype=float32)
    """
    fmt = formats.block_format(block_format)
    if block_size is not None:
        fmt = dataclasses.replace(fmt, block_size=_checked_block_size(block_size))
    _refuse_other_scales("quantize", fmt)
    chosen = resolve("quantize", _READS, policy, choices)
    bits, layout = bits_of(values)
    axis = _axis_index(axis, bits.ndim)
    rows, shape = _as_rows(bits, axis, fmt.block_size)
    codes = np.empty(rows.shape, np.uint8)
    scales = np.empty(len(rows), np.uint8)
    for part in _chunks(len(rows), fmt.block_size):
        scales[part], codes[part] = _quantize_rows(rows[part], layout, fmt, chosen)
    return Blocks(
        codes=_from_rows(codes, shape, axis),
        scale_codes=_from_rows(scales[:, np.newaxis], shape, axis),
        format=fmt,
        axis=axis,
        shape=bits.shape,
    )


def dequantize(blocks: Blocks, dtype: DTypeLike = np.float32) -> Floats:
    """The numbers that blocks stand for: element times scale, rounded once to the dtype.

    Args:
        blocks: what `quantize` returned, or a `Blocks` made from codes.
        dtype: float64, float32, float16 or bfloat16. float32 and float64 hold every product within
            their range exactly.

    Returns:
        Floats of `blocks.shape`. A NaN scale or element gives the positive quiet NaN; a product
        beyond the dtype gives infinity.

    Raises:
        TypeError: blocks is no `Blocks`, or dtype is not supported.

    Source: OCP MX v1.0 §5.1; SPEC_NOTES N20, N21, N22.

    >>> fmt = formats.block_format("mxfp4_e2m1")
    >>> codes = np.pad(np.uint8([1, 7, 8]), (0, 29))
    >>> dequantize(Blocks(codes, np.uint8([128]), fmt, 0, (3,)))
    array([ 1., 12., -0.], dtype=float32)
    """
    if not isinstance(blocks, Blocks):
        raise TypeError(f"blocks must be a Blocks, got {type(blocks).__name__}")
    layout = layout_of(dtype)
    fmt = blocks.format
    _refuse_other_scales("dequantize", fmt)
    table = _product_table(fmt, layout)
    rows, shape = _as_rows(blocks.codes, blocks.axis, fmt.block_size)
    scales = np.moveaxis(blocks.scale_codes, blocks.axis, -1).reshape(-1, 1)
    bits = np.empty(rows.shape, layout.uint)
    for part in _chunks(len(rows), fmt.block_size):
        index = (scales[part].astype(np.intp) << fmt.element.bits) | rows[part]
        np.take(table, index, out=bits[part], mode="wrap")
    whole = _from_rows(bits, shape, blocks.axis)
    tail = [slice(None)] * whole.ndim
    tail[blocks.axis] = slice(blocks.shape[blocks.axis])
    return floats_from(np.ascontiguousarray(whole[tuple(tail)]), layout)


def _quantize_rows(
    rows: NDArray[Any], layout: FloatLayout, fmt: BlockFormat, policy: Policy
) -> tuple[U8, U8]:
    """Scale codes and element codes of blocks, one a row."""
    # Magnitude patterns are ordered as the numbers are, with infinity and NaN above them all.
    amax = (rows & layout.uint.type(layout.sign_bit - 1)).max(axis=1)
    scales = scale_codes(amax, layout, fmt.element, policy.scale.scale_rule)
    parts = split(rows, layout)
    exponent = parts.exponent - (scales.astype(np.int64) - fmt.scale.bias)[:, np.newaxis]
    scaled = dataclasses.replace(parts, exponent=exponent)
    codes = encode_parts(scaled, fmt.element, policy.element)
    codes[scales == fmt.scale.nan_code] = 0
    return scales, codes


@functools.lru_cache(maxsize=32)
def _product_table(fmt: BlockFormat, layout: FloatLayout) -> NDArray[Any]:
    """Patterns of scale * element, by scale code * 2**bits + element code."""
    scale, element = parts_of(fmt.scale), parts_of(fmt.element)
    is_nan = scale.is_nan[:, np.newaxis] | element.is_nan
    products = Parts(
        negative=np.broadcast_to(element.negative, is_nan.shape),
        significand=scale.significand[:, np.newaxis] * element.significand,
        exponent=scale.exponent[:, np.newaxis] + element.exponent,
        is_inf=np.broadcast_to(element.is_inf, is_nan.shape),
        is_nan=is_nan,
    )
    return compose(products, layout).reshape(-1)


def _refuse_other_scales(operation: str, fmt: BlockFormat) -> None:
    if fmt.scale != E8M0 or fmt.tensor_scale:
        raise ValueError(
            f"{operation} must have an e8m0 scale and no tensor scale, got {fmt.name}: "
            "other scales can be described but not computed yet"
        )


def _checked_block_size(block_size: SupportsIndex) -> int:
    try:
        return operator.index(block_size)
    except TypeError:
        raise TypeError(f"block_size must be an integer, got {type(block_size).__name__}") from None


def _axis_index(axis: int, ndim: int) -> int:
    if ndim == 0:
        raise ValueError("values must have at least one axis, got a scalar: reshape it to (1,)")
    if not -ndim <= axis < ndim:
        raise ValueError(f"axis must be in [{-ndim}, {ndim - 1}] for {ndim} axes, got {axis}")
    return axis % ndim


def _as_rows(array: NDArray[Any], axis: int, block_size: int) -> tuple[NDArray[Any], list[int]]:
    """Blocks as rows, the tail filled up with zero bits, and the shape of the array of blocks."""
    moved = np.moveaxis(array, axis, -1)
    *lead, length = moved.shape
    count = -(-length // block_size)
    if count * block_size != length:
        moved = np.pad(moved, [(0, 0)] * len(lead) + [(0, count * block_size - length)])
    return np.ascontiguousarray(moved).reshape(-1, block_size), [*lead, count]


def _from_rows(rows: NDArray[Any], shape: list[int], axis: int) -> NDArray[Any]:
    """The inverse of `_as_rows` for one row of any length per block; the padding stays."""
    *lead, count = shape
    return np.ascontiguousarray(np.moveaxis(rows.reshape(*lead, count * rows.shape[1]), -1, axis))


def _chunks(rows: int, block_size: int) -> Iterator[slice]:
    step = max(1, CHUNK // block_size)
    return (slice(start, start + step) for start in range(0, rows, step))
