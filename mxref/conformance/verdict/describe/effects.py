"""What became of wrong words: what all of them have in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, LAYOUTS, Bool, FloatLayout, split
from mxref.conformance.compare.failure_text import show_code, show_float
from mxref.conformance.verdict.describe.features import UNKNOWN, real_keys
from mxref.conformance.verdict.describe.units import Units
from mxref.formats.catalog import CodeFormat
from mxref.numbers.codes import every_code

__all__ = ["effect_kinds", "effect_of"]

U64 = NDArray[np.uint64]
Effects = Iterator[tuple[str, Bool]]


def effect_of(units: Units) -> str:
    """What all of some wrong words have in common, in words; empty if nothing.

    Args:
        units: the wrong ones.
    """
    return next((text for text, true in _effects(units) if true.all()), "")


def effect_kinds(units: Units) -> I64:
    """The number of the first effect that each unit shows; other units have -1."""
    kinds = np.full(len(units.failed), -1)
    for number, (_, true) in enumerate(_effects(units)):
        kinds[(kinds < 0) & true & units.failed] = number
    return kinds


def _effects(units: Units) -> Effects:
    """Effects, the most telling first, and which units show each."""
    want, got, codes = units.want, units.got, units.codes
    if units.floats:
        yield from _of_all_floats(units)
    elif codes is not None:
        yield from _of_codes(units.kind, want, got, codes)
        for value in _common(got):
            yield f"becomes {show_code(value, codes)}", got == np.uint64(value)
    elif units.kind == "count":
        yield "too few words", got < want
        yield "too many words", got > want
        return
    for value in _common(got):
        yield f"becomes {value:02x}", got == np.uint64(value)
    yield from _of_integers(want, got)


def _of_all_floats(units: Units) -> Effects:
    """The effects of every float type by itself, put together."""
    found: dict[str, Bool] = {}
    for number, layout in enumerate(LAYOUTS.values()):
        some = units.table["float type"] == number
        for text, true in _of_floats(units.want[some], units.got[some], layout):
            found.setdefault(text, np.zeros(len(some), bool))[some] = true
    yield from found.items()


def _of_codes(kind: str, want: U64, got: U64, fmt: CodeFormat) -> Effects:
    valid = got < np.uint64(fmt.code_count)
    count = np.uint64(fmt.code_count - 1)
    from_, to = (np.minimum(side, count).astype(np.int64) for side in (want, got))
    parts = every_code(fmt)
    yield "becomes NaN", valid & parts.is_nan[to]
    yield "becomes infinite", valid & parts.is_inf[to]
    yield "becomes 0", valid & (parts.significand == 0)[to] & ~parts.is_nan[to]
    signed = [fmt.sign_and_magnitude(code) for code in range(fmt.code_count)]
    negative, magnitude = (np.array(one, np.int64) for one in zip(*signed, strict=True))
    number = valid & ~parts.is_nan[from_] & ~parts.is_nan[to]
    zero = (magnitude[from_] == 0) | (magnitude[to] == 0)  # which in INT8 has no sign
    same = number & (zero | (negative[from_] == negative[to]))
    more = magnitude[to] - magnitude[from_]
    yield from _of_signs(number & (more == 0), negative[from_], negative[to])
    far, near = ("too large", "too small") if kind == "scale" or not fmt.signed else _FAR
    yield from _of_distances("code", same, more, far, near)
    yield "becomes the largest number", number & (magnitude[to] == fmt.max_code)
    positions = np.where(negative, -magnitude, magnitude)
    higher = positions[to] - positions[from_]
    yield from _of_distances("code", number, higher, "too high", "too low")
    yield "one code off", number & (np.abs(higher) == 1)


_FAR = "too far from zero", "too near zero"


def _of_signs(same: Bool, before: I64, after: I64) -> Effects:
    """Of numbers of the same magnitude."""
    yield "the sign is lost", same & (before > after)
    yield "becomes negative", same & (before < after)
    yield "the sign is wrong", same & (before != after)


def _of_distances(unit: str, where: Bool, distance: I64, more: str, less: str) -> Effects:
    """One distance that all have."""
    yield f"one {unit} {more}", where & (distance == 1)
    yield f"one {unit} {less}", where & (distance == -1)
    for value in _common(distance[where & (np.abs(distance) > 1) & (np.abs(distance) < 10)]):
        text = f"{abs(value)} {unit}s {more if value > 0 else less}"
        yield text, where & (distance == value)


def _common(values: NDArray[np.generic]) -> list[int]:
    """The most frequent values."""
    found, counts = np.unique(values, return_counts=True)
    return [int(value) for value in found[np.argsort(-counts, kind="stable")][:3]]


def _of_floats(want: U64, got: U64, layout: FloatLayout) -> Effects:
    before, after = split(want, layout), split(got, layout)
    yield "becomes NaN", after.is_nan
    yield "becomes infinite", after.is_inf
    yield "becomes 0", after.significand == 0
    number = ~(before.is_nan | before.is_inf | after.is_nan | after.is_inf)
    same = number & (before.negative == after.negative)
    magnitude = np.uint64(layout.sign_bit - 1)
    from_, to = ((side & magnitude).astype(np.int64) for side in (want, got))
    signs = (side.negative.astype(np.int64) for side in (before, after))
    yield from _of_signs(~before.is_nan & (from_ == to), *signs)
    some = same & (before.significand != 0) & (after.significand != 0)
    keys = [real_keys(side.significand, side.exponent) for side in (before, after)]
    ratio = np.where(some, keys[1] - keys[0], UNKNOWN)
    yield "twice as large", ratio == 1 << 52
    yield "half as large", ratio == -(1 << 52)
    for value in _common(ratio[some & (ratio % (1 << 52) == 0) & (ratio != 0)]):
        yield f"2^{value >> 52} times as large", ratio == value
    yield from _of_distances("float", same, to - from_, *_FAR)
    for value in _common(got):
        yield f"becomes {show_float(value, layout)}", got == np.uint64(value)


def _of_integers(want: U64, got: U64) -> Effects:
    byte = (want | got) <= np.uint64(0xFF)
    swapped = (want >> np.uint64(4)) | (want & np.uint64(15)) << np.uint64(4)
    yield "the nibbles are exchanged", byte & (got == swapped)
    for value in _common(want ^ got):
        if value and value & (value - 1) == 0:
            bit = np.uint64(value)
            number = value.bit_length() - 1
            yield f"bit {number} is lost", (got | bit == want) & (got != want)
            yield f"bit {number} is wrong", (want ^ got) == bit
    for value in _common(got.view(np.int64) - want.view(np.int64)):
        if 0 < abs(value) < 256:
            text = f"{abs(value)} too {'large' if value > 0 else 'small'}"
            yield text, got - want == np.uint64(value % (1 << 64))
