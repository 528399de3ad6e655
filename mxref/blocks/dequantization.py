"""Dequantization: the numbers that blocks stand for."""

from __future__ import annotations

import dataclasses
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mxref import formats
from mxref.bits.floats import Floats, floats_from, layout_of
from mxref.bits.out import floats_out
from mxref.bits.pairs import MANY
from mxref.blocks.fields import BlockFields
from mxref.blocks.product_tables import products_of
from mxref.blocks.reading import Products, RowProducts
from mxref.blocks.tiles import Axis, Tile, cut
from mxref.blocks.two_level import TensorScales
from mxref.formats.catalog import BlockFormat
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
    tensor_scale: TensorScales | ArrayLike | None = None,
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
        tensor_scale: in formats that have one, the float32 scale of their tensor, or one for each
            row as `quantize` takes them; numbers are factors.
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
        if block_size is not None:
            block_format = formats.block_format(block_format)
            block_format = dataclasses.replace(block_format, block_size=block_size)
        blocks = BlockFields.lent(blocks, scale_codes, block_format, axis, tensor_scale)
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
    if fmt.scale.is_power or fmt.scale.is_float32:
        if "scale_arithmetic" in spelled(policy, choices):
            raise ValueError(
                f"dequantize of {fmt.name} does not read scale_arithmetic, since its scale is "
                f"{fmt.scale.name}"
            )
        arithmetic = ScaleArithmetic.EXACT
    products = products_of(fmt, layout, chosen.decode, arithmetic, blocks.tensor_scale)
    return read_by(products, blocks, out, threads)


def read_by(
    products: Products | RowProducts,
    blocks: BlockFields,
    out: Floats | None = None,
    threads: int | None = None,
) -> Floats:
    """`dequantize` by products."""
    tiling, layout = blocks.tiling, products.layout
    bits = floats_out(out, blocks.shape, layout, blocks.codes, blocks.scale_codes)
    whole, in_pairs = bits.reshape(tiling.shape), bits.size >= MANY
    mapped = Mapped(bits, blocks.codes)

    def read_tile(where: tuple[Tile, Tile]) -> None:
        tile, some = where
        part, codes, scales = whole[tile], blocks.codes[tile], blocks.scale_codes[some]
        inner = tiling.within(codes.shape)
        lanes = inner.lanes(codes)
        by_lane = scales.reshape(-1, lanes.shape[2])
        in_place = inner.in_place(part, lanes)
        by = products.part(tiling.counts, some)
        if in_place is not None:
            by.write(lanes, by_lane, in_place, in_pairs=in_pairs)
        else:
            read = scratch("lanes", lanes.size, layout.uint).reshape(lanes.shape)
            by.write(lanes, by_lane, read, in_pairs=in_pairs)
            part[...] = cut(inner.from_lanes(read, scales.shape), part.shape)
        mapped.use(part.nbytes)

    count = thread_count(threads)
    for_each(read_tile, tiling.parts(part_size(TILE, whole.size, count)), count)
    return floats_from(bits, layout)
