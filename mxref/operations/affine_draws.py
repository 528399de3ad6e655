"""Random calls of affine quantization: near ties, under any parameters that it allows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.operands.draws import Draws, Ints

__all__ = ["beside_values", "question", "scale_words", "sized"]

#: Values of a random case.
_VALUES = 96
_MASK = 0xFFFFFFFF


def question(format: str, draws: Draws, i: int, *, codes: bool) -> Ints:
    """Words: ranges of the dtype and inside of it, scales of every size, zero points anywhere.

    Args:
        format: the format.
        draws: random numbers.
        i: the number of the question, by which kinds of cases take turns.
        codes: whether the values are codes.
    """
    is_axis, alone = format.endswith("_axis"), "_" not in format
    info = np.iinfo(format.partition("_")[0])
    low, high = int(info.min), int(info.max)
    if i % 4 == 1:  # as of SNORM and of 4 bits
        low, high = (low + 1, high) if low else (low, high // 16)
    elif i % 4 == 2:
        low += int(draws.between(0, min(high, 1000)))
        high -= int(draws.between(0, min(high - low - 1, 1000)))
    dims, shape, first = _laid(draws, i) if is_axis else ((_VALUES,), (), [])
    scales = _scales(draws, shape, ordinary=i % 3 > 0)
    zeros = draws.between(low, high, shape)
    zeros = np.where(draws.one_in(shape, 3), min(max(0, low), high), zeros)
    beside = (beside_values(one, dims, (first or [0])[0]) for one in (scales, zeros))
    if codes:
        values = np.where(
            draws.one_in(dims, 8), (low, high)[i % 2], draws.between(info.min, info.max, dims)
        )
    else:
        nan = alone and i % 16 == 0
        values = _numbers(draws, low, high, *beside, nan=nan, far=alone)
    parts = scale_words(format, scales), zeros, values
    return np.concatenate([[low, high, *first], *map(np.ravel, parts)])


def scale_words(format: str, scales: Ints) -> Ints:
    """The words of scales from their float32 patterns; of a float64 scale two, with more bits.

    >>> scale_words("int8_scale64", np.array(0x3F800000)).tolist()
    [1072693248, 125829120]
    """
    if not format.endswith("_scale64"):
        return scales
    wide = scales.astype(np.uint32).view(np.float32).astype(np.float64).view(np.int64)
    wide += scales * 0x9E3779B1 % (1 << 29)
    return np.array([wide >> 32, wide & _MASK])


def _laid(draws: Draws, i: int) -> tuple[tuple[int, ...], tuple[int, ...], list[int]]:
    """Three sizes, the shape of scales, and the words that say so."""
    axis = int(draws.between(-3, 2))
    count, size = int(draws.between(1, 9)), int(draws.between(2, 5)) if i % 4 == 3 else 1
    others = draws.between(1, 4, (2,)).tolist()
    place = axis % 3
    dims = (*others[:place], count * size, *others[place:])
    shape = (count,) if size == 1 else (*others[:place], count, *others[place:])
    return dims, shape, [axis, count, *dims]


def _scales(draws: Draws, shape: tuple[int, ...], *, ordinary: bool) -> Ints:
    """Patterns of float32 numbers: near those of weights, or any normal one; some are powers."""
    fields = draws.between(127 - 14, 127 + 2, shape) if ordinary else draws.between(1, 253, shape)
    fractions = np.where(draws.one_in(shape, 8), 0, draws.below(shape, 1 << 23))
    return fields << 23 | fractions


def _numbers(
    draws: Draws, low: int, high: int, scales: Ints, zeros: Ints, *, nan: bool, far: bool
) -> Ints:
    """Patterns of float32 numbers at midpoints and at ends; if `far`, any at all.

    The vectors decide what a target makes of NaN in the whole range of a dtype, and of numbers that
    no integer holds where there is one float32 scale: elsewhere its choice is not known.
    """
    dims = scales.shape or (_VALUES,)
    scale = scales.astype(np.uint32).view(np.float32).astype(np.float64)
    bits = draws.between(1, (high - low + 1).bit_length(), dims)
    code = draws.between(0, (1 << 32) - 1, dims) & (np.int64(1) << bits) - 1
    code = np.where(draws.one_in(dims, 2), low + code, high - code)
    code = np.where(draws.one_in(dims, 4), zeros + draws.between(-20, 20, dims), code)
    shift = np.where(draws.one_in(dims, 8), 0, zeros)
    with np.errstate(over="ignore"):
        near = fl((code - shift + 0.5 * draws.between(0, 3, dims).clip(0, 1)) * scale)
    found = fl(near).astype(np.float32).view(np.int32).astype(np.int64)
    found = found + np.where(found & 0x7FFFFFFF > 2, draws.between(-2, 2, dims), 0)
    finite = found & 0x7FFFFFFF < 0x7F800000
    found = np.where(finite, found, 0x7F7FFFFF)
    anything = draws.below(dims, 1 << 32)
    if not nan:
        anything = np.where(anything & 0x7F800000 == 0x7F800000, 0x7F800000, anything)
    return np.where(draws.one_in(dims, 8) & far, anything, found)


def _folded(count: int, axes: int) -> tuple[int, ...]:
    """A shape of so many values and axes.

    >>> _folded(12, 1), _folded(12, 3), _folded(33, 2), _folded(7, 2)
    ((12,), (2, 2, 3), (3, 11), (7, 1))
    """
    shape: list[int] = []
    for _ in range(axes - 1):
        shape.append(next((n for n in (2, 3, 5, 7) if count % n == 0), 1))
        count //= shape[-1]
    return (*shape, count)


def _others(before: int, behind: int, kind: int) -> tuple[int, ...]:
    """The axes beside the one with scales: mostly these two, or all in one, or three."""
    if kind == 2:
        return (before * behind,)
    return (before, *_folded(behind, 2)) if kind == 3 else (before, behind)


def sized(format: str, sizes: tuple[int, ...], draws: Draws, *, codes: bool) -> tuple[Any, ...]:
    """The arguments of a call of these sizes.

    Values are at the midpoints of codes and beside them, a tenth of them beyond the range.
    """
    dtype = np.dtype(format.partition("_")[0])
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    dims, axis = _folded(sizes[0], 1 + sizes[0] % 4), None
    shape: tuple[int, ...] = ()
    if len(sizes) > 1:
        count, size, before, behind = sizes
        others = _others(before, behind, (count // 2 + behind) % 4)
        place = (count + before + size) % (len(others) + 1)
        axis = place - (len(others) + 1) * ((count + before) // 3 % 2)
        dims = (*others[:place], count * size, *others[place:])
        shape = (count,) if size == 1 else (*others[:place], count, *others[place:])
    some = (draws.between(0, 15, shape) - 12 + 127 << 23) | draws.between(0, (1 << 23) - 1, shape)
    scales: Any = some.astype(np.uint32).view(np.float32)
    reach = min(high, 1 << 20)
    zeros: Any = draws.between(max(low, -reach), reach, shape)
    if axis is None:
        scales, zeros = float(scales), int(zeros)
        if format.endswith("_scale64"):  # of which float32 does not hold all bits
            scales *= 1 + int(draws.between(1, 1 << 20)) * 2.0**-45
        scale, zero = scales, zeros
    else:
        scale, zero = (
            beside_values(scales, dims, axis).astype(np.float64),
            beside_values(zeros, dims, axis),
        )
    if codes:
        values: NDArray[Any] = draws.between(low, high, dims).astype(dtype)
    else:
        span = reach * 2 // 10
        near_codes = draws.between(-reach - span, reach + span, dims)
        steps = draws.between(-2, 2, dims) * (draws.between(0, 1, dims))
        near = ((near_codes - zero * (draws.between(0, 3, dims) > 0) + 0.5) * scale).astype(
            np.float32
        )
        values = (near.view(np.int32) + steps.astype(np.int32)).view(np.float32)
    zeros = zeros if axis is None else zeros.astype(np.int32)
    return values, scales, zeros, low, high, dtype, axis


def beside_values(parameters: NDArray[Any], dims: tuple[int, ...], axis: int) -> NDArray[Any]:
    """Scales or zero points in the shape of the values; one for all of them as it is.

    Args:
        parameters: one; one for each index of an axis; or one for each group along it.
        dims: the shape of the values.
        axis: the axis.

    >>> one_each, groups = np.arange(4), np.arange(2).reshape(1, 2)
    >>> [beside_values(some, (1, 4), 1).tolist() for some in (one_each, groups)]
    [[[0, 1, 2, 3]], [[0, 0, 1, 1]]]
    """
    place = axis % len(dims)
    if parameters.ndim == 1:
        parameters = parameters.reshape([-1 if i == place else 1 for i in range(len(dims))])
        return np.broadcast_to(parameters, dims)
    if parameters.ndim:
        return np.repeat(parameters, dims[place] // parameters.shape[place], place)
    return parameters
