"""Whole arrays drawn like tensors: numbers, codes and scales, each array of one ordinary kind.

Vectors mix specials into every call, so that a fast path for ordinary data (finite, of one sign,
under one scale) is never taken. These arrays have none, by kinds that a kernel may look for. All
are drawn by sums and shifts of random words, so that they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.operands.draws import Draws, Ints, Words

__all__ = ["CODES", "NUMBERS", "SCALES", "ordinary_codes", "ordinary_numbers", "ordinary_scales"]

F64Array = NDArray[np.float64]
#: Binades that heavy tails and log-normal numbers reach beyond 1.
_REACH = 6


def _uniform(draws: Draws, shape: tuple[int, ...]) -> F64Array:
    """From -1 to 1, in steps of 2**-52."""
    return (draws.words(shape) >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1.0


def _normal(draws: Draws, shape: tuple[int, ...]) -> F64Array:
    """Nearly normal: a sum of four uniform numbers, of variance 4/3."""
    found = np.zeros(shape)
    for _ in range(4):
        found += _uniform(draws, shape)
    return found


def _log_normal(draws: Draws, shape: tuple[int, ...]) -> F64Array:
    """Exponents that are nearly normal, any significand, either sign."""
    exponents = np.rint(_normal(draws, shape) * 1.5).astype(np.int64)
    significands = 1.5 + 0.5 * _uniform(draws, shape)
    return np.ldexp(significands, exponents) * _signs(draws, shape)


def _heavy_tailed(draws: Draws, shape: tuple[int, ...]) -> F64Array:
    """Normal numbers, each further binade half as often."""
    bits = draws.below(shape, 1 << _REACH)
    further = sum((bits < 1 << power for power in range(_REACH)), np.zeros(shape, np.int64))
    return _normal(draws, shape) * (1 << further)


def _signs(draws: Draws, shape: tuple[int, ...]) -> F64Array:
    return np.where(draws.one_in(shape, 2), -1.0, 1.0)


def _one_in(draws: Draws, shape: tuple[int, ...], n: int, numbers: F64Array) -> F64Array:
    """Numbers of which one in `n` stays, and the others are zeros."""
    return np.where(draws.one_in(shape, n), numbers, 0.0)


#: Kinds of numbers, each with what draws float64 numbers of a magnitude near 1.
NUMBERS: Mapping[str, Callable[[Draws, tuple[int, ...]], F64Array]] = {
    "normal": _normal,
    "uniform": _uniform,
    "log-normal": _log_normal,
    "heavy-tailed": _heavy_tailed,
    "small": lambda d, s: _normal(d, s) * 2.0**-8,
    "positive": lambda d, s: np.abs(_normal(d, s)) + 2.0**-8,
    "negative": lambda d, s: -np.abs(_normal(d, s)) - 2.0**-8,
    "one sign a row": lambda d, s: np.abs(_normal(d, s)) * _signs(d, (s[0], *(1,) * (len(s) - 1))),
    "with zeros": lambda d, s: _one_in(d, s, 2, _normal(d, s)),
    "after ReLU": lambda d, s: np.maximum(_normal(d, s), 0.0),
    "sparse": lambda d, s: _one_in(d, s, 10, _normal(d, s)),
    "sorted": lambda d, s: np.sort(_normal(d, s), axis=None).reshape(s),
    "constant": lambda d, s: np.broadcast_to(1.0 + np.abs(_uniform(d, (1,) * len(s))), s),
}


#: Kinds of codes: which codes an array has, by the numbers that all codes of a format stand for,
#: and the least normal one. Of the last three it is said how they lie.
CODES: Mapping[str, Callable[[F64Array, float], NDArray[np.bool_]]] = {
    "finite": lambda values, _: np.isfinite(values),
    "normal": lambda values, least: np.isfinite(values) & (np.abs(values) >= least),
    "positive": lambda values, least: np.isfinite(values) & (values >= least),
    "negative": lambda values, least: np.isfinite(values) & (values <= -least),
    "not negative": lambda values, _: np.isfinite(values) & ~np.signbit(values),
    "small": lambda values, _: np.abs(values) <= np.nanmax(np.abs(_finite(values))) / 8,
    **dict.fromkeys(("sparse", "sorted", "constant"), lambda values, _: np.isfinite(values)),
}

#: Kinds of E8M0 scale codes: the least and the greatest, and whether an array has one of them.
SCALES: Mapping[str, tuple[int, int, bool]] = {
    "equal": (96, 158, True),
    "near 1": (123, 131, False),
    "from 64 to 190": (64, 190, False),
    "any but NaN": (0, 254, False),
}


def _finite(values: F64Array) -> F64Array:
    return np.where(np.isfinite(values), values, 0.0)


def ordinary_numbers(
    kind: str, draws: Draws, shape: tuple[int, ...], layout: FloatLayout, unit: float = 1.0
) -> Words:
    """Patterns of numbers of one kind, all of them finite.

    Args:
        kind: one of NUMBERS.
        draws: the random words.
        shape: of the array; its first axis has the rows.
        layout: the float type.
        unit: a power of two that all numbers are multiplied by.

    >>> from mxref.bits.floats import F32
    >>> words = ordinary_numbers("positive", Draws("seed"), (4,), F32)
    >>> bool((words.astype(np.uint32).view(np.float32) > 0).all())
    True
    """
    numbers = NUMBERS[kind](draws, shape) * unit
    found: Words = numbers.astype(layout.dtype).view(layout.uint).astype(np.uint64)
    return found


def ordinary_codes(
    kind: str, draws: Draws, shape: tuple[int, ...], values: F64Array, least: float
) -> Ints:
    """Codes of one kind.

    Args:
        kind: one of CODES.
        draws: the random words.
        shape: of the array.
        values: the number that each code of the format stands for.
        least: the least normal number of the format.

    >>> numbers = np.array([0.0, 1.0, -0.0, -1.0])
    >>> ordinary_codes("negative", Draws("seed"), (3,), numbers, 1.0).tolist()
    [3, 3, 3]
    """
    some = np.flatnonzero(CODES[kind](values, least))
    places = draws.below(shape, some.size)
    if kind == "sorted":
        some = some[np.argsort(values[some], kind="stable")]
        places = np.sort(places, axis=None).reshape(shape)
    elif kind == "constant":
        places = np.full(shape, 1 + places.flat[0] % (some.size - 1))  # not code 0
    found: Ints = some[places]
    return np.where(draws.one_in(shape, 10), found, 0) if kind == "sparse" else found


def ordinary_scales(kind: str, draws: Draws, shape: tuple[int, ...]) -> Ints:
    """Scale codes of E8M0 of one kind.

    Args:
        kind: one of SCALES.
        draws: the random words.
        shape: of the array.

    >>> len({*ordinary_scales("equal", Draws("seed"), (9,)).tolist()})
    1
    """
    low, high, is_one = SCALES[kind]
    return np.array(np.broadcast_to(draws.between(low, high, (1,) if is_one else shape), shape))
