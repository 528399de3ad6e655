"""A short description of where a target differs, when no policy and no known bug explains it.

It is true of every failure and of no success among the compared cases; of other inputs nothing is
known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, LAYOUTS, Bool, split
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.nearly import nearly
from mxref.conformance.verdict.describe.rules import Literal, common, cover
from mxref.conformance.verdict.describe.tables import magnitudes_of, number_table, parts_at
from mxref.conformance.verdict.describe.units import U64, Units, units_of
from mxref.formats.catalog import E8M0
from mxref.operands.shown import show_code
from mxref.policy.policy import Policy
from mxref.support.distinct import distinct
from mxref.support.text import guess

#: The most places for a kind of unit in a description that is short, and literals of a place.
_PLACES, _LITERALS = 2, 3
#: The most codes that are listed as what wrong units become.
_SEVERAL = 5


@dataclass(frozen=True, slots=True)
class Part:
    """Some failing units and what holds of them; of some right ones, too, if there are cases."""

    kind: str  #: of its units: see `Units`
    literals: tuple[Literal, ...]  #: hold together of these units and of no right one
    failing: int  #: the number of these units
    units: int  #: the number of units that the literals hold of
    effect: str  #: how all of these units are wrong; empty if they differ in that
    cases: tuple[str, ...] = ()  #: the failing units by name, where no pattern is exact
    seen: int = 0  #: the number of cases with these units

    @property
    def names_input(self) -> bool:
        """Whether its literals name the whole input: a code, of which the vectors have each."""
        return self.kind == "answer" and any(
            one.feature == "code" and one.values for one in self.literals
        )

    @property
    def conditions(self) -> int:
        """The values and ends of ranges that its literals name."""
        return sum(1 + (None not in (one.low, one.high)) for one in self.literals)

    @property
    def is_mostly_wrong(self) -> bool:
        """Whether few of the units that the literals hold of are right."""
        return 5 * self.failing >= 4 * self.units


@dataclass(frozen=True, slots=True)
class Description:
    """Where a target differs: its parts hold of every wrong unit and of no right one."""

    parts: tuple[Part, ...]  #: by kind, the largest first
    failing: dict[str, int]  #: the number of failing units by kind
    compared: dict[str, int]  #: the number of all units by kind

    @property
    def text(self) -> str:
        """A short sentence for each kind of unit; its ranges end where the cases do."""
        text = "; ".join(map(self._sentence, self.failing))
        return f"in the cases asked, {text}" if "exactly where" in text else text

    @property
    def vague(self) -> bool:
        """Whether no exact pattern was found in some kind of unit."""
        return any(part.cases for part in self.parts)

    @property
    def is_short(self) -> bool:
        """Whether it is exact, and has few places for each kind of unit, told by few literals."""
        places = Counter(part.kind for part in self.parts)
        literals = max(len(part.literals) for part in self.parts)
        return not self.vague and max(places.values()) <= _PLACES and literals <= _LITERALS

    @property
    def length(self) -> tuple[int, int]:
        """How much there is to understand: kinds without pattern, and literals with effects."""
        return (
            sum(bool(part.cases) for part in self.parts),
            sum(len(part.literals) + 1 for part in self.parts),
        )

    def _sentence(self, kind: str) -> str:
        subject = {"answer": "", "count": "numbers of words "}.get(kind, f"{kind}s ")
        units = subject.strip() or "cases"
        places: list[str] = []
        some: list[str] = []
        for part in (part for part in self.parts if part.kind == kind):
            texts = [literal.text for literal in part.literals]
            where = " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))
            effect = f": {part.effect}" if part.effect else ""
            if part.cases:
                named = ", ".join(part.cases[:3]) + ", ..." * (len(part.cases) > 3)
                of = f"{part.failing} of {part.units} {units}{where and f' where {where}'}"
                pattern = "" if part.is_mostly_wrong else ", and no pattern was found"
                some.append(f"in {of}{pattern} ({named}){effect}")
                continue
            if not where:
                return f"{subject}wrong in all {part.failing} {units}{effect}"
            counts = f"{part.failing} of {self.failing[kind]}"
            counts += "" if part.names_input else guess(part.seen, "case", part.conditions)
            places.append(f"{where} ({counts}){effect}")
        if some:
            return f"{subject}wrong {'; and '.join(some)}"
        return f"{subject}wrong exactly where {'; or where '.join(places)}"

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        parts = []
        for part in self.parts:
            record = {field.name: getattr(part, field.name) for field in fields(part)}
            record["literals"] = [literal.as_json() for literal in part.literals]
            record["cases"] = list(part.cases)
            parts.append({name: record[name] for name in record if name != "cases" or part.cases})
        counts = {"failing": self.failing, "compared": self.compared}
        return {"text": self.text, **counts, "parts": parts}


def describe_failures(
    outcomes: Sequence[Outcome], policy: Policy, *, right: bool = True
) -> Description | None:
    """A description of where the answers are wrong; None if nothing failed but with errors.

    Cases that raised an error are no part of it, nor are the elements of blocks whose scale is
    wrong.

    Args:
        outcomes: those of one operation and format, over float types.
        policy: the policy that they were compared with.
        right: whether what they were compared with is right; else nothing is said of it.
    """
    if not any(outcome.failures for outcome in outcomes):
        return None
    parts: list[Part] = []
    found = [units for units in units_of(outcomes, policy) if units.failed.any()]
    for units in found:
        for name in () if right else [one for one in units.table if one.startswith("wanted")]:
            del units.table[name]
        rules = cover(units.table, units.failed, units.got - units.want)
        is_exact = rules is not None
        if rules is None:
            rules = nearly(units.table, units.failed) or [common(units.table, units.failed)]
        for rule in sorted(rules, key=lambda rule: -int(rule.holds.sum())):
            wrong = rule.holds & units.failed
            names = () if is_exact else tuple(map(units.name, np.flatnonzero(wrong).tolist()))
            effect = next((text for text, true in _effects(units, wrong) if true.all()), "")
            counts = int(wrong.sum()), int(rule.holds.sum())
            seen = len({*units.ids[wrong].tolist()})
            parts.append(Part(units.kind, rule.literals, *counts, effect, names, seen))
    failing = {units.kind: int(units.failed.sum()) for units in found}
    compared = {units.kind: len(units.failed) for units in found}
    return Description(tuple(parts), failing, compared) if parts else None


def _effects(units: Units, some: Bool) -> Iterator[tuple[str, Bool]]:
    """Effects, the most telling first, and which of some wrong units show each."""
    want, got, fmt = units.want[some], units.got[some], units.codes
    if units.kind == "count":
        yield "too few words", got < want
        yield "too many words", got > want
    elif units.integer is not None:
        wanted, given = (_integers(words, units.integer) for words in (want, got))
        more = given - wanted
        yield "the sign is wrong", (given == -wanted) & (given != 0)
        for value in _common(more[np.abs(more) < 10]):
            yield f"{abs(value)} too {'small' if value < 0 else 'large'}", more == value
        for value in _common(given):
            yield f"becomes {value}", given == value
        return
    elif units.kind != "word" and (fmt is None or (got < fmt.code_count).all()):
        yield from _by_logarithm(units, some)
        yield from _of_numbers(units, *(_numbers(units, some, side) for side in (want, got)))

    def show(value: int) -> str:
        return show_code(value, fmt) if fmt else f"{value:02x}"

    meant = f", not {show(int(want[0]))}" if len(want) > 1 and (want == want[0]).all() else ""
    for value in _common(got):
        yield f"becomes {show(value)}{meant}", got == value
    for value in _common(want ^ got):
        if value.bit_count() == 1:
            yield f"bit {value.bit_length() - 1} is wrong", want ^ got == value
    several = distinct(got).tolist()
    if fmt is not None and len(several) <= _SEVERAL:
        yield f"becomes {' or '.join(map(show, several))}{meant}", np.ones(len(got), bool)


def _integers(words: U64, dtype: np.dtype[Any]) -> I64:
    """The integers of words in two's complement of their own width."""
    return words.astype(f"u{dtype.itemsize}").view(dtype).astype(np.int64)


