"""Smaller and simpler cases of integer operations, made from one that a target answers wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits import simplicity
from mxref.bits.floats import F32
from mxref.operations.affine import Affine, affine
from mxref.operations.integer_operation import signed
from mxref.operations.registry import INTEGERS, WEIGHT_ONLY_OPERATIONS
from mxref.operations.word_rows import padded, stripped

__all__ = ["smaller_cases"]

Words = NDArray[np.uint64]
Case = tuple[int, ...]
Ints = NDArray[np.int64]

_MASK = 0xFFFFFFFF
_ONE = 0x3F800000
#: The high word of 1.0 in float64.
_ONE64 = 0x3FF00000
#: Largest distance of tried exponents from 0; and how many values, and other numbers, are tried.
_REACH, _MOST, _NUMBERS = 8, 128, 60
#: The smallest and the largest scale that is tried.
_SCALES = (0x00800000, 0x7E7FFFFF)


def smaller_cases(op: str, format: str, row: Words) -> Words:
    """Cases to try instead of one, the simplest first, padded, without those that have no answer.

    >>> row = padded([(1, 3, 0, 5, 0)])[0]
    >>> [stripped(one) for one in smaller_cases("pack_int4", "int4", row)[:2]]
    [(1, 1, 0), (1, 2, 0, 5)]
    """
    words = stripped(row)
    if op.endswith("_affine"):
        found = _affine(op, format, words)
    elif op.endswith("_int4"):
        found = _int4(op, words)
    elif op == "rescale":
        found = _rescale(words)
    elif op in WEIGHT_ONLY_OPERATIONS:
        found = _layer(op, words)
    else:
        found = _grid_sample(words)
    legal = [one for one in dict.fromkeys(found) if one != words]
    if op == "rescale":  # whose values have limits
        legal = [one for one in legal if _has_answer(op, format, one)]
    return padded(legal) if legal else np.empty((0, len(words)), np.uint64)


def _has_answer(op: str, format: str, words: Case) -> bool:
    try:
        INTEGERS[op].answer(format, words, INTEGERS[op].first_policy(format))
    except ValueError:
        return False
    return True


def _nearer(word: int, simple: int = 0) -> Iterator[int]:
    """Integers between a simple one and that of a word, in two's complement."""
    value = signed(word)
    step = value - simple
    while step:
        yield value - step & _MASK
        step = int(step / 2)


