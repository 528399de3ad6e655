"""Tensors cut into blocks along any axes, and into tiles of whole blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.support.integers import integer
from mxref.support.threads import TILE

Axis = int | Sequence[int]
#: Slices of a tensor, one for each axis.
Tile = tuple[slice, ...]
#: Elements along a long block that a part has at least, before it also takes blocks beside it.
_ALONG = 1 << 8


def axis_index(axis: Axis, ndim: int, count: int = 1) -> int | tuple[int, ...]:
    """The axis, or the axes in their order, as non-negative indices.

    Of blocks along `count` axes, -1 means the last ones.
    """
    ndim = max(ndim, 1)  # a scalar is a tensor of one element
    if axis == -1 and 1 < count <= ndim:
        return tuple(range(ndim - count, ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return axis % ndim
    try:
        if not isinstance(axis, Sequence):
            axes = [integer(axis)]
        else:
            axes = [integer(some) for some in axis]
    except TypeError:
        what = type(axis).__name__
        raise TypeError(f"axis must be an integer or a tuple of integers, got {what}") from None
    for some in axes:
        if not -ndim <= some < ndim:
            raise ValueError(f"axis must be in [{-ndim}, {ndim - 1}] for {ndim} axes, got {some}")
    found = tuple(some % ndim for some in axes)
    if not isinstance(axis, Sequence):
        return found[0]
    if not found or list(found) != sorted(set(found)):
        raise ValueError(f"axis must name different axes in their order, got {tuple(axis)}")
    return found


@dataclass(frozen=True)
class Tiling:
    """A tensor's blocks.

    Args:
        shape: shape of the tensor; that of a scalar counts as (1,).
        axes: the axes along which blocks run, ascending.
        block_shape: the block's length along each of them.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    block_shape: tuple[int, ...]

    @classmethod
    @lru_cache(maxsize=256)
    def of(
        cls, shape: tuple[int, ...], axis: int | tuple[int, ...], block_shape: tuple[int, ...]
    ) -> Tiling:
        """The blocks of a shape along as many axes as the block has."""
        axes = axis if isinstance(axis, tuple) else (axis,)
        if len(axes) != len(block_shape):
            raise ValueError(
                f"axis must name as many axes as the block has, got {axis} for blocks of "
                f"{' x '.join(map(str, block_shape))}"
            )
        return cls(shape or (1,), axes, block_shape)

    @cached_property
    def unit(self) -> tuple[int, ...]:
        """The block's length along every axis of the tensor."""
        lengths = dict(zip(self.axes, self.block_shape, strict=True))
        return tuple(lengths.get(axis, 1) for axis in range(len(self.shape)))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Shape of the scale codes: blocks along every axis."""
        return tuple(-(-n // unit) for n, unit in zip(self.shape, self.unit, strict=True))

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """Shape of the tensor with its tails filled up to whole blocks."""
        return tuple(n * unit for n, unit in zip(self.counts, self.unit, strict=True))

    def tiles(
        self, limit: int = TILE, strides: Sequence[int] | None = None
    ) -> Iterator[tuple[Tile, Tile]]:
        """Parts of about `limit` elements: slices of the tensor, and of the scale codes.

        They are longest along the last axis, or along those with the smallest strides.
        """
        if 0 in self.counts:
            return iter(())
        remaining = max(1, limit // math.prod(self.block_shape))
        if math.prod(self.counts) <= remaining:
            return iter((self._whole,))
        return self._several(remaining, strides)

    def _several(
        self, remaining: int, strides: Sequence[int] | None
    ) -> Iterator[tuple[Tile, Tile]]:
        """`tiles` of at most so many blocks."""
        ranges: list[list[slice]] = [[]] * len(self.counts)
        for axis in self._nearest_first(strides):
            count = self.counts[axis]
            step = max(1, min(count, remaining))
            remaining //= step
            ranges[axis] = [slice(n, min(n + step, count)) for n in range(0, count, step)]
        for blocks in itertools.product(*ranges):
            yield (
                tuple(
                    slice(part.start * unit, part.stop * unit)
                    for part, unit in zip(blocks, self.unit, strict=True)
                ),
                blocks,
            )

    @cached_property
    def _whole(self) -> tuple[Tile, Tile]:
        """The only one of `tiles` if it has all elements."""
        return tuple(map(slice, self.padded)), tuple(map(slice, self.counts))

    @property
    def is_long(self) -> bool:
        """Whether a block has more elements than a tile, so that it is taken in parts."""
        return math.prod(self.block_shape) > TILE

    def groups(
        self, limit: int = TILE, strides: Sequence[int] | None = None
    ) -> Iterator[tuple[Tile, list[Tile]]]:
        """Long blocks beside one another: slices of the scale codes, and the parts of the blocks.

        A group has one block along each of their axes. Its parts are slices of the tensor with
        about `limit` elements, without padding, and each has elements of every block of the group.
        """
        if 0 in self.counts:
            return
        longest = [min(n, unit) for n, unit in zip(self.shape, self.unit, strict=True)]
        steps, remaining, left = [1] * len(longest), max(1, limit), math.prod(longest)
        for axis in self._nearest_first(strides):
            if axis in self.axes:
                steps[axis] = _even(longest[axis], remaining)
                left //= longest[axis]
            else:
                steps[axis] = max(1, min(self.shape[axis], remaining // min(left, _ALONG)))
            remaining //= steps[axis]
        sides = [
            [slice(n, n + 1) for n in range(self.counts[axis])]
            if axis in self.axes
            else _slices(0, length, steps[axis])
            for axis, length in enumerate(self.shape)
        ]
        for blocks in itertools.product(*sides):
            along = [
                _slices(part.start * unit, min(part.stop * unit, length), step)
                for part, unit, length, step in zip(
                    blocks, self.unit, self.shape, steps, strict=True
                )
            ]
            yield blocks, list(itertools.product(*along))

    def parts(
        self, limit: int = TILE, strides: Sequence[int] | None = None
    ) -> Iterator[tuple[Tile, Tile]]:
        """As `tiles`; blocks larger than a tile are cut into parts of about `limit` elements."""
        if not self.is_long:
            yield from self.tiles(limit, strides)
            return
        for blocks, parts in self.groups(limit, strides):
            yield from ((part, blocks) for part in parts)

    def within(self, shape: Sequence[int]) -> Tiling:
        """The tiling of a part of this shape: a part of a long block is a block of its own."""
        if not self.is_long:
            return self
        return Tiling(tuple(shape), self.axes, tuple(shape[axis] for axis in self.axes))

    def _nearest_first(self, strides: Sequence[int] | None) -> list[int]:
        """The axes from the last one on, or from the smallest stride on."""
        order = sorted(range(len(self.counts)), reverse=True)
        if strides is not None:
            order.sort(key=lambda axis: abs(strides[axis]))
        return order

    def lanes(self, tile: NDArray[Any]) -> NDArray[Any]:
        """The blocks of a part of the tensor, as the middle one of three axes.

        The tail is filled up with zero bits. If enough elements lie beside a block that does not
        run along the last axis, it keeps its place; other blocks become rows, (blocks, size, 1).
        """
        padded = self.padded
        if padded != tile.shape:
            units = zip(tile.shape, self.unit, strict=True)
            padded = tuple(-(-n // unit) * unit for n, unit in units)
        if padded != tile.shape:
            filled = np.zeros(padded, tile.dtype)
            filled[tuple(slice(n) for n in tile.shape)] = tile
            tile = filled
        elif tile.strides[-1] != tile.itemsize:  # a copy in order, since it is read more than once
            tile = np.ascontiguousarray(tile)
        size = math.prod(self.block_shape)
        if self._beside(padded) >= size and len(self.axes) == 1:
            return tile.reshape(-1, size, self._beside(padded))
        if not self._are_rows:
            split, order = self._split(
                [n // unit for n, unit in zip(padded, self.unit, strict=True)]
            )
            tile = tile.reshape(split).transpose(order)  # block by block
        return tile.reshape(-1, size, 1)

    def in_place(self, part: NDArray[Any], lanes: NDArray[Any]) -> NDArray[Any] | None:
        """A part as `lanes` of it, where they lie so in memory; else None."""
        if part.size != lanes.size or not part.flags.c_contiguous:
            return None
        return part.reshape(lanes.shape) if lanes.shape[2] > 1 or self._are_rows else None

    def from_lanes(self, lanes: NDArray[Any], counts: Sequence[int]) -> NDArray[Any]:
        """The part of the tensor with these blocks, the padding included."""
        padded = [n * unit for n, unit in zip(counts, self.unit, strict=True)]
        if lanes.shape[2] > 1 or self._are_rows:
            return lanes.reshape(padded)
        split, order = self._split(counts)
        inner = lanes.reshape([split[axis] for axis in order])
        return inner.transpose(np.argsort(order)).reshape(padded)

    @cached_property
    def _are_rows(self) -> bool:
        """Whether blocks that become rows lie one behind another in a contiguous tensor."""
        _, order = self._split(self.shape)
        return order == sorted(order)

    def _beside(self, shape: Sequence[int]) -> int:
        """Elements along the axes after the last block axis."""
        return math.prod(shape[self.axes[-1] + 1 :])

    def _split(self, counts: Sequence[int]) -> tuple[list[int], list[int]]:
        """Shape with every block axis split in two, and the order that puts blocks last."""
        split: list[int] = []
        outer, inner = [], []
        for axis, (count, unit) in enumerate(zip(counts, self.unit, strict=True)):
            outer.append(len(split))
            split.append(count)
            if axis in self.axes:
                inner.append(len(split))
                split.append(unit)
        return split, outer + inner


def _even(length: int, most: int) -> int:
    """The length of parts of a length: at most `most`, and none of them short."""
    return -(-length // -(-length // most)) if length else 1


def _slices(start: int, stop: int, step: int) -> list[slice]:
    return [slice(n, min(n + step, stop)) for n in range(start, stop, step)]


def cut(array: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    """The array without its padding."""
    return array[tuple(slice(n) for n in shape)]


def as_rows(lanes: NDArray[Any]) -> NDArray[Any]:
    """Blocks along the middle one of three axes as rows."""
    return lanes.swapaxes(1, 2).reshape(-1, lanes.shape[1])


def as_lanes(rows: NDArray[Any], beside: int) -> NDArray[Any]:
    """Rows, or one number for each, as blocks along the middle axis, `beside` of them in a row."""
    return rows.reshape(-1, beside, *rows.shape[1:]).swapaxes(1, -1)
