"""Questions of the search about integer operations: near ties, under any parameters they allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.cases.draws import Draws, Ints, Words
from mxref.operations.registry import INTEGER_OPERATIONS, WEIGHT_ONLY_OPERATIONS
from mxref.operations.word_rows import padded

__all__ = ["INTEGER_QUESTIONS", "beside_values", "drawn_integers", "scale_words"]

#: Questions of each operation and format; each is a call.
INTEGER_QUESTIONS = dict.fromkeys(INTEGER_OPERATIONS, 1 << 7)
#: Values of a call.
_VALUES = 96
_MASK = 0xFFFFFFFF
_PIXELS, _POINTS = 9, 24


def drawn_integers(op: str, format: str, count: int, draws: Draws) -> Words:
    """Questions about an operation and format, one a row, padded.

    >>> drawn_integers("pack_int4", "int4", 2, Draws("seed")).shape
    (2, 54)
    """
    rows: Iterator[Ints]
    if op.endswith("_affine"):
        rows = _affine(op, format, count, draws)
    elif op.endswith("_int4"):
        rows = _int4(op, count, draws)
    elif op == "rescale":
        rows = _rescale(format, count, draws)
    elif op in WEIGHT_ONLY_OPERATIONS:
        rows = _layers(op, format, count, draws)
    else:
        rows = _grid_sample(format, count, draws)
    return padded([(row & _MASK).astype(np.uint64) for row in rows])


def _affine(op: str, format: str, count: int, draws: Draws) -> Iterator[Ints]:
    """Ranges of the dtype and inside of it, scales of every size, zero points anywhere."""
    is_axis, alone = format.endswith("_axis"), "_" not in format
    info = np.iinfo(format.partition("_")[0])
    for i in range(count):
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
        if op == "quantize_affine":
            nan = alone and i % 16 == 0
            values = _numbers(draws, low, high, *beside, nan=nan, far=alone)
        else:
            values = np.where(
                draws.one_in(dims, 8), (low, high)[i % 2], draws.between(info.min, info.max, dims)
            )
        parts = scale_words(format, scales), zeros, values
        yield np.concatenate([[low, high, *first], *map(np.ravel, parts)])


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


def _int4(op: str, count: int, draws: Draws) -> Iterator[Ints]:
    """Rows of 1 to 40 codes."""
    for _ in range(count):
        rows, k = int(draws.between(1, 4)), int(draws.between(1, 40))
        if op == "pack_int4":
            words = draws.between(-8, 7, (rows * k,))
        else:
            words = draws.between(0, 255, (rows * -(-k // 2),))
        yield np.concatenate([[rows, k], words])


def _rescale(format: str, count: int, draws: Draws) -> Iterator[Ints]:
    """Every shift, with few and with many bits in the multiplier, so that ties are met."""
    source, target = (np.iinfo(one) for one in format.split("_")[0].split("-"))
    bits = 16 if format.endswith("_m16") else 32
    for i in range(count):
        channels = int(draws.between(1, 3)) if i % 3 == 0 else 1
        shifts = draws.between(2, 62, (channels,))
        if i % 2:
            shifts = draws.between(bits - 2, bits + 6, (channels,))
        odd = draws.between(0, 7, (channels,)) * 2 + 1
        few = odd << np.clip(shifts - draws.between(1, 9, (channels,)), 0, bits - 5)
        any_at_all = draws.below((channels,), 1 << bits - 1)
        multipliers = np.where(draws.one_in((channels,), 2), few, any_at_all)
        zeros = [
            int(draws.between(int(one.min), int(one.max))) if one.bits == 8 and i % 4 else 0
            for one in (source, target)
        ]
        rows = _VALUES // channels
        columns = [
            _inputs(draws, source, int(m), int(s), zeros[0], bits, rows)
            for m, s in zip(multipliers, shifts, strict=True)
        ]
        values = np.stack(columns, axis=1).reshape(-1)
        yield np.concatenate([[*zeros, channels], multipliers, shifts, values])


def _inputs(
    draws: Draws,
    source: np.iinfo[np.integer],
    m: int,
    s: int,
    zero: int,
    bits: int,
    count: int,
) -> Ints:
    """Values that a multiplier and a shift may be given."""
    most = min(((1 << 31) - 2 << s) // max(m, 1), (1 << 47) - 1)
    most = min(most, (1 << s - 1) - 1) if bits == 32 else most
    low, high = max(int(source.min), zero - most), min(int(source.max), zero + most)
    size = draws.between(1, max((high - low).bit_length(), 1), (count,))
    near = zero + (draws.below((count,), 1 << 33) & (np.int64(1) << size) - 1) * (
        1 - 2 * draws.below((count,), 2)
    )
    ends = np.where(draws.one_in((count,), 2), low, high)
    return np.clip(np.where(draws.one_in((count,), 8), ends, near), low, high)


def _layers(op: str, format: str, count: int, draws: Draws) -> Iterator[Ints]:
    """Small layers: half of them exact in every order, others of any numbers or that cancel."""
    for i in range(count):
        m, n, groups = (int(draws.between(1, most)) for most in (3, 4, 5))
        groups = groups if format.endswith("_groups") else 1
        k = groups * int(draws.between(1, 40 // groups))
        scales, x = draws.between(1, 240, (n, groups)) << 23, draws.below((m, k), 1 << 32)
        scales |= draws.below((n, groups), 1 << 23)
        if i % 2 == 0:  # units from 2**-149 to 2**103: the ends of float32 and all between
            unit, scale = int(draws.between(-80, 60)), int(draws.between(-69, 40))
            integers = draws.between(-15, 15, (m, k)) << draws.between(0, 3, (m, k))
            x = np.ldexp(integers.astype(np.float64), unit).astype(np.float32).view(np.int32)
            scales = draws.between(0, 3, (n, groups)) + scale + 127 << 23
        elif i % 4 == 1:
            x = (x & ~(0xFF << 23)) | draws.between(120, 130, (m, k)) << 23
            scales = (scales & 0x7FFFFF) | draws.between(110, 126, (n, groups)) << 23
            x[:, 1::2] = np.where(
                draws.one_in((m, k // 2), 2), x[:, : k - 1 : 2] ^ 1 << 31, x[:, 1::2]
            )
        elif i % 16 != 3:  # without infinities and NaN
            x = np.where(x & 0x7F800000 == 0x7F800000, x ^ 1 << 30, x)
        if op == "linear_qcs8w":
            w = draws.between(-128, 127, (n, k))
            w = np.where(draws.one_in((n, k), 8), (-128, 127, 1, 0)[i // 2 % 4], w)
        else:
            w = draws.between(0, 255, (n, -(-k // 2)))
        yield np.concatenate([[m, n, k, groups], *map(np.ravel, (scales, w, x))])


def _grid_sample(format: str, count: int, draws: Draws) -> Iterator[Ints]:
    """Small images, half of them of the two extreme codes, at pixels, midway, at the ends."""
    info = np.iinfo(format)
    low, high = int(info.min), int(info.max)
    for i in range(count):
        channels, height, width = (int(draws.between(1, most)) for most in (2, _PIXELS, _PIXELS))
        size = channels * height * width
        image = draws.between(low, high, (size,))
        if i % 2:
            image = np.where(draws.one_in((size,), 2), low, low + draws.between(0, 3, (size,)))
        sides = 2 * np.array([max(width - i // 2 % 2, 1), max(height - i // 2 % 2, 1)])
        steps = draws.below((_POINTS, 2), 1 << 30) % (sides + 1)
        exact = -32767 + (steps * 65534 + sides // 2) // sides + draws.between(-1, 1, (_POINTS, 2))
        anything = draws.between(-32768, 32767, (_POINTS, 2))
        grid = np.where(draws.one_in((_POINTS, 2), 3), anything, exact).clip(-32768, 32767)
        flags = [i // 2 % 2, i // 4 % 2, int(draws.between(low, high))]
        sizes = [channels, height, width, 4, _POINTS // 4]
        yield np.concatenate([flags, sizes, image, grid.reshape(-1)])


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
