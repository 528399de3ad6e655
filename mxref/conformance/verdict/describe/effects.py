"""How words are wrong: an effect that all of them show, such as one code too near zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, LAYOUTS, Bool, Parts, split
from mxref.conformance.compare.failure_text import show_code, show_float
from mxref.conformance.verdict.describe.features import real_keys
from mxref.conformance.verdict.describe.tables import magnitudes, parts_at
from mxref.conformance.verdict.describe.units import Units

__all__ = ["effect_kinds", "effect_of"]

Effects = Iterator[tuple[str, Bool]]
_FAR, _LARGE = ("too far from zero", "too near zero"), ("too large", "too small")


def effect_of(units: Units) -> str:
    """The first effect that all of some wrong units show; empty if there is none."""
    return next((text for text, true in _effects(units) if true.all()), "")


def effect_kinds(units: Units) -> I64:
    """The number of the first effect that each failed unit shows; -1 for other units."""
    kinds = np.full(len(units.failed), -1)
    for number, (_, true) in enumerate(_effects(units)):
        kinds[(kinds < 0) & true & units.failed] = number
    return kinds


def _effects(units: Units) -> Effects:
    """Effects, the most telling first, and which units show each."""
    want, got, fmt = units.want, units.got, units.codes
    if units.kind == "count":
        yield "too few words", got < want
        yield "too many words", got > want
        return
    if units.floats:
        found: dict[str, Bool] = {}  # the effects in each float type, put together
        for number, layout in enumerate(LAYOUTS.values()):
            some = units.table["float type"] == number
            words, mask = (want[some], got[some]), np.uint64(layout.sign_bit - 1)
            places = [(word & mask).view(np.int64) for word in words]
            sides = [split(word, layout) for word in words]
            effects = [*_of_numbers("float", sides, places, _FAR)]
            effects += [
                (f"becomes {show_float(g, layout)}", words[1] == g) for g in _common(words[1])
            ]
            for text, true in effects:
                found.setdefault(text, np.zeros(len(some), bool))[some] = true
        yield from found.items()
    if fmt is not None:
        valid, last = got < fmt.code_count, fmt.code_count - 1
        codes = [np.minimum(word, last).astype(np.int64) for word in (want, got)]
        places, sides = [magnitudes(fmt)[c] for c in codes], [parts_at(fmt, c) for c in codes]
        way = _FAR if fmt.signed and units.kind != "scale" else _LARGE
        for text, true in _of_numbers("code", sides, places, way):
            yield text, valid & true
        number_ = valid & ~sides[0].is_nan & ~sides[1].is_nan
        yield "becomes the largest number", number_ & (places[1] == fmt.max_code)
        low, high = (np.where(s.negative, -p, p) for s, p in zip(sides, places, strict=True))
        yield from _of_distances("code", number_, high - low, ("too high", "too low"))
        yield "one code off", number_ & (np.abs(high - low) == 1)
    for value in _common(got):
        yield f"becomes {show_code(value, fmt) if fmt else f'{value:02x}'}", got == value
    swapped = want >> np.uint64(4) | (want & np.uint64(15)) << np.uint64(4)
    yield "the nibbles are exchanged", (got == swapped) & ((want | got) <= 0xFF)
    for value in _common(want ^ got):
        if value.bit_count() == 1:
            bit = value.bit_length() - 1
            yield f"bit {bit} is lost", (want ^ got == value) & (got < want)
            yield f"bit {bit} is wrong", want ^ got == value
    more = got.view(np.int64) - want.view(np.int64)
    for value in _common(more[np.abs(more) < 256]):
        yield f"{abs(value)} too {'large' if value > 0 else 'small'}", more == value


def _of_numbers(unit: str, sides: list[Parts], places: list[I64], way: tuple[str, str]) -> Effects:
    """Effects on numbers of one type, from their parts and their places by magnitude.

    A zero is as near to numbers of both signs.
    """
    want, got = sides
    yield "becomes NaN", got.is_nan
    yield "becomes infinite", got.is_inf
    yield "becomes 0", (got.significand == 0) & ~got.is_nan
    number, more = ~(want.is_nan | got.is_nan), places[1] - places[0]
    yield "the sign is lost", number & (more == 0) & want.negative & ~got.negative
    yield "becomes negative", number & (more == 0) & ~want.negative & got.negative
    yield "the sign is wrong", number & (more == 0) & (want.negative ^ got.negative)
    zero = (want.significand == 0) | (got.significand == 0)
    number &= zero | (want.negative == got.negative)
    keys = [real_keys(side.significand, side.exponent) for side in sides]
    exponent, rest = np.divmod(keys[1] - keys[0], 1 << 52)
    exponent[zero | ~number | (rest != 0) | want.is_inf | (unit == "code")] = 0
    yield "twice as large", exponent == 1
    yield "half as large", exponent == -1
    for value in _common(exponent[exponent != 0]):
        yield f"2^{value} times as large", exponent == value
    yield from _of_distances(unit, number, more, way)


def _of_distances(unit: str, where: Bool, distance: I64, way: tuple[str, str]) -> Effects:
    """One distance that all have."""
    near = distance[where & (distance != 0) & (np.abs(distance) < 10)]
    for value in (1, -1, *_common(near)):
        number = "one" if abs(value) == 1 else abs(value)
        text = f"{number} {unit}{'s' * (abs(value) > 1)} {way[value < 0]}"
        yield text, where & (distance == value)


def _common(values: NDArray[np.generic]) -> list[int]:
    """The most frequent values."""
    found, counts = np.unique(values, return_counts=True)
    return [int(value) for value in found[np.argsort(-counts, kind="stable")][:3]]
