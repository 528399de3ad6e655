"""Blocks: elements that share a scale, held as codes, and read back as numbers."""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mxref import formats
from mxref._bits import U8, FloatLayout, Floats, floats_from, layout_of
from mxref._codes import codes_of, view_codes
from mxref._mapped import Mapped
from mxref._products import product_table
from mxref._tiles import Tiling, axis_index, cut
from mxref.choices import ScaleArithmetic
from mxref.formats import E8M0, BlockFormat
from mxref.policy import Policy, resolve, spelled
from mxref.two_level import TensorScale

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from mxref.policy import DequantizeChoices

__all__ = ["Blocks", "dequantize"]


@dataclass(frozen=True, eq=False)
class Blocks:
    """A tensor in blocks: element codes, scale codes, and what is needed to read them.

    Args:
        codes: uint8 element codes, unpacked. `shape`, but along `axis` rounded up to whole blocks:
            the codes of the zero padding are there, as they are in memory of real kernels. Codes of
            `shape` itself, with a short last block, are fine, too.
        scale_codes: uint8 scale codes; `shape`, but along `axis` one for each block.
        format: the block format; its block size is the one used.
        axis: the axis along which blocks run; a tuple of axes for blocks of several.
        shape: shape of the tensor itself; a scalar, (), is held as one element of (1,).
        dtype: dtype of the tensor that was quantized; what `to_dtype` gives.
        tensor_scale: the float32 scale of the whole tensor, in formats that have one.

    >>> import mxref
    >>> blocks = mxref.quantize(np.float32([[1.0, -2.0, 3.0]]), "mxfp4_e2m1", block_size=2)
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
    axis: int | tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.float32)  # noqa: RUF009 (a dtype is immutable)
    tensor_scale: TensorScale | None = None

    def __post_init__(self) -> None:
        fmt = formats.block_format(self.format)
        shape = tuple(operator.index(n) for n in self.shape)
        axis = axis_index(self.axis, len(shape))
        if min(shape, default=0) < 0:
            raise ValueError(f"shape must hold no negative numbers, got {shape}")
        if fmt.tensor_scale != (self.tensor_scale is not None):
            has = "a" if fmt.tensor_scale else "no"
            raise ValueError(
                f"tensor_scale must be given exactly for formats that have one: {fmt.name} has "
                f"{has} tensor scale, got {self.tensor_scale}"
            )
        formats.code_format(fmt.element)  # refuses more than 8 bits
        codes = codes_of(self.codes, fmt.element)
        scales = codes_of(self.scale_codes, fmt.scale, "scale_codes")
        tiling = Tiling.of(shape, axis, fmt.block_shape)
        for parameter, array, fits in (
            ("codes", codes, (tiling.padded, tiling.shape)),
            ("scale_codes", scales, (tiling.counts,)),
        ):
            if array.shape not in fits:
                raise ValueError(
                    f"{parameter} must have shape {fits[0]} for a tensor of shape {shape} with "
                    f"block size {fmt.block_size} on axis {self.axis}, got {array.shape}"
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
            ("dtype", np.dtype(self.dtype)),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, *fields: object) -> Blocks:
        """Blocks that need no check and no copy."""
        blocks = object.__new__(cls)
        for field, value in zip(dataclasses.fields(cls), fields, strict=True):
            object.__setattr__(blocks, field.name, value)
        return blocks

    @property
    def tiling(self) -> Tiling:
        """How blocks lie in the tensor."""
        return Tiling.of(self.shape, self.axis, self.format.block_shape)

    @property
    def block_size(self) -> int | tuple[int, ...]:
        """Elements that share one scale; for blocks along several axes, along each."""
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


def dequantize(
    blocks: Blocks,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    *,
    out: Floats | None = None,
    **choices: Unpack[DequantizeChoices],
) -> Floats:
    """The numbers that blocks stand for: element times scale, rounded once to the dtype.

    Args:
        blocks: what `quantize` returned, or a `Blocks` made from codes.
        dtype: float64, float32, float16 or bfloat16. float32 and float64 hold every product within
            their range exactly.
        policy: a `Policy` or its spelling.
        out: where the floats go: C-contiguous, of `blocks.shape` and the dtype; may be mapped to a
            file.
        choices: single choices of the policy; see `mxref.choices`.

    Returns:
        Floats of `blocks.shape`. In `ocp` a NaN scale or element gives the positive quiet NaN; a
        product beyond the dtype gives infinity.

    Raises:
        TypeError: blocks is no `Blocks`, or dtype is not supported.
        ValueError: unknown choice; `out` of another shape or dtype.

    Source: OCP MX v1.0 §5.1; SPEC_NOTES N20, N21, N22, N41.

    >>> fmt = formats.block_format("mxfp4_e2m1")
    >>> codes = np.pad(np.uint8([1, 7, 8]), (0, 29))
    >>> dequantize(Blocks(codes, np.uint8([128]), fmt, 0, (3,)))
    array([ 1., 12., -0.], dtype=float32)
    """
    if not isinstance(blocks, Blocks):
        raise TypeError(f"blocks must be a Blocks, got {type(blocks).__name__}")
    chosen = resolve("dequantize", policy, choices)
    layout = layout_of(dtype)
    fmt, tiling = blocks.format, blocks.tiling
    arithmetic = chosen.scale.scale_arithmetic
    if fmt.scale == E8M0:
        if "scale_arithmetic" in spelled(policy, choices):
            raise ValueError(
                f"dequantize of {fmt.name} does not read scale_arithmetic, since its scale is e8m0"
            )
        arithmetic = ScaleArithmetic.EXACT
    table = product_table(fmt, layout, chosen.decode, arithmetic, blocks.tensor_scale)
    bits = _output(out, blocks.shape, layout)
    whole = bits.reshape(tiling.shape)
    codes = cut(blocks.codes, tiling.shape)
    mapped = Mapped(bits, blocks.codes)
    for tile, some in tiling.tiles():
        rows = tiling.rows(codes[tile])
        scales = blocks.scale_codes[some].reshape(-1, 1)
        index = (scales.astype(np.intp) << fmt.element.bits) | rows
        part = whole[tile]
        decoded = np.take(table, index, mode="wrap")
        part[...] = cut(tiling.from_rows(decoded, blocks.scale_codes[some].shape), part.shape)
        mapped.use(part.nbytes)
    return floats_from(bits, layout)


def _output(out: Floats | None, shape: tuple[int, ...], layout: FloatLayout) -> NDArray[Any]:
    """The patterns to write: new ones, or those of `out`."""
    if out is None:
        return np.empty(shape, layout.uint)
    wanted = f"a writable C-contiguous {layout.dtype} array of shape {shape}"
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be {wanted}, got {type(out).__name__}")
    if out.shape != shape or out.dtype != layout.dtype or not out.flags.c_contiguous:
        raise ValueError(f"out must be {wanted}, got {out.dtype} of shape {out.shape}")
    if not out.flags.writeable:
        raise ValueError(f"out must be {wanted}, got a read-only one")
    patterns: NDArray[Any] = out.view(layout.uint)
    return patterns


def _is_writeable(array: NDArray[Any]) -> bool:
    """Whether somebody can write to an array's memory, through it or what it is a view of."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None
