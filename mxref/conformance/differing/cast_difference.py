"""Differences between two profiles in casts of single numbers, each kind with its simplest one."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, FloatLayout, layout_of
from mxref.cases.probes import probes
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.differing import inputs
from mxref.conformance.differing.sides import (
    CastAnswers,
    Side,
    Words,
    common_float,
    exact,
    lacking,
    operations,
    rounded_to,
    side_of,
)
from mxref.conformance.fuzzing.simplify import simplest
from mxref.formats.catalog import (
    E8M0,
    ELEMENT_FORMATS,
    OTHER_FORMATS,
    ElementFormat,
    ScaleFormat,
    element_format,
)
from mxref.numbers.element import encode
from mxref.support.distinct import distinct
from mxref.targets.calls import without_cases

__all__ = [
    "FORMATS",
    "KINDS",
    "CastDifference",
    "CastExample",
    "CastFigures",
    "CastReading",
    "cast_difference",
]

#: The formats that numbers are cast to.
FORMATS = (*ELEMENT_FORMATS, *OTHER_FORMATS, E8M0.name)
#: Kinds of difference in casts, and what each means; a number has the first that is true of it.
KINDS = {
    "NaN": "a NaN",
    "infinity": "an infinity",
    "zero": "a zero",
    "beyond": "a finite number beyond the format's largest",
    "tie": "a number midway between two of the format",
    "tiny": "a number between 0 and the format's smallest",
    "number": "any other number",
    "negative": "of e8m0, one of the last four whose sign matters to a side",
}
_ZERO, _NEGATIVE = (list(KINDS).index(kind) for kind in ("zero", "negative"))
#: Kinds of difference in reading codes.
READINGS = ("NaN code", "infinity code", "zero", "number")
#: NaNs of a wide float type that are tried: their payloads matter to few.
_NANS = 64


@dataclass(frozen=True, slots=True)
class CastExample:
    """The simplest number with a kind of difference, and how many of those tried had it.

    Args:
        kind: a key of `KINDS`.
        count: the numbers that had it.
        word: the pattern of the number.
        codes: the code that each side gives; None for an error.
        own: float32 patterns of what each side reads in its own code.
        other: float32 patterns of what the other side reads in it.
    """

    kind: str
    count: int
    word: int
    codes: tuple[int | None, int | None]
    own: tuple[int, int]
    other: tuple[int, int]


@dataclass(frozen=True, slots=True)
class CastReading:
    """A code that the sides read as different numbers, as float32 patterns; one of `count`."""

    kind: str
    count: int
    code: int
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class CastFigures:
    """Two sides on the same data: numbers that differ, as shares.

    Args:
        data: name of the data.
        numbers: how many there are.
        other_code: share with different codes.
        other_value: share whose codes are read, each by its side, as different numbers.
    """

    data: str
    numbers: int
    other_code: float
    other_value: float


@dataclass(frozen=True, slots=True)
class CastDifference:
    """The differences between two profiles in casts to a format.

    Args:
        a: name of the first profile.
        b: name of the second profile.
        format: the element format, or E8M0.
        layout: the float type of the inputs.
        tried: numbers tried: all patterns of a 16-bit type; 0 if one of the two does not cast.
        examples: the kinds of difference in casts.
        readings: the kinds of difference in reading the same codes.
        figures: how often they differ on data.
        notes: sentences on what could not be compared.
    """

    a: str
    b: str
    format: ElementFormat | ScaleFormat
    layout: FloatLayout
    tried: int
    examples: tuple[CastExample, ...]
    readings: tuple[CastReading, ...]
    figures: tuple[CastFigures, ...]
    notes: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether there is any difference."""
        return bool(self.examples or self.readings or any(f.other_code for f in self.figures))


