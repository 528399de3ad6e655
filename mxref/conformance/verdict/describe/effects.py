"""How words are wrong: an effect that all of them show, such as one code too near zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, LAYOUTS, Bool, split
from mxref.conformance.compare.failure_text import show_code
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.tables import magnitudes, number_table, parts_at
from mxref.conformance.verdict.describe.units import U64, Units

__all__ = ["effect_kinds", "effect_of"]

Effects = Iterator[tuple[str, Bool]]


def effect_of(units: Units, some: Bool) -> str:
    """The first effect that all of some wrong units show; empty if there is none."""
    return next((text for text, true in _effects(units, some) if true.all()), "")


def effect_kinds(units: Units) -> I64:
    """The number of the first effect that each failed unit shows; -1 for other units."""
    kinds = np.full(int(units.failed.sum()), -1)
    for number, (_, true) in enumerate(_effects(units, units.failed)):
        kinds[(kinds < 0) & true] = number
    found = np.full(len(units.failed), -1)
    found[units.failed] = kinds
    return found


def _effects(units: Units, some: Bool) -> Effects:
    """Effects, the most telling first, and which of some wrong units show each."""
    want, got, fmt = units.want[some], units.got[some], units.codes
    if units.kind == "count":
        yield "too few words", got < want
        yield "too many words", got > want
    elif units.kind != "word" and (fmt is None or (got < fmt.code_count).all()):
        yield from _of_numbers(units, *(_numbers(units, some, side) for side in (want, got)))
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


def _numbers(units: Units, some: Bool, words: U64) -> Table:
    """Features of some units' words as numbers, and their codes or patterns without sign."""
    if units.codes:
        found = number_table(parts_at(units.codes, words.astype(np.int64)))
        return found | {"place": magnitudes(units.codes)[words]}
    found = {}
    for number, layout in enumerate(LAYOUTS.values()):
        own = units.table["float type"][some] == number
        table = number_table(split(words[own], layout))
        table["place"] = (words[own] & np.uint64(layout.sign_bit - 1)).view(np.int64)
        for name, column in table.items():
            found.setdefault(name, np.zeros(len(words), np.int64))[own] = column
    return found


def _of_numbers(units: Units, want: Table, got: Table) -> Effects:
    """Effects on numbers; a zero is as near to numbers of both signs."""
    unit, inputs = "code" if units.codes else "float", np.array([want["input"], got["input"]])
    number, sign = (inputs < 4).all(axis=0), got["sign"] - want["sign"]
    more, zero = got["place"] - want["place"], (inputs == 0).any(axis=0)
    yield "becomes NaN", inputs[1] == 4
    yield "becomes infinite", inputs[1] == 3
    yield "becomes 0", inputs[1] == 0
    yield "the sign is lost", number & (more == 0) & (sign < 0)
    yield "becomes negative", number & (more == 0) & (sign > 0)
    yield "the sign is wrong", number & (more == 0) & (sign != 0)
    number &= zero | (sign == 0)
    if units.codes:
        yield "becomes the largest number", number & (got["place"] == units.codes.max_code)
    else:
        exponent, rest = np.divmod(got["magnitude"] - want["magnitude"], 1 << 52)
        exponent[~number | zero | (inputs == 3).any(axis=0) | (rest != 0)] = 0
        for value in _common(exponent[exponent != 0]):
            times = {1: "twice", -1: "half"}.get(value, f"2^{value} times")
            yield f"{times} as large", exponent == value
    scale = units.kind == "scale" or (units.codes is not None and not units.codes.signed)
    way = ("too large", "too small") if scale else ("too far from zero", "too near zero")
    for value in _common(more[number & (more != 0) & (np.abs(more) < 10)]):
        count = f"one {unit}" if abs(value) == 1 else f"{abs(value)} {unit}s"
        yield f"{count} {way[value < 0]}", number & (more == value)


def _common(values: NDArray[np.generic]) -> list[int]:
    """The most frequent values."""
    found, counts = np.unique(values, return_counts=True)
    return [int(value) for value in found[np.argsort(-counts, kind="stable")][:3]]
