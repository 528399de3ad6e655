"""Blocks: elements that share a scale, quantized and dequantized along one axis."""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref import formats
from mxref._bits import U8, FloatLayout, Floats, Stochastic, floats_from, layout_of, split
from mxref._codes import codes_of, view_codes
from mxref._products import product_table
from mxref._rows import as_rows, axis_index, cut, from_rows, row_chunks
from mxref._sources import numbers_of
from mxref.choices import BlockInf, BlockNaN, NaNBlockCodes, NaNToFinite, Scaling, Tail
from mxref.element import encode_parts, stochastic
from mxref.formats import E8M0, BlockFormat
from mxref.policy import Policy, resolve
from mxref.scale import scale_codes

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from mxref.policy import DequantizeChoices, QuantizeChoices

__all__ = ["Blocks", "dequantize", "quantize"]


@dataclass(frozen=True, eq=False)
class Blocks:
    """A tensor in blocks: element codes, scale codes, and what is needed to read them.

    Args:
        codes: uint8 element codes, unpacked. `shape`, but along `axis` rounded up to whole blocks:
            the codes of the zero padding are there, as they are in memory of real kernels. Codes of
            `shape` itself, with a short last block, are fine, too.
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
        axis = axis_index(self.axis, len(self.shape))
        fmt = formats.block_format(self.format)
        shape = tuple(operator.index(n) for n in self.shape)
        if min(shape) < 0:
            raise ValueError(f"shape must hold no negative numbers, got {shape}")
        formats.code_format(fmt.element)  # refuses more than 8 bits
        codes = codes_of(self.codes, fmt.element)
        scales = codes_of(self.scale_codes, fmt.scale, "scale_codes")
        count = -(-shape[axis] // fmt.block_size)
        for parameter, array, length in (
            ("codes", codes, count * fmt.block_size),
            ("scale_codes", scales, count),
        ):
            wanted = (*shape[:axis], length, *shape[axis + 1 :])
            if array.shape != wanted and (parameter == "scale_codes" or array.shape != shape):
                raise ValueError(
                    f"{parameter} must have shape {wanted} for a tensor of shape {shape} with "
                    f"block size {fmt.block_size} on axis {axis}, got {array.shape}"
                )
        # Codes that change later could leave their range: what others can write to is copied.
        codes, scales = (
            array.copy() if _is_writeable(array) else array for array in (codes, scales)
        )
        codes.flags.writeable = scales.flags.writeable = False
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

    def dequantize(
        self,
        dtype: DTypeLike = np.float32,
        policy: str | Policy = "ocp",
        **choices: Unpack[DequantizeChoices],
    ) -> Floats:
        """The numbers that the blocks stand for; see `mxref.dequantize`."""
        return dequantize(self, dtype, policy, **choices)


def quantize(
    values: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    axis: int = -1,
    block_size: int | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int | None = None,
    **choices: Unpack[QuantizeChoices],
) -> Blocks:
    """Blocks of elements with a shared scale, from a tensor.

    Each block's scale comes from its largest magnitude; each element is value / scale, rounded once
    to the element format, exact in between for every input, subnormals included.

    Args:
        values: floats, or integers up to 2**53, one axis or more.
        block_format: block format or its name.
        policy: a `Policy` or its spelling.
        axis: the axis along which blocks run. A tail is filled up with +0 in `ocp`.
        block_size: elements that share a scale; the format's own (32) if None.
        random_bits: for the stochastic roundings, as in `encode`.
        random_width: their width in bits.
        choices: single choices of the policy; see `mxref.choices`.

    Returns:
        `Blocks`. In `ocp` a block with NaN or infinity has scale FF and element codes 00; a block
        of zeros has scale 00.

    Raises:
        TypeError: values of another type.
        ValueError: no axis, axis out of range, block_size below 1, unknown format or choice, a
            tail or a NaN that the policy refuses.

    Source: OCP MX v1.0 §6.3; SPEC_NOTES N1 to N10, N24, N25, N29 to N31.

    >>> blocks = quantize(np.float32([0.5, -3.0, 100.0, 7.0]), "mxfp8_e4m3")
    >>> blocks.scale_codes, blocks.codes[:4]
    (array([125], dtype=uint8), array([ 64, 212, 124,  94], dtype=uint8))
    >>> blocks.dequantize()
    array([ 0.5, -3. , 96. ,  7. ], dtype=float32)
    """
    fmt = formats.block_format(block_format)
    if block_size is not None:
        fmt = dataclasses.replace(fmt, block_size=block_size)
    _refuse_other_scales("quantize", fmt)
    chosen = resolve("quantize", policy, choices)
    bits, layout = numbers_of(values, chosen.element)
    _refuse_wide_integers(values)
    axis = axis_index(axis, bits.ndim)
    length = bits.shape[axis]
    if chosen.layout.tail is Tail.REFUSED and length % fmt.block_size:
        raise ValueError(
            f"values must fill whole blocks of {fmt.block_size} under tail=refused, "
            f"got {length} on axis {axis}"
        )
    draw = stochastic(chosen.element.rounding, random_bits, random_width, bits.shape)
    rows, shape = as_rows(bits, axis, fmt.block_size)
    if draw is not None:
        draws, _ = as_rows(draw.bits.reshape(bits.shape), axis, fmt.block_size)
        draw = dataclasses.replace(draw, bits=draws)
    codes = np.empty(rows.shape, np.uint8)
    scales = np.empty(len(rows), np.uint8)
    for part in row_chunks(len(rows), fmt.block_size):
        some = None if draw is None else draw[part]
        scales[part], codes[part] = _quantize_rows(rows[part], layout, fmt, chosen, some)
    codes.flags.writeable = scales.flags.writeable = False
    whole = from_rows(codes, shape, axis)
    if chosen.layout.tail is Tail.SHORT:
        whole = cut(whole, axis, length)
    block_scales = from_rows(scales[:, np.newaxis], shape, axis)
    return Blocks(whole, block_scales, fmt, axis, bits.shape)


def dequantize(
    blocks: Blocks,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    **choices: Unpack[DequantizeChoices],
) -> Floats:
    """The numbers that blocks stand for: element times scale, rounded once to the dtype.

    Args:
        blocks: what `quantize` returned, or a `Blocks` made from codes.
        dtype: float64, float32, float16 or bfloat16. float32 and float64 hold every product within
            their range exactly.
        policy: a `Policy` or its spelling.
        choices: single choices of the policy; see `mxref.choices`.

    Returns:
        Floats of `blocks.shape`. In `ocp` a NaN scale or element gives the positive quiet NaN; a
        product beyond the dtype gives infinity.

    Raises:
        TypeError: blocks is no `Blocks`, or dtype is not supported.
        ValueError: unknown choice.

    Source: OCP MX v1.0 §5.1; SPEC_NOTES N20, N21, N22.

    >>> fmt = formats.block_format("mxfp4_e2m1")
    >>> codes = np.pad(np.uint8([1, 7, 8]), (0, 29))
    >>> dequantize(Blocks(codes, np.uint8([128]), fmt, 0, (3,)))
    array([ 1., 12., -0.], dtype=float32)
    """
    if not isinstance(blocks, Blocks):
        raise TypeError(f"blocks must be a Blocks, got {type(blocks).__name__}")
    chosen = resolve("dequantize", policy, choices).decode
    layout = layout_of(dtype)
    fmt = blocks.format
    _refuse_other_scales("dequantize", fmt)
    table = product_table(fmt, layout, chosen)
    rows, shape = as_rows(blocks.codes, blocks.axis, fmt.block_size)
    scales = np.moveaxis(blocks.scale_codes, blocks.axis, -1).reshape(-1, 1)
    bits = np.empty(rows.shape, layout.uint)
    for part in row_chunks(len(rows), fmt.block_size):
        index = (scales[part].astype(np.intp) << fmt.element.bits) | rows[part]
        np.take(table, index, out=bits[part], mode="wrap")
    whole = from_rows(bits, shape, blocks.axis)
    return floats_from(cut(whole, blocks.axis, blocks.shape[blocks.axis]), layout)


def _quantize_rows(
    rows: NDArray[Any],
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    draw: Stochastic | None,
) -> tuple[U8, U8]:
    """Scale codes and element codes of blocks, one a row."""
    parts = split(rows, layout)
    # Magnitude patterns are ordered as the numbers are, with infinity and NaN above them all.
    magnitude = rows & layout.uint.type(layout.sign_bit - 1)
    finite = np.where(parts.is_inf | parts.is_nan, layout.uint.type(0), magnitude)
    result = scale_codes(finite.max(axis=1), layout, fmt.element, policy.scale)
    has_inf, has_nan = parts.is_inf.any(axis=1), parts.is_nan.any(axis=1)
    code, from_amax, flushed = result.codes, result.is_nan, result.flushed
    if policy.scale.block_inf is BlockInf.LARGEST_SCALE:
        code = np.where(has_inf, E8M0.max_code, code)
        from_amax, flushed = from_amax & ~has_inf, flushed & ~has_inf
    nan_block = from_amax | (has_nan & (policy.scale.block_nan is BlockNaN.NAN_BLOCK))
    nan_block |= has_inf & (policy.scale.block_inf is BlockInf.NAN_BLOCK)

    exponent = parts.exponent - (code - fmt.scale.bias)[:, np.newaxis]
    numbers = ~flushed[:, np.newaxis]  # in a flushed block every element is a zero
    is_inf, is_nan = parts.is_inf & numbers, parts.is_nan & numbers
    if policy.scale.scaling is Scaling.RECIPROCAL_FLUSHED:  # 1 / 2**127 is flushed to 0
        numbers = numbers & (code < E8M0.max_code)[:, np.newaxis]
        is_inf, is_nan = is_inf & numbers, is_nan | (is_inf & ~numbers)
    significand = parts.significand * numbers
    scaled = dataclasses.replace(
        parts, significand=significand, exponent=exponent, is_inf=is_inf, is_nan=is_nan
    )
    refuses_nan = policy.element.nan_to_finite is NaNToFinite.ERROR
    if refuses_nan and fmt.element.nan_code is None and (has_nan & ~nan_block).any():
        raise ValueError(
            f"values must not be NaN under nan_to_finite=error: {fmt.element.name} has no NaN"
        )
    codes = encode_parts(scaled, fmt.element, policy.element, draw)
    ones = policy.scale.nan_block_codes is NaNBlockCodes.ONES
    codes[nan_block] = fmt.element.code_count - 1 if ones else 0
    return np.where(nan_block, 0xFF, code).astype(np.uint8), codes


def _is_writeable(array: NDArray[Any]) -> bool:
    """Whether somebody can write to an array's memory, through it or what it is a view of."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None


def _refuse_other_scales(operation: str, fmt: BlockFormat) -> None:
    formats.code_format(fmt.element)
    if fmt.scale != E8M0 or fmt.tensor_scale:
        raise ValueError(
            f"{operation} must have an e8m0 scale and no tensor scale, got {fmt.name}: "
            "other scales can be described but not computed yet"
        )


def _refuse_wide_integers(values: ArrayLike) -> None:
    array = np.asarray(values)
    if array.dtype.kind in "iu" and array.size:
        widest = max(abs(int(array.min())), int(array.max()))
        if widest > 1 << 53:
            raise ValueError(f"values must be floats or integers up to 2**53, got {widest}")