def cast_difference(
    a: str,
    b: str,
    format: str,
    *,
    float: str | None = None,
    data: Mapping[str, NDArray[Any]] | None = None,
) -> CastDifference:
    """Compare two profiles in casts to an element format or to E8M0.

    Args:
        a: a profile's name, or a policy's spelling.
        b: the other profile or policy.
        format: the format's name.
        float: the float type of the numbers; the first that both take if None.
        data: further arrays of floats by name, rounded to a type that both take if necessary.

    Raises:
        ValueError: an unknown name; no common operation on the format; no common float type;
            values that a side refuses.
        TypeError: data of another type.

    >>> found = cast_difference("torch", "cuda", "e8m0", float="bf16")
    >>> [(one.kind, one.codes) for one in found.examples][-1]
    ('number', (127, 128))
    """
    fmt = E8M0 if format == E8M0.name else element_format(format)
    sides = side_of(a, fmt), side_of(b, fmt)
    no_cast, no_reading = lacking(*sides, fmt)
    layout = common_float(*sides, float)
    notes = [f"{name} does not cast to {fmt.name}: reading alone is compared" for name in no_cast]
    examples: list[CastExample] = []
    weighed: list[CastFigures] = []
    words = np.zeros((0, 1), np.uint64)
    if not no_cast:
        own = "its codes are read as ocp reads them"
        notes = [f"{name} does not read {fmt.name}: {own}" for name in no_reading]
        words = _words(fmt, layout)
        examples = _examples(words, *sides, fmt, layout)
        for name, values in inputs.data(layout, 32).items():
            taken = np.abs(values) if fmt is E8M0 else values
            weighed.append(_figures(name, taken, *sides, fmt))
        for name, values in (data or {}).items():
            kept = all(one.takes(layout_of(values.dtype, name)) for one in sides)
            taken = values if kept else rounded_to(values, layout)
            weighed.append(_figures(name, taken, *sides, fmt))
    return CastDifference(
        sides[0].profile.name,
        sides[1].profile.name,
        fmt,
        layout,
        len(words),
        tuple(examples),
        tuple(_readings(*sides, fmt)),
        tuple(weighed),
        tuple(notes),
    )


def _words(fmt: ElementFormat | ScaleFormat, layout: FloatLayout) -> Words:
    """Numbers as patterns, (n, 1): all of a 16-bit type, else thresholds and random ones."""
    words = probes(operations(fmt)[0], fmt.name, layout.name)
    if layout.width == 16:
        return words
    ends = np.array([0, 1, layout.inf_bits - 1, layout.inf_bits, layout.nan_bits], np.uint64)
    every = distinct(np.concatenate([ends, ends | np.uint64(layout.sign_bit), words[:, 0]]))
    is_nan = every & np.uint64(layout.sign_bit - 1) > layout.inf_bits
    return every[~is_nan | (is_nan.cumsum() <= _NANS), np.newaxis]


def _kinds(
    words: Words, fmt: ElementFormat | ScaleFormat, layout: FloatLayout
) -> NDArray[np.int64]:
    """The kind of each number, as an index of KINDS."""
    x = exact(words[:, 0].astype(layout.uint).view(layout.dtype))
    smallest = fmt.min_normal if fmt.min_subnormal is None else fmt.min_subnormal
    with np.errstate(all="ignore"):
        magnitude = np.abs(x)
        if fmt is E8M0:
            tie = (np.frexp(magnitude)[0] == 0.75) & (magnitude > smallest)
        else:
            away, zero = (encode(x, fmt, rounding=f"ties_to_{to}") for to in ("away", "zero"))
            tie = away != zero
        tests = [
            np.isnan(x),
            np.isinf(x),
            x == 0,
            magnitude > fmt.max_normal,
            tie,
            magnitude < smallest,
        ]
    return np.select(tests, np.arange(len(tests)), len(tests))


