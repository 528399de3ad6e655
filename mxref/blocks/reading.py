"""Blocks read by a table of products: one code at a time, or two codes at once.

Two element codes and their scale code would be too many bits for the index of a table, but for
elements of 4 bits. With wider elements the products of two codes are looked up under one base
scale and moved to the scale of their block: their exponents change, all by the same number. Whether
that gives all products of a scale is read off the table itself, so this holds under any policy. The
blocks of other scales, of which some product is subnormal, beyond the type or NaN, are read one
code at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64, U8, Bits, Bool, FloatLayout
from mxref.bits.pairs import MANY, Table, two_by_two
from mxref.blocks.tiles import Tile, as_lanes, as_rows
from mxref.blocks.two_level import TensorScales
from mxref.support.scratch import scratch

#: Scale codes as indices.
Scales = NDArray[np.intp]
#: Elements of the longest block for which a number is copied to each of its elements; a longer one
#: is read quickly enough without.
_SHORT = 64
#: Blocks of a tile for each one that may be read again.
_FEW = 32


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Patterns of scale * element.

    Args:
        patterns: by scale code * 2**bits + element code; it must not change.
        bits: of an element code.
        layout: of the patterns.
    """

    patterns: NDArray[Any]
    bits: int
    layout: FloatLayout

    def part(self, counts: tuple[int, ...], some: Tile) -> Self:
        """The products of some of a tensor's blocks, of which there are so many."""
        return self

    def write(self, codes: U8, scales: U8, target: Bits, *, in_pairs: bool) -> None:
        """Write the products of blocks.

        Args:
            codes: (m, size, n), the blocks along the middle axis.
            scales: (m, n).
            target: of the shape of the codes, C-contiguous.
            in_pairs: whether tables of pairs may be made.
        """
        which = scales.astype(np.intp)
        if in_pairs and codes.shape[2] == 1 and codes.shape[1] % 2 == 0 and self.bits <= 4:
            in_order = np.ascontiguousarray(codes[:, :, 0])
            pairs = in_order.view(np.uint16)[:, :, np.newaxis]
            keys = scratch("key", pairs.size, np.uint16).reshape(pairs.shape)
            _pack(pairs, self.bits, keys)
            _look_up(_packed_pairs(self), 2 * self.bits, keys, which, two_by_two(target))
        elif not in_pairs or self.layout == F64:
            self._write_each(codes, which, target)
        else:
            moved = _moved(self)
            is_moved = moved.is_moved.take(which, mode="wrap")
            others = is_moved.size - np.count_nonzero(is_moved)
            if others * _FEW > is_moved.size or (others and codes.shape[2] > 1):
                self._write_each(codes, which, target)
                return
            moved.write(codes, which, target)
            if others:
                rows = np.flatnonzero(~is_moved)
                found = np.empty((others, *codes.shape[1:]), target.dtype)
                self._write_each(codes[rows], which[rows], found)
                target[rows] = found

    def _write_each(self, codes: U8, scales: Scales, target: Bits) -> None:
        keys = scratch("key", codes.size, np.uint16).reshape(codes.shape)
        np.copyto(keys, codes)
        _look_up(self.patterns, self.bits, keys, scales, target)


@dataclass(frozen=True, slots=True, eq=False)
class RowProducts:
    """Patterns of scale * element without a table: of rows with scales of their own, or of float32.

    Args:
        of: the patterns (n, k) of scale codes (n,) and element codes (n, k), with a scale of the
            tensor for each block.
        layout: of the patterns.
        tensor: the scales of the tensor, or None.
    """

    of: Callable[[NDArray[Any], NDArray[Any], TensorScales | None], NDArray[Any]]
    layout: FloatLayout
    tensor: TensorScales | None

    def part(self, counts: tuple[int, ...], some: Tile) -> RowProducts:
        """As that of `Products`."""
        tensor = self.tensor and self.tensor.part(counts, some)
        return RowProducts(self.of, self.layout, tensor)

    def write(self, codes: U8, scales: U8, target: Bits, *, in_pairs: bool) -> None:
        """As that of `Products`."""
        found = self.of(scales.reshape(-1), as_rows(codes), self.tensor)
        target[...] = as_lanes(found, codes.shape[2])


def _look_up(
    table: NDArray[Any], bits: int, keys: NDArray[np.uint16], scales: Scales, target: Bits
) -> None:
    """Write the entries of a table by scale code * 2**bits + key."""
    first = spread(_first_keys(bits), scales, keys.shape[1])
    np.bitwise_or(keys, first, out=keys)
    index = scratch("index", keys.size, np.intp)
    np.copyto(index.reshape(keys.shape), keys)
    table.take(index, out=target.reshape(-1), mode="wrap")