def _numbers(units: Units, some: Bool, words: U64) -> Table:
    """Features of some units' words as numbers, and their codes or patterns without sign."""
    if units.codes:
        found = number_table(parts_at(units.codes, words.astype(np.int64)))
        return found | {"place": magnitudes_of(units.codes, words.astype(np.int64))}
    found = {}
    for number, layout in enumerate(LAYOUTS.values()):
        own = units.table["float type"][some] == number
        table = number_table(split(words[own], layout))
        table["place"] = (words[own] & np.uint64(layout.sign_bit - 1)).view(np.int64)
        for name, column in table.items():
            found.setdefault(name, np.zeros(len(words), np.int64))[own] = column
    return found


def _of_numbers(units: Units, want: Table, got: Table) -> Iterator[tuple[str, Bool]]:
    """Effects on numbers; a zero is as near to numbers of both signs."""
    unit, inputs = "code" if units.codes else "float", np.array([want["input"], got["input"]])
    number, sign = (inputs < 4).all(axis=0), got["sign"] - want["sign"]
    more, zero = got["place"] - want["place"], (inputs == 0).any(axis=0)
    yield "becomes NaN", inputs[1] == 4
    yield "becomes infinite", inputs[1] == 3
    if 0 < got["sign"].sum() < got["sign"].size:
        yield "becomes a zero of its sign", (inputs[1] == 0) & (sign == 0)
    yield "becomes 0", inputs[1] == 0
    yield "the sign is lost", number & (more == 0) & (sign < 0)
    yield "the sign is wrong", number & (more == 0) & (sign != 0)
    number &= zero | (sign == 0)
    if units.codes is None:
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


def _by_logarithm(units: Units, some: Bool) -> Iterator[tuple[str, Bool]]:
    """Scales one too large whose numbers have a logarithm that a float type rounds up to it."""
    name = "amax" if units.kind == "scale" else "magnitude"
    if units.codes is not E8M0 or name not in units.table:
        return
    got, numbers = units.got[some], ~np.isin(units.got[some], E8M0.nan_codes)
    is_next = numbers & (got == units.want[some] + 1)
    exponent, fraction = np.divmod(units.table[name][some], 1 << 52)
    log = exponent + np.log2(1 + fraction / 2.0**52)
    what = "amax" if units.kind == "scale" else "|x|"
    for dtype in (np.float32, np.float16):  # to bfloat16 too many logarithms are rounded up
        with np.errstate(all="ignore"):
            rounded = is_next & (log.astype(dtype).astype(np.float64) == exponent + 1)
        yield f"one code too large, as if log2 {what} were rounded to {dtype.__name__}", rounded


def _common(values: NDArray[np.generic]) -> list[int]:
    """The most frequent values."""
    found, counts = np.unique(values, return_counts=True)
    return [int(value) for value in found[np.argsort(-counts, kind="stable")][:3]]
