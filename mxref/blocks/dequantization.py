"""Dequantization: the numbers that blocks stand for."""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref import formats
from mxref.bits.floats import FloatLayout, Floats, floats_from, layout_of
from mxref.bits.out import floats_out
from mxref.blocks.fields import BlockFields
from mxref.blocks.product_tables import product_table
from mxref.blocks.tiles import Axis, Tile, cut
from mxref.blocks.two_level import TensorScale
from mxref.formats.catalog import BlockFormat
from mxref.numbers.codes import codes_of
from mxref.policy.choices import ScaleArithmetic
from mxref.policy.keywords import DequantizeChoices
from mxref.policy.policy import Policy, resolve, spelled
from mxref.support.mapped import Mapped
from mxref.support.scratch import scratch
from mxref.support.threads import TILE, for_each, part_size, thread_count


def dequantize(
    blocks: BlockFields | ArrayLike,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    *,
    scale_codes: ArrayLike | None = None,
    block_format: str | BlockFormat | None = None,
    axis: Axis = -1,
    block_size: int | tuple[int, ...] | None = None,
    tensor_scale: TensorScale | float | None = None,
    out: Floats | None = None,
    threads: int | None = None,
    **choices: Unpack[DequantizeChoices],
) -> Floats:
    """The numbers that blocks stand for: element times scale, rounded once to the dtype.

    Args:
        blocks: what `quantize` returned, or a `Blocks`; or element codes, one a byte, with
            `scale_codes` and `block_format`.
        dtype: float64, float32, float16 or bfloat16. float32 and float64 hold every product within
            their range exactly.
        policy: a `Policy` or its spelling.
        scale_codes: where `blocks` is an array of element codes, its scale codes: of its shape, but
            along `axis` one for each block.
        block_format: the block format of such codes, or its name.
        axis: the axis along which their blocks run; a tuple of axes for blocks of several.
        block_size: their elements that share one scale; the format's own if None.
        tensor_scale: in formats that have one, the float32 scale of their tensor; a number is a
            factor.
        out: where the floats go: C-contiguous, of `blocks.shape` and the dtype; may be mapped to a
            file.
        threads: as in `quantize`.
        choices: single choices of the policy; see `mxref.choices`.

    Returns:
        Floats of `blocks.shape`. In `ocp` a NaN scale or element gives the positive quiet NaN; a
        product beyond the dtype gives infinity.

    Raises:
        TypeError: blocks is no `Blocks`, or codes are no integers, or dtype is not supported.
        ValueError: unknown choice; `out` of another shape or dtype; codes out of range, or shapes
            of codes and scale codes that do not belong together.

    Source: OCP MX v1.0 5.1; SPEC_NOTES N20, N21, N22, N41.

    >>> import mxref
    >>> fmt = mxref.formats.block_format("mxfp4_e2m1")
    >>> codes = np.pad(np.uint8([1, 7, 8]), (0, 29))
    >>> dequantize(mxref.Blocks(codes, np.uint8([128]), fmt, 0, (3,)))
    array([ 1., 12., -0.], dtype=float32)
    >>> codes, scale_codes = np.uint8([[1, 7, 8], [2, 2, 2]]), np.uint8([[128], [127]])
    >>> dequantize(codes, scale_codes=scale_codes, block_format="mxfp4_e2m1")
    array([[ 1., 12., -0.],
           [ 1.,  1.,  1.]], dtype=float32)
    """
    if scale_codes is not None or block_format is not None:
        if isinstance(blocks, BlockFields) or scale_codes is None or block_format is None:
            raise TypeError(
                "scale_codes and block_format must be given with an array of codes, both of them, "
                f"got {type(blocks).__name__}, {type(scale_codes).__name__} and "
                f"{type(block_format).__name__}"
            )
        blocks = _of_arrays(blocks, scale_codes, block_format, axis, block_size, tensor_scale)
    elif not isinstance(blocks, BlockFields):
        got = type(blocks).__name__
        raise TypeError(
            "blocks must be a Blocks, or codes with scale_codes= and block_format=, "
            f"got {got} alone"
        )
    elif axis != -1 or block_size is not None or tensor_scale is not None:
        raise TypeError("axis, block_size and tensor_scale must be those of the Blocks, got others")
    chosen = resolve("dequantize", policy, choices)
    layout = layout_of(dtype)
    fmt = blocks.format
    arithmetic = chosen.scale.scale_arithmetic
    if fmt.scale.is_power:
        if "scale_arithmetic" in spelled(policy, choices):
            raise ValueError(
                f"dequantize of {fmt.name} does not read scale_arithmetic, since its scale is "
                f"{fmt.scale.name}"
            )
        arithmetic = ScaleArithmetic.EXACT
    table = product_table(fmt, layout, chosen.decode, arithmetic, blocks.tensor_scale)
    return read_by(table, blocks, layout, out, threads)


def _of_arrays(
    codes: ArrayLike,
    scale_codes: ArrayLike,
    block_format: str | BlockFormat,
    axis: Axis,
    block_size: int | tuple[int, ...] | None,
    tensor_scale: TensorScale | float | None,
) -> BlockFields:
    """Blocks of a tensor of the shape of its codes."""
    fmt = formats.block_format(block_format)
    if block_size is not None:
        fmt = dataclasses.replace(fmt, block_size=block_size)
    own = codes_of(codes, fmt.element)
    scales = codes_of(scale_codes, fmt.scale, "scale_codes")
    return BlockFields(own, scales, fmt, axis, own.shape, tensor_scale=tensor_scale)  # type: ignore[arg-type]


def read_by(
    table: NDArray[Any],
    blocks: BlockFields,
    layout: FloatLayout,
    out: Floats | None = None,
    threads: int | None = None,
) -> Floats:
    """`dequantize` by a table of patterns, indexed by scale code * 2**bits + element code."""
    fmt, tiling = blocks.format, blocks.tiling
    bits = floats_out(out, blocks.shape, layout, blocks.codes, blocks.scale_codes)
    whole = bits.reshape(tiling.shape)
    codes = cut(blocks.codes, tiling.shape)
    mapped = Mapped(bits, blocks.codes)

    def read_tile(where: tuple[Tile, Tile]) -> None:
        tile, some = where
        read = codes[tile]
        inner = tiling.within(read.shape)
        lanes = inner.lanes(read)
        scales = blocks.scale_codes[some]
        first = scales.reshape(-1, 1, lanes.shape[2]).astype(np.uint16) << fmt.element.bits
        pairs = scratch("key", lanes.size, np.uint16).reshape(lanes.shape)
        np.copyto(pairs, lanes)
        np.bitwise_or(pairs, first, out=pairs)
        index = scratch("index", lanes.size, np.intp).reshape(lanes.shape)
        np.copyto(index, pairs)
        decoded = scratch("other", lanes.size, layout.uint).reshape(lanes.shape)
        np.take(table, index, out=decoded, mode="wrap")
        part = whole[tile]
        part[...] = cut(inner.from_lanes(decoded, scales.shape), part.shape)
        mapped.use(part.nbytes)

    count = thread_count(threads)
    for_each(read_tile, tiling.parts(part_size(TILE, whole.size, count)), count)
    return floats_from(bits, layout)