def spread(numbers: Table, scales: Scales, size: int) -> NDArray[Any]:
    """The number of every block, by scale code, as an array that broadcasts to its elements."""
    if scales.shape[1] > 1 or size > _SHORT or size * len(scales) < MANY:
        return numbers.array[scales][:, np.newaxis]
    copied = scratch("spread", size * len(scales), numbers.array.dtype).reshape(-1, size)
    _rows(numbers, size).take(scales[:, 0], axis=0, out=copied, mode="wrap")
    return copied[:, :, np.newaxis]


@functools.lru_cache(maxsize=64)
def _rows(numbers: Table, size: int) -> NDArray[Any]:
    """Each number as a row: 64 KiB at most."""
    return np.repeat(numbers.array[:, np.newaxis], size, axis=1)


@functools.cache
def _first_keys(bits: int) -> Table:
    """The key of the first element code, by scale code."""
    return Table(np.arange(256, dtype=np.uint16) << np.uint16(bits))


def _pack(pairs: NDArray[np.uint16], bits: int, keys: NDArray[np.uint16]) -> None:
    """Move the codes of pairs, of at most 4 bits each, together."""
    np.right_shift(pairs, np.uint16(8 - bits), out=keys)
    np.bitwise_or(keys, pairs, out=keys)
    np.bitwise_and(keys, np.uint16((1 << 2 * bits) - 1), out=keys)


@functools.lru_cache(maxsize=16)
def _packed_pairs(products: Products) -> NDArray[Any]:
    """Products of both codes of a pair, by scale code and pair: 1 MiB at most."""
    count = 1 << products.bits
    codes = np.indices((count, count), np.uint8).reshape(2, -1).T.copy()
    places = np.empty(len(codes), np.uint16)
    _pack(codes.view(np.uint16)[:, 0], products.bits, places)
    by_scale = products.patterns.reshape(-1, count)
    table = np.empty((len(by_scale), count * count, 2), by_scale.dtype)
    table[:, places] = by_scale[:, codes]
    return two_by_two(table)


@dataclass(frozen=True, slots=True, eq=False)
class _Moved:
    """Products under one base scale, and how to move them to those under other scales.

    In float32 they are multiplied by a power of two: operands and products are normal numbers,
    zeros, infinities or quiet NaN, so nothing is rounded, whatever the processor's modes are. In 16
    bits the difference of the exponents is added to the patterns that have the last bit set, which
    no product has; the others are zeros, infinities and NaN.

    Args:
        base: patterns under the base scale, by element code.
        steps: factors, or differences less the last bit, by scale code.
        is_moved: by scale code, whether all its products come out so.
    """

    base: Table
    steps: Table
    is_moved: Bool

    def write(self, codes: U8, scales: Scales, target: Bits) -> None:
        """Write the products of blocks, as `Products.write` does."""
        self.base.write(codes.reshape(-1), target.reshape(-1), in_pairs=True)
        steps = spread(self.steps, scales, codes.shape[1])
        if steps.dtype == np.float32:
            numbers = target.view(np.float32)
            np.multiply(numbers, steps, out=numbers)
            return
        moves = scratch("moves", target.size, target.dtype).reshape(target.shape)
        np.bitwise_and(target, target.dtype.type(1), out=moves)
        np.multiply(moves, steps, out=moves)
        np.add(target, moves, out=target)


@functools.lru_cache(maxsize=64)
def _moved(products: Products) -> _Moved:
    """The base scale is amid those with the most normal products."""
    layout, table = products.layout, products.patterns.reshape(-1, 1 << products.bits)
    word, m = layout.uint.type, layout.mantissa_bits
    magnitude = table & word(layout.sign_bit - 1)
    normal = (magnitude >= 1 << m) & (magnitude < layout.inf_bits)
    count = normal.sum(axis=1)
    best = np.flatnonzero(count == count.max())
    middle = best[len(best) // 2]
    base, moves = table[middle], normal[middle]
    steps = table[:, moves.argmax()] - base[moves.argmax()]
    is_moved = (table == base + moves * steps[:, np.newaxis]).all(axis=1)
    is_moved &= (normal == moves).all(axis=1)
    if layout == F32:
        sign = layout.sign_bit
        exact = (0, sign, layout.inf_bits, layout.inf_bits | sign, layout.nan_bits)
        is_moved &= bool(np.isin(base[~moves], exact).all())
        factors = steps + word(layout.bias << m)
        is_moved &= (factors >= 1 << m) & (factors < layout.inf_bits) & (factors % (1 << m) == 0)
        factors = np.where(is_moved, factors, np.float32(1).view(np.uint32))  # nothing overflows
        return _Moved(Table(base), Table(factors.view(np.float32)), is_moved)
    is_moved &= not (base & 1).any()
    return _Moved(Table(base | moves.astype(layout.uint)), Table(steps - word(1)), is_moved)
