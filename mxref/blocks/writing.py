"""Codes of a tensor written a tile at a time; long blocks are read twice, in parts.

The scale of a block follows from three facts: its largest finite magnitude, whether it has an
infinity, and whether it has a NaN. A block with more elements than a tile is first searched for
these. Then each part of it is quantized as a block of its own, together with a few numbers that
have the same three facts and so give the part the scale of the whole block.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Bits, FloatLayout
from mxref.blocks.tiles import Tile, Tiling, as_lanes, as_rows, cut
from mxref.blocks.two_level import TensorScales
from mxref.numbers.source import Source
from mxref.support.mapped import Mapped
from mxref.support.scratch import scratch
from mxref.support.threads import TILE, for_each, part_size

#: Scale codes (m, n) and codes (m, size, n) of blocks along the middle axis, with the scales of
#: their tensor and random bits. The codes may be written to memory that is given.
CodesOf = Callable[
    [Bits, FloatLayout, TensorScales | None, NDArray[Any] | None, U8 | None], tuple[U8, U8]
]
#: Numbers that stand for a block: its largest finite magnitude; an infinity and a NaN if it has
#: one; a zero, whose code is that of padding.
_DEPUTIES = 4


class QuantizeJob(NamedTuple):
    """A tensor, and how parts of it are quantized.

    Args:
        source: the tensor.
        tiling: its blocks.
        codes_of: quantizes a part of it.
        tensor: its scale, or those of its rows.
        random: random bits in the tiling's shape, for stochastic rounding.
    """

    source: Source
    tiling: Tiling
    codes_of: CodesOf
    tensor: TensorScales | None
    random: NDArray[Any] | None = None

    def tensor_of(self, some: Tile) -> TensorScales | None:
        """The scales of the tensor for some of its blocks."""
        return self.tensor and self.tensor.part(self.tiling.counts, some)


class Written(NamedTuple):
    """Where codes go: element codes, with or without padding, and scale codes."""

    codes: U8
    scales: U8
    blank: bool  #: whether the element codes are zeros already


def write_blocks(work: QuantizeJob, to: Written, threads: int) -> None:
    """Write the codes of whole blocks."""
    source, tiling, random = work.source, work.tiling, work.random
    lifted = source.array.reshape(tiling.shape)
    mapped = Mapped(source.array, to.codes, to.scales)
    size = part_size(TILE, lifted.size, threads)

    def quantize_tile(where: tuple[Tile, Tile]) -> None:
        tile, some = where
        given = lifted[tile]
        bits, layout = source.exact_numbers(given)
        drawn = None if random is None else tiling.lanes(random[tile])
        lanes, part = tiling.lanes(bits), to.codes[tile]
        in_place = tiling.in_place(part, lanes)
        scale, code = work.codes_of(lanes, layout, work.tensor_of(some), drawn, in_place)
        counts = to.scales[some].shape
        to.scales[some] = scale.reshape(counts)
        if code is not in_place:
            part[...] = cut(tiling.from_lanes(code, counts), part.shape)
        mapped.use(given.nbytes)

    for_each(quantize_tile, tiling.tiles(size, lifted.strides), threads)


def write_long_blocks(work: QuantizeJob, to: Written, threads: int) -> None:
    """Write the codes of blocks with more elements than a tile."""
    lifted = work.source.array.reshape(work.tiling.shape)
    mapped = Mapped(lifted, to.codes, to.scales)
    # A part is copied, unlike a tile of whole blocks.
    size = min(part_size(TILE, lifted.size, threads), 3 * TILE // 2)
    several = to.scales.size >= 2 * threads

    def write_group(group: tuple[Tile, list[Tile]]) -> None:
        _write_group(work, to, *group, lifted, mapped, 1 if several else threads)

    for_each(write_group, work.tiling.groups(size, lifted.strides), threads if several else 1)


def _write_group(
    work: QuantizeJob,
    to: Written,
    some: Tile,
    parts: list[Tile],
    lifted: NDArray[Any],
    mapped: Mapped,
    threads: int,
) -> None:
    """Write the codes of long blocks beside one another."""
    tiling = work.tiling
    scales = to.scales[some]
    deputies = np.zeros((scales.size, _DEPUTIES), work.source.layout.uint)
    lock = threading.Lock()

    def read(part: Tile) -> tuple[Tiling, Bits, FloatLayout]:
        bits, layout = work.source.exact_numbers(lifted[part])
        inner = tiling.within(bits.shape)
        return inner, inner.lanes(bits), layout

    def search(part: Tile) -> None:
        _, lanes, layout = read(part)
        found = _deputies(lanes, layout)
        with lock:
            np.maximum(deputies, found, out=deputies)
        mapped.use(lifted[part].nbytes)

    def write(part: Tile) -> None:
        inner, lanes, layout = read(part)
        count, length, beside = lanes.shape
        shape = count, length + _DEPUTIES, beside
        joined = scratch("joined", math.prod(shape), layout.uint).reshape(shape)
        np.concatenate([lanes, as_lanes(deputies, beside)], axis=1, out=joined)
        drawn = None
        if work.random is not None:
            drawn = np.zeros(shape, np.int64)
            drawn[:, :length] = inner.lanes(work.random[part])
        scale, code = work.codes_of(joined, layout, work.tensor_of(some), drawn, None)
        scales[...] = scale.reshape(scales.shape)
        to.codes[part] = inner.from_lanes(code[:, :length], scales.shape)
        if part == parts[-1]:
            _pad(tiling, to, some, code[:, -1].reshape(scales.shape), mapped)
        mapped.use(lifted[part].nbytes)

    for_each(search, parts, threads)
    for_each(write, parts, threads)


def _deputies(lanes: Bits, layout: FloatLayout) -> Bits:
    """Four numbers for each block that stand for it (blocks, 4), from the maxima of its parts."""
    word = layout.uint.type
    magnitude = scratch("key", lanes.size, layout.uint).reshape(lanes.shape)
    np.bitwise_and(lanes, word(layout.sign_bit - 1), out=magnitude)
    found = np.zeros((lanes.shape[0], _DEPUTIES, lanes.shape[2]), layout.uint)
    largest = magnitude.max(axis=1)
    if int(largest.max()) < layout.inf_bits:
        found[:, 0] = largest
        return as_rows(found)
    infinity = word(layout.inf_bits)
    found[:, 0] = magnitude.max(axis=1, initial=0, where=magnitude < infinity)
    found[:, 1] = (magnitude == infinity).any(axis=1) * infinity
    found[:, 2] = (largest > infinity) * word(layout.nan_bits)
    return as_rows(found)


def _pad(tiling: Tiling, to: Written, some: Tile, code: U8, mapped: Mapped) -> None:
    """Write the codes of the padding behind long blocks."""
    if to.blank and not code.any():
        return
    whole = [
        slice(part.start * unit, min(part.stop * unit, length))
        for part, unit, length in zip(some, tiling.unit, to.codes.shape, strict=True)
    ]
    for axis, length in enumerate(tiling.shape):
        if whole[axis].stop > length:
            others = whole[:axis] + whole[axis + 1 :]
            step = max(1, TILE // max(1, math.prod(part.stop - part.start for part in others)))
            for start in range(length, whole[axis].stop, step):
                behind = slice(start, min(start + step, whole[axis].stop))
                part = to.codes[(*whole[:axis], behind, *whole[axis + 1 :])]
                part[...] = code
                mapped.use(part.nbytes)
