"""Packings of codes into bytes: each is a table of bit fields that are moved, or moved back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.policy.choices import Choice, FP4Packing, FP6Packing
from mxref.support.scratch import scratch
from mxref.support.threads import CHUNK, for_each, part_size, thread_count

Moves = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Packing:
    """Groups of codes, one a byte, and groups of packed bytes, both read as little-endian words.

    Args:
        codes: codes of a group: 1, 2 or 4.
        size: packed bytes of a group, no more than there are codes.
        moves: the bit fields that are moved: bit in the codes' word, bit in the packed word, width.
        planar_codes: whether the first codes of all groups of a block come first, then the second
            ones.
        planar_bytes: whether packed bytes are in such an order.
    """

    codes: int
    size: int
    moves: Moves
    planar_codes: bool = False
    planar_bytes: bool = False

    @property
    def planar(self) -> bool:
        """Whether the packing reads the block size."""
        return self.planar_codes or self.planar_bytes

    def filled(self, count: int, block_size: int) -> int:
        """Codes that `count` codes are filled up to: whole groups, or whole blocks if planar."""
        unit = block_size if self.planar else self.codes
        return -(-count // unit) * unit

    def packed_size(self, count: int, block_size: int) -> int:
        """Bytes of `count` codes."""
        return self.filled(count, block_size) // self.codes * self.size

    def pack(self, codes: U8, packed: U8, block_size: int, threads: int | None = None) -> None:
        """Write the bytes (rows, size) of codes (rows, count)."""
        groups, count, size = self._unit(block_size)

        def tile(rows: slice, first: int, last: int) -> None:
            target = packed[rows, first * size : last * size]
            some = _filled(codes[rows, first * count : last * count], (last - first) * count)
            if self.planar_codes:
                some = _swapped(some, self.codes, groups)
            direct = target.flags.c_contiguous and not self.planar_bytes
            done = target if direct else np.empty(target.shape, np.uint8)
            self._move(some.reshape(-1, self.codes), done.reshape(-1, self.size), self.moves)
            if self.planar_bytes:
                done = _swapped(done, groups, self.size)
            if not direct:
                target[...] = done

        _tiled(tile, codes.shape, count, threads)

    def unpack(self, packed: U8, codes: U8, block_size: int, threads: int | None = None) -> None:
        """Write the codes (rows, count) of bytes (rows, size)."""
        groups, count, size = self._unit(block_size)
        back = tuple((to, bit, width) for bit, to, width in self.moves)

        def tile(rows: slice, first: int, last: int) -> None:
            target = codes[rows, first * count : last * count]
            some = np.ascontiguousarray(packed[rows, first * size : last * size])
            if self.planar_bytes:
                some = _swapped(some, self.size, groups)
            whole = len(target), (last - first) * count
            direct = target.flags.c_contiguous and target.shape == whole and not self.planar_codes
            done = target if direct else np.empty(whole, np.uint8)
            self._move(some.reshape(-1, self.size), done.reshape(-1, self.codes), back)
            if self.planar_codes:
                done = _swapped(done, groups, self.codes)
            if not direct:
                target[...] = done[:, : target.shape[1]]

        _tiled(tile, codes.shape, count, threads)

    def _unit(self, block_size: int) -> tuple[int, int, int]:
        """Groups, codes and bytes that are packed as one unit: a block if planar, else a group."""
        groups = block_size // self.codes if self.planar else 1
        return groups, groups * self.codes, groups * self.size

    def _move(self, source: U8, target: U8, moves: Moves) -> None:
        """Move bit fields of source groups (n, bytes) to target groups (n, bytes)."""
        words, moved, field = (
            scratch(name, len(source), f"<u{self.codes}") for name in ("words", "moved", "field")
        )
        words = _read(source, words)
        for i, (bit, to, width) in enumerate(moves):
            result = field if i else moved
            shifted = words
            if bit != to:
                shift = np.right_shift if bit > to else np.left_shift
                shifted = shift(words, abs(bit - to), out=result)
            np.bitwise_and(shifted, ((1 << width) - 1) << to, out=result)
            if i:
                np.bitwise_or(moved, field, out=moved)
        _write(moved, target)


def _tiled(
    work: Callable[[slice, int, int], None], shape: tuple[int, ...], unit: int, threads: int | None
) -> None:
    """Call `work` with rows, first and last unit of parts of codes (rows, count)."""
    rows, units = shape[0], -(-shape[1] // unit)
    count = thread_count(threads)
    wide = max(1, part_size(_TILE, math.prod(shape), count) // unit)
    high = max(1, wide // max(units, 1))
    parts = [
        (slice(row, row + high), first, min(first + wide, units))
        for row in range(0, rows, high)
        for first in range(0, units, wide)
    ]
    for_each(lambda part: work(*part), parts, count if len(parts) > 1 else 1)


#: Codes that are packed at once.
_TILE = 2 * CHUNK


def matrix(array: U8) -> U8:
    """An array (..., n) as (rows, n)."""
    return array.reshape(math.prod(array.shape[:-1]), array.shape[-1])


def _filled(codes: U8, count: int) -> U8:
    """Codes (rows, some) in C order, filled up to (rows, count) with code 0."""
    if codes.shape[1] == count:
        return np.ascontiguousarray(codes)
    whole = np.zeros((len(codes), count), np.uint8)
    whole[:, : codes.shape[1]] = codes
    return whole


# Here and in `_swapped` views, casts and columns are used: NumPy copies short rows one by one.


def _read(groups: U8, scratch: NDArray[Any]) -> NDArray[Any]:
    """Groups (n, bytes) as words whose upper bytes are zero."""
    count, size = groups.shape
    if size == scratch.itemsize:
        same: NDArray[Any] = groups.view(scratch.dtype)[:, 0]
        return same
    words = scratch[:count]
    words[:] = groups[:, 0]
    columns = words.view(np.uint8).reshape(count, -1)
    for i in range(1, size):
        columns[:, i] = groups[:, i]
    return words


def _write(words: NDArray[Any], groups: U8) -> None:
    """The low bytes of words as groups (n, bytes)."""
    count, size = groups.shape
    if size == words.itemsize:
        groups.view(words.dtype)[:, 0] = words
        return
    groups[:, 0] = words  # modulo 256
    columns = words.view(np.uint8).reshape(count, -1)
    for i in range(1, size):
        groups[:, i] = columns[:, i]


def _swapped(array: U8, first: int, second: int) -> U8:
    """Every run of first x second bytes, read as a matrix, transposed."""
    matrices = array.reshape(-1, first, second)
    swapped = np.empty((len(matrices), second, first), np.uint8)
    for i in range(min(first, second)):
        if first <= second:
            swapped[:, :, i] = matrices[:, i, :]
        else:
            swapped[:, i, :] = matrices[:, :, i]
    return swapped.reshape(array.shape)


def _fields(width: int, *moves: tuple[int, int]) -> Moves:
    """Moves of fields of one width."""
    return tuple((bit, to, width) for bit, to in moves)


_ONE_EACH = {width: Packing(1, 1, _fields(width, (0, 0))) for width in (4, 6, 8)}
_LOW_NIBBLE_FIRST = _fields(4, (0, 0), (8, 4))

#: 8-bit codes are bytes as they are.
BYTES = _ONE_EACH[8]

# Code i of a group is bits 8i to 8i + 5 of its word; the three bytes are bits 0, 8 and 16 and up.
_QUARK = (
    *_fields(2, (4, 6), (12, 4), (20, 2), (28, 0)),
    *_fields(4, (0, 12), (8, 8), (16, 20), (24, 16)),
)
_PLANAR = (
    *_fields(4, (2, 4), (10, 0), (18, 12), (26, 8)),
    *_fields(2, (0, 22), (8, 20), (16, 18), (24, 16)),
)
_QUADS = (
    *_fields(4, (2, 4), (10, 0), (26, 12), (18, 8)),
    *_fields(2, (0, 22), (8, 20), (24, 18), (16, 16)),
)
PACKINGS: Mapping[Choice, Packing] = {
    FP4Packing.LOW_NIBBLE_FIRST: Packing(2, 1, _LOW_NIBBLE_FIRST),
    FP4Packing.HIGH_NIBBLE_FIRST: Packing(2, 1, _fields(4, (0, 4), (8, 0))),
    FP4Packing.HALVES: Packing(2, 1, _LOW_NIBBLE_FIRST, planar_codes=True),
    FP4Packing.MIDDLE_BITS: Packing(1, 1, _fields(4, (0, 2))),
    FP4Packing.BYTE_EACH: _ONE_EACH[4],
    FP6Packing.LSB_FIRST: Packing(4, 3, _fields(6, (0, 0), (8, 6), (16, 12), (24, 18))),
    FP6Packing.QUARK: Packing(4, 3, _QUARK),
    FP6Packing.TORCHAO_PLANAR: Packing(4, 3, _PLANAR, planar_bytes=True),
    FP6Packing.TORCHAO_QUADS: Packing(4, 3, _QUADS),
    FP6Packing.BYTE_EACH: _ONE_EACH[6],
}
