"""Strategies of cases of integer operations, simple ones first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.cases.drawn_integers import beside_values, scale_words
from mxref.operations.registry import WEIGHT_ONLY_OPERATIONS
from mxref.strategies.for_floats import patterns

__all__ = ["integer_cases"]

Cases = st.SearchStrategy[list[int]]
Ints = NDArray[np.int64]

_MASK = 0xFFFFFFFF
#: The float32 patterns of 1, 1/2, 0.1, 0.013, 1/127 and 2**-16.
_SCALES = (0x3F800000, 0x3F000000, 0x3DCCCCCD, 0x3C54FDF4, 0x3C010204, 0x37800000)
#: Sizes of calls, besides those up to 20.
_LARGE = (31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4097)
_SMALL = st.integers(1, 20)
_COUNTS = _SMALL | st.sampled_from(_LARGE)
_SIDES = st.integers(1, 9) | st.sampled_from(_LARGE[:9])
#: Simple coordinates of grids: the middle, the ends, a quarter.
_PLACES = (0, -32767, 32767, -32768, -16384, 16383, 10922, -1, 1)


def integer_cases(op: str, format: str) -> Cases:
    """The words of cases of an integer operation; a case is one call that has answers or a NaN.

    Args:
        op: `quantize_affine`, `dequantize_affine`, `pack_int4`, `unpack_int4`, `rescale`,
            `grid_sample`, `linear_qcs8w` or `linear_qcs4w`.
        format: a format of its vectors.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> find(integer_cases("pack_int4", "int4"), lambda words: words[1] % 2 == 0, settings=quiet)
    [1, 2, 0, 0]
    """
    if op.endswith("_affine"):
        return _affine(op, format)
    if op.endswith("_int4"):
        low, high = (-8, 7) if op == "pack_int4" else (0, 255)
        some = st.lists(st.integers(low, high), min_size=1, max_size=12)
        return st.builds(_rows_of(op), st.integers(1, 3) | _COUNTS, _COUNTS, some)
    if op in WEIGHT_ONLY_OPERATIONS:
        return _layer(op, format)
    return _rescale(format) if op == "rescale" else _grid_sample(format)


def _filled(some: Sequence[int] | Ints, count: int) -> list[int]:
    """`count` words: the given integers, repeated."""
    found: list[int] = (np.resize(np.array(some, np.int64), count) & _MASK).tolist()
    return found


def _rows_of(op: str) -> Any:
    def build(rows: int, k: int, some: list[int]) -> list[int]:
        rows = min(rows, max(1, 5000 // k))
        return [rows, k, *_filled(some, rows * (k if op == "pack_int4" else -(-k // 2)))]

    return build


def _affine(op: str, format: str) -> Cases:
    info, is_axis = np.iinfo(format.partition("_")[0]), format.endswith("_axis")
    low, high = int(info.min), int(info.max)
    scales = st.lists(
        st.sampled_from(_SCALES) | st.integers(0x00800000, 0x7E7FFFFF), min_size=1, max_size=3
    )
    codes = st.integers(low, high)
    zeros = st.lists(codes, min_size=1, max_size=3)
    anything: st.SearchStrategy[int | None] = st.none()
    if op == "quantize_affine" and "_" not in format:
        # With several scales or a float64 scale the vectors have no NaN and no huge numbers.
        anything = anything | patterns("f32")
    items = st.lists(
        st.tuples(codes, st.integers(0, 1), st.integers(-2, 2), anything), min_size=1, max_size=8
    )
    sizes = st.just((0, 1, 1, 1, 1))
    if is_axis:
        sizes = st.tuples(
            st.integers(-3, 2), _SIDES, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)
        )

    def build(
        some_scales: list[int],
        some_zeros: list[int],
        some: list[tuple[int, int, int, int | None]],
        count: int,
        laid: tuple[int, int, int, int, int],
    ) -> list[int]:
        dims: tuple[int, ...] = (len(some) if count == 1 else count,)
        shape: tuple[int, ...] = ()
        first, (axis, channels, size, *others) = [low, high], laid
        if is_axis:
            place = axis % 3
            dims = (*others[:place], channels * size, *others[place:])
            shape = (channels,) if size == 1 else (*others[:place], channels, *others[place:])
            first += [axis, channels, *dims]
        scale = np.resize(np.array(some_scales, np.int64), shape)
        zero = np.resize(np.array(some_zeros, np.int64), shape)
        code, half, step = (
            np.resize(np.array([one[i] for one in some], np.int64), dims) for i in range(3)
        )
        values = code
        if op == "quantize_affine":
            wide = beside_values(scale, dims, axis).astype(np.uint32).view(np.float32)
            middle = (code - beside_values(zero, dims, axis) + half / 2) * wide.astype(np.float64)
            values = np.clip(fl(middle), -3e38, 3e38).astype(np.float32).view(np.int32) + step
            values = np.where((middle == 0) | (code == 0), 0, values)
            given = np.array([-1 if one[3] is None else one[3] for one in some], np.int64)
            given = np.resize(given, dims)
            values = np.where(given < 0, values, given)
        parts = [
            np.array(first),
            *(np.ravel(one) for one in (scale_words(format, scale), zero, values)),
        ]
        found: list[int] = (np.concatenate(parts) & _MASK).tolist()
        return found

    return st.builds(build, scales, zeros, items, _COUNTS, sizes)


def _rescale(format: str) -> Cases:
    source, target = (np.iinfo(one) for one in format.split("_")[0].split("-"))
    bits = 16 if format.endswith("_m16") else 32
    multipliers = st.sampled_from([1 << bits - 2]) | st.integers(0, (1 << bits - 1) - 1)
    shifts = st.just(bits - 2) | st.integers(2, 62)
    channels = st.lists(st.tuples(multipliers, shifts), min_size=1, max_size=3)
    zeros = [
        st.integers(int(one.min), int(one.max)) if one.bits == 8 else st.just(0)
        for one in (source, target)
    ]
    some = st.lists(st.integers(int(source.min), int(source.max)), min_size=1, max_size=8)

    def build(
        zero: int, out: int, pairs: list[tuple[int, int]], q: list[int], rows: int, many: int
    ) -> list[int]:
        count = len(pairs) if many == 1 else many
        pairs = [pairs[i % len(pairs)] for i in range(count)]
        rows = len(q) if rows == 1 else min(rows, max(1, 5000 // count))
        ends = []
        for m, s in pairs:
            most = min(((1 << 31) - 2 << s) // max(m, 1), (1 << 47) - 1)
            most = min(most, (1 << s - 1) - 1) if bits == 32 else most
            ends.append((zero - most, zero + most))
        values = np.resize(np.array(q, np.int64), (rows, count))
        low, high = np.array(ends, np.int64).T
        values = np.clip(values, np.maximum(low, source.min), np.minimum(high, source.max))
        ms, ss = zip(*pairs, strict=True)
        return [
            zero & _MASK,
            out & _MASK,
            count,
            *ms,
            *ss,
            *_filled(values, values.size),
        ]

    return st.builds(build, *zeros, channels, some, _COUNTS, _SIDES)


def _layer(op: str, format: str) -> Cases:
    """Layers mostly of small integers, so that most sums are exact in every order."""
    low, high = (-128, 127) if op == "linear_qcs8w" else (0, 255)
    simple = st.integers(-20, 20).map(lambda n: int(np.float32(n).view(np.uint32)))
    sides = _SIDES | st.sampled_from(_LARGE)
    groups = st.integers(1, 5) if format.endswith("_groups") else st.just(1)

    def build(
        sizes: tuple[int, int, int, int], scales: list[int], w: list[int], x: list[int]
    ) -> list[int]:
        m, n, many, each = sizes
        k = min(each, 1025) * many
        n = min(n, max(1, 5000 // k))
        m = min(m, max(1, 5000 // (k + n)))
        size = k if op == "linear_qcs8w" else -(-k // 2)
        counts = zip((scales, w, x), (n * many, n * size, m * k), strict=True)
        return [m, n, k, many, *(word for one, count in counts for word in _filled(one, count))]

    return st.builds(
        build,
        st.tuples(_SIDES, sides, groups, sides),
        st.lists(
            st.sampled_from(_SCALES) | st.integers(0x00800000, 0x7E7FFFFF), min_size=1, max_size=3
        ),
        st.lists(st.integers(low, high), min_size=1, max_size=9),
        st.lists(simple | patterns("f32"), min_size=1, max_size=7),
    )


def _grid_sample(format: str) -> Cases:
    info = np.iinfo(format)
    low, high = int(info.min), int(info.max)
    places = st.sampled_from(_PLACES) | st.integers(-32768, 32767)

    def build(
        flags: tuple[int, int],
        zero: int,
        sizes: tuple[int, int, int],
        points: int,
        pixels: list[int],
        grid: list[tuple[int, int]],
    ) -> list[int]:
        channels, height, width = sizes
        height = min(height, max(1, 5000 // (channels * width)))
        points = len(grid) if points == 1 else points
        coordinates = np.resize(np.array(grid, np.int64), (points, 2)).reshape(-1)
        count = channels * height * width
        first = [*flags, zero & _MASK, channels, height, width, 1, points]
        return [*first, *_filled(pixels, count), *_filled(coordinates, 2 * points)]

    return st.builds(
        build,
        st.tuples(st.integers(0, 1), st.integers(0, 1)),
        st.integers(low, high),
        st.tuples(st.integers(1, 5), _SIDES, _SIDES),
        _COUNTS,
        st.lists(st.integers(low, high), min_size=1, max_size=9),
        st.lists(st.tuples(places, places), min_size=1, max_size=6),
    )
