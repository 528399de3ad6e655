"""Indexing and transposing a tensor in blocks: the codes and scale codes of the result."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, NamedTuple

from mxref.blocks.tiles import Tiling
from mxref.support.integers import integer

Index = int | slice | EllipsisType
Indices = tuple[int | slice, ...]


class IndexPart(NamedTuple):
    """The part of a tensor that an index selects.

    Args:
        codes: index of the element codes.
        scale_codes: index of the scale codes.
        shape: shape of the part itself.
        gone: the axes that the part no longer has.
    """

    codes: Indices
    scale_codes: Indices
    shape: tuple[int, ...]
    gone: tuple[int, ...]


def part_of(key: object, shape: tuple[int, ...], tiling: Tiling) -> IndexPart:
    """The part of a tensor of this shape; along block axes only whole blocks."""
    codes: list[int | slice] = []
    scales: list[int | slice] = []
    lengths, gone = [], []
    for axis, (index, length) in enumerate(zip(_spread(key, len(shape)), shape, strict=True)):
        if axis in tiling.axes:
            blocks, rest = _whole_blocks(index, axis, length, tiling.unit[axis])
            unit = tiling.unit[axis]
            codes.append(slice(blocks.start * unit, blocks.stop * unit))
            scales.append(blocks)
            lengths.append(rest)
            continue
        if isinstance(index, slice):
            lengths.append(len(range(*index.indices(length))))
        else:
            gone.append(axis)
            if not -length <= index < length:
                # Not a ValueError: iteration ends with an IndexError.
                raise IndexError(
                    f"index on axis {axis} must be in [{-length}, {length - 1}], got {index}"
                )
        codes.append(index)
        scales.append(index)
    return IndexPart(tuple(codes), tuple(scales), tuple(lengths), tuple(gone))


def _spread(key: object, ndim: int) -> Indices:
    """An index for each axis."""
    given = key if isinstance(key, tuple) else (key,)
    found: list[Index] = []
    for index in given:
        if index is Ellipsis or isinstance(index, slice):
            found.append(index)
            continue
        try:
            found.append(integer(index))  # a bool would be a mask
        except TypeError:
            raise TypeError(
                "index must be made of integers, slices and an Ellipsis, "
                f"got {type(index).__name__}"
            ) from None
    dots = [n for n, index in enumerate(found) if index is Ellipsis]
    missing = ndim - len(found) + len(dots)
    if len(dots) > 1 or missing < 0:
        raise ValueError(
            f"index must have at most one Ellipsis and {ndim} others for {ndim} axes, "
            f"got {len(dots)} and {len(found) - len(dots)}"
        )
    at = dots[0] if dots else len(found)
    found[at : at + 1] = [slice(None)] * missing
    return tuple(index for index in found if not isinstance(index, EllipsisType))


def _whole_blocks(index: int | slice, axis: int, length: int, unit: int) -> tuple[slice, int]:
    """The blocks of a slice along a block axis, and how many elements they hold."""
    if isinstance(index, slice):
        start, stop, step = index.indices(length)
        text = _slice_text(index)
    else:
        start, step, text = index + length * (index < 0), 1, str(index)
        stop = start + 1
    borders: set[int] = set()
    for place in (start, stop):
        inside = min(max(place, 0), length)
        low = inside if inside == length else inside // unit * unit
        borders |= {low, inside if low == inside else min(low + unit, length)}
    if not isinstance(index, slice) or step != 1 or not {start, stop} <= borders:
        raise ValueError(
            f"index on axis {axis}, along which blocks run, must be a slice with step 1 from one "
            f"block border to another, got {text}: the next borders are "
            f"{', '.join(map(str, sorted(borders)))}"
        )
    stop = max(start, stop)
    return slice(-(-start // unit), -(-stop // unit)), stop - start


def _slice_text(index: slice) -> str:
    places = [index.start, index.stop] + ([] if index.step is None else [index.step])
    return ":".join("" if place is None else str(place) for place in places)


def permutation(axes: Sequence[Any], ndim: int) -> tuple[int, ...]:
    """The order of axes that the arguments of `transpose` ask for."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return tuple(reversed(range(ndim)))
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes
    try:
        order = [integer(axis) for axis in given]
    except TypeError:
        raise TypeError(f"axes must be integers or a tuple of them, got {axes!r}") from None
    found = tuple(axis + ndim * (axis < 0) for axis in order)
    if sorted(found) != list(range(ndim)):
        raise ValueError(f"axes must name each of the {ndim} axes once, got {tuple(order)}")
    return found


def moved(order: tuple[int, ...], tiling: Tiling) -> list[tuple[int, int]]:
    """The axes along which blocks run after a transposition, ascending, and their lengths there."""
    axes = map(order.index, tiling.axes)
    return sorted(zip(axes, tiling.block_shape, strict=True))
