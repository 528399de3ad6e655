"""Dequantization: the numbers that blocks stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mxref.bits.floats import FloatLayout, Floats, floats_from, layout_of
from mxref.bits.out import floats_out
from mxref.blocks.fields import BlockFields
from mxref.blocks.product_tables import product_table
from mxref.blocks.tiles import Tile, cut
from mxref.formats.catalog import E8M0
from mxref.policy.choices import ScaleArithmetic
from mxref.policy.keywords import DequantizeChoices, Unpack
from mxref.policy.policy import Policy, resolve, spelled
from mxref.support.mapped import Mapped
from mxref.support.scratch import scratch
from mxref.support.threads import TILE, for_each, part_size, thread_count


def dequantize(
    blocks: BlockFields,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    *,
    out: Floats | None = None,
    threads: int | None = None,
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
        threads: as in `quantize`.
        choices: single choices of the policy; see `mxref.choices`.

    Returns:
        Floats of `blocks.shape`. In `ocp` a NaN scale or element gives the positive quiet NaN; a
        product beyond the dtype gives infinity.

    Raises:
        TypeError: blocks is no `Blocks`, or dtype is not supported.
        ValueError: unknown choice; `out` of another shape or dtype.

    Source: OCP MX v1.0 5.1; SPEC_NOTES N20, N21, N22, N41.

    >>> import mxref
    >>> fmt = mxref.formats.block_format("mxfp4_e2m1")
    >>> codes = np.pad(np.uint8([1, 7, 8]), (0, 29))
    >>> dequantize(mxref.Blocks(codes, np.uint8([128]), fmt, 0, (3,)))
    array([ 1., 12., -0.], dtype=float32)
    """
    if not isinstance(blocks, BlockFields):
        raise TypeError(f"blocks must be a Blocks, got {type(blocks).__name__}")
    chosen = resolve("dequantize", policy, choices)
    layout = layout_of(dtype)
    fmt = blocks.format
    arithmetic = chosen.scale.scale_arithmetic
    if fmt.scale == E8M0:
        if "scale_arithmetic" in spelled(policy, choices):
            raise ValueError(
                f"dequantize of {fmt.name} does not read scale_arithmetic, since its scale is e8m0"
            )
        arithmetic = ScaleArithmetic.EXACT
    table = product_table(fmt, layout, chosen.decode, arithmetic, blocks.tensor_scale)
    return read_by(table, blocks, layout, out, threads)


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