def _fewer(count: int) -> Iterator[slice]:
    """Parts of a list: each item alone, halves, all but the last."""
    if count > 1:
        yield from (slice(i, i + 1) for i in range(min(count, _MOST)))
        yield from (slice(0, count // 2), slice(count // 2, count), slice(0, count - 1))


def _replaced(words: Case, places: Iterable[int], simple: Sequence[int] = (0,)) -> Iterator[Case]:
    """Cases with a simpler word in one place."""
    for place in places:
        yield from ((*words[:place], one, *words[place + 1 :]) for one in simple)


def _affine(op: str, format: str, words: Case) -> Iterator[Case]:
    case = affine(format, words)
    for some in _fewer(len(case.values)):
        if case.axis is None:
            yield (*words[: case.places], *case.values[some])
        elif some.stop - some.start == 1:
            yield _alone(case, some.start)
    if len(case.values) == 1 and format.endswith("_scale64"):
        yield from _replaced(words, [2], [_ONE64] if words[2:4] != (_ONE64, 0) else [])
        yield from _replaced(words, [3])
        yield from _replaced(words, [5], _simpler(words[5]))
    elif len(case.values) == 1:
        places = range(case.places - 2, case.places + 1)
        scale, zero, value = (words[place] for place in places)
        scales = [one for one in _simpler(scale) if _SCALES[0] <= one <= _SCALES[1]]
        if op == "quantize_affine" and scale != _ONE:
            yield from ((*words[:-3], _ONE, zero, one) for one in _in_units(value, scale))
        values = _simpler(value) if op == "quantize_affine" else list(_nearer(value))
        if case.low <= 0 <= case.high:
            yield from _replaced(words, [places[1]], list(_nearer(zero)))
        yield from _replaced(words, [places[0]], scales)
        yield from _replaced(words, [places[2]], values)
    else:
        yield from _replaced(words, range(case.places, len(words)))


def _simpler(word: int) -> list[int]:
    """Simpler float32 numbers."""
    return [int(one) for one in simplicity.simpler(word, F32, _REACH)][:_NUMBERS]


def _in_units(value: int, scale: int) -> list[int]:
    """A number divided by its scale, as it is and to a half."""
    x, s = np.array([value, scale], np.uint32).view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        units = np.array([np.rint(x / s), np.rint(2 * x / s) / 2, x / s]).astype(np.float32)
    found: list[int] = units.view(np.uint32).tolist()
    return found


def _alone(case: Affine, place: int) -> Case:
    """One value of a tensor, with its scale and zero point."""
    which = case.which[place]
    first = (case.low, case.high, 0, 1, 1, 1, 1)
    parameters = (case.scales[which], case.zero_points[which] & _MASK)
    return (*(one & _MASK for one in first), *parameters, case.values[place])


def _int4(op: str, words: Case) -> Iterator[Case]:
    rows, k = words[:2]
    size = k if op == "pack_int4" else -(-k // 2)
    lines = [words[2 + i * size :][:size] for i in range(rows)]
    for fewer in dict.fromkeys((1, 2, k // 2, k - 1)):
        if 0 < fewer < k:
            width = fewer if op == "pack_int4" else -(-fewer // 2)
            yield (rows, fewer, *(word for line in lines for word in line[:width]))
    for some in _fewer(rows):
        yield (len(lines[some]), k, *(word for line in lines[some] for word in line))
    zero = 0 if op == "pack_int4" else 0x88
    places = [place for place in range(2, len(words)) if words[place] != zero]
    yield from _replaced(words, places[:_MOST], (zero,))


def _rescale(words: Case) -> Iterator[Case]:
    count = words[2]
    first = 3 + 2 * count
    values = words[first:]
    if count > 1:
        for place in range(min(len(values), _MOST)):
            c = place % count
            yield (*words[:2], 1, words[3 + c], words[3 + count + c], values[place])
        for c in range(count):
            yield (*words[:2], 1, words[3 + c], words[3 + count + c], *values[c::count])
        for some in _fewer(len(values) // count):
            yield (*words[:first], *values[some.start * count : some.stop * count])
        return
    yield from ((*words[:first], *values[some]) for some in _fewer(len(values)))
    for place in (0, 1):
        yield from _replaced(words, [place], list(_nearer(words[place])))
    if len(values) == 1:
        yield from _replaced(words, [3], [1 << 30, 1 << 14] if words[3] & words[3] - 1 else [])
        yield from _replaced(words, [4], list(_nearer(words[4], 14 if words[3] >> 15 == 0 else 30)))
        yield from _replaced(words, [first], list(_nearer(words[first])))


def _layer(op: str, words: Case) -> Iterator[Case]:
    """Fewer rows, outputs, groups and columns; scales of 1 and simple numbers.

    Bytes of two codes stay whole, whatever their order: columns are left out in pairs.
    """
    m, n, k, groups = words[:4]
    pair = 2 if op == "linear_qcs4w" else 1
    size = -(-k // pair)
    array = np.array(words[4:], np.int64)
    scales = array[: n * groups].reshape(n, groups)
    w = array[n * groups :][: n * size].reshape(n, size)
    x = array[n * (groups + size) :].reshape(m, k)

    def case(scales: Ints, w: Ints, x: Ints) -> Case:
        sizes = (*x.shape[:1], *w.shape[:1], x.shape[1], scales.shape[1])
        return (*sizes, *(word for part in (scales, w, x) for word in part.reshape(-1).tolist()))

    yield from (case(scales, w, x[some]) for some in _fewer(m))
    yield from (case(scales[some], w[some], x) for some in _fewer(n))
    each = k // groups
    if groups == 1:
        for some in _fewer(size):
            yield case(scales, w[:, some], x[:, pair * some.start : pair * some.stop])
        if k > 1:
            yield case(scales, w[:, : -(-(k - 1) // pair)], x[:, :-1])
    else:
        yield case(scales[:, :1], w, x)
        if each % pair == 0:
            for some in _fewer(groups):
                low, high = each * some.start, each * some.stop
                yield case(scales[:, some], w[:, low // pair : high // pair], x[:, low:high])
    places = range(4, 4 + scales.size)
    for place in places:
        finite = [one for one in _simpler(words[place]) if _SCALES[0] <= one <= _SCALES[1]]
        yield from _replaced(words, [place], finite if n * groups == 1 else [_ONE])
    for place in range(places.stop, places.stop + min(w.size, _MOST)):
        code = words[place]
        simple = [0x88, code & 0xF0 | 8, code & 0x0F | 0x80] if pair == 2 else [0, *_nearer(code)]
        yield from _replaced(words, [place], simple)
    first = places.stop + w.size
    for place in range(first, first + min(x.size, _MOST)):
        yield from _replaced(words, [place], _simpler(words[place]) if x.size == 1 else [0, _ONE])


def _grid_sample(words: Case) -> Iterator[Case]:
    channels, height, width, down, across = words[3:8]
    count = channels * height * width
    pixels = np.array(words[8 : 8 + count], np.int64).reshape(channels, height, width)
    grid = words[8 + count :]

    def case(image: NDArray[np.int64], points: Case) -> Case:
        sizes = (*image.shape, 1, len(points) // 2)
        return (*words[:3], *sizes, *image.reshape(-1).tolist(), *points)

    for some in _fewer(down * across):
        yield case(pixels, grid[2 * some.start : 2 * some.stop])
    for axis in range(3):
        if pixels.shape[axis] > 1:
            for part in np.array_split(pixels, 2, axis):
                yield case(part, grid)
            yield case(np.delete(pixels, -1, axis), grid)
    if down * across == 1:
        for place in (2, len(words) - 2, len(words) - 1):
            yield from _replaced(words, [place], list(_nearer(words[place])))
    places = [place for place in range(8, 8 + count) if words[place]]
    yield from _replaced(words, places[:_MOST])