def _examples(
    words: Words, a: Side, b: Side, fmt: ElementFormat | ScaleFormat, layout: FloatLayout
) -> list[CastExample]:
    file = without_cases(operations(fmt)[0], fmt.name, layout.name)

    def asked(rows: Words) -> tuple[CastAnswers, CastAnswers]:
        values = rows[:, 0].astype(layout.uint).view(layout.dtype)
        return a.cast(values, fmt), b.cast(values, fmt)

    def differing(rows: Words) -> NDArray[np.int64]:
        """The kind of each number that shows a difference, as an index of KINDS, else -1."""
        one, two = asked(rows)
        other = ~_same(file, one, two)
        found = np.where(other, _kinds(rows, fmt, layout), -1)
        if not fmt.signed:
            below = np.flatnonzero(other & (rows[:, 0] >= layout.sign_bit) & (found > _ZERO))
            if below.size:
                plain = asked(rows[below] - np.uint64(layout.sign_bit))
                own = [CastAnswers(each.codes[below], each.failed[below]) for each in (one, two)]
                alike = _same(file, own[0], plain[0]) & _same(file, own[1], plain[1])
                found[below[~alike]] = _NEGATIVE
        return found

    def shows(rows: Words, number: int) -> NDArray[np.bool_]:
        shown: NDArray[np.bool_] = differing(rows) == number
        return shown

    which, values = differing(words), (a.values(fmt), b.values(fmt))
    result = []
    for number, kind in enumerate(KINDS):
        rows = words[which == number]
        if not len(rows):
            continue
        row = simplest(functools.partial(shows, number=number), file, rows[0])
        answers = asked(row[np.newaxis])
        codes = [int(one.codes[0]) for one in answers]
        result.append(
            CastExample(
                kind,
                len(rows),
                int(row[0]),
                (
                    None if answers[0].failed[0] else codes[0],
                    None if answers[1].failed[0] else codes[1],
                ),
                (int(values[0][codes[0]]), int(values[1][codes[1]])),
                (int(values[1][codes[0]]), int(values[0][codes[1]])),
            )
        )
    return result


def _same(file: VectorFile, one: CastAnswers, two: CastAnswers) -> NDArray[np.bool_]:
    codes = (each.codes[:, np.newaxis].astype(np.uint64) for each in (one, two))
    same: NDArray[np.bool_] = same_answers(file, *codes)[:, 0] & ~one.failed & ~two.failed
    return same | (one.failed & two.failed)


def _readings(a: Side, b: Side, fmt: ElementFormat | ScaleFormat) -> list[CastReading]:
    """The codes that the sides read as different numbers, by kind."""
    read = a.values(fmt), b.values(fmt)
    file = without_cases(operations(fmt)[1], fmt.name, F32.name)
    columns = (one[:, np.newaxis] for one in read)
    differs = np.flatnonzero(~same_answers(file, *columns)[:, 0]).tolist()
    result = []
    for kind in READINGS:
        codes = [code for code in differs if _reading(code, fmt) == kind]
        if codes:
            first = codes[0]
            numbers = (int(one[first]) for one in read)
            result.append(CastReading(kind, len(codes), first, *numbers))
    return result


def _reading(code: int, fmt: ElementFormat | ScaleFormat) -> str:
    if fmt.is_nan(code):
        return "NaN code"
    value = fmt.value(code)
    return "zero" if value == 0 else "infinity code" if abs(value) == np.inf else "number"


def _figures(
    name: str, values: NDArray[Any], a: Side, b: Side, fmt: ElementFormat | ScaleFormat
) -> CastFigures:
    flat = np.ascontiguousarray(values).reshape(-1)
    answers = a.cast(flat, fmt), b.cast(flat, fmt)
    for side, one in zip((a, b), answers, strict=True):
        if one.failed.any():
            first = flat[one.failed][0]
            raise ValueError(
                f"{name} must hold numbers that {side.profile.name} casts, got {first}"
            )
    codes = tuple(one.codes for one in answers)
    nan = np.isin(np.arange(fmt.code_count), fmt.nan_codes)
    other = (codes[0] != codes[1]) & ~(nan[codes[0]] & nan[codes[1]])
    file = without_cases(operations(fmt)[1], fmt.name, F32.name)
    read = (side.values(fmt)[some][:, np.newaxis] for side, some in zip((a, b), codes, strict=True))
    apart = ~same_answers(file, *read)[:, 0]
    count = max(flat.size, 1)
    return CastFigures(name, flat.size, float(other.sum() / count), float(apart.sum() / count))
