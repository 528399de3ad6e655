"""Several ways to round elements, each in some lanes and some classes of numbers.

The cells of an element are its class of RESULTS, for its magnitude and for its sign, and its lane.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import I64, Bool
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.describe.tables import magnitudes
from mxref.conformance.verdict.stages.steps import RESULTS, Divisor, Elements
from mxref.conformance.verdict.stages.views import pattern_of
from mxref.formats.catalog import CodeFormat
from mxref.policy.policy import Policy

#: Classes of RESULTS of magnitudes, then of signs.
CELLS = 2 * len(RESULTS)
#: The most ways of one kernel, the right one included.
_WAYS = 4


@dataclass(frozen=True, slots=True)
class Way:
    """By what elements are divided, and how they are rounded then."""

    divisor: Divisor
    elements: Elements

    def of(self, questions: Questions, stored: I64, policy: Policy) -> Words:
        """The codes of blocks whose scales are stored, a row each."""
        return self.elements.of(questions, self.divisor.codes(questions, stored, policy), policy)

    @property
    def name(self) -> str:
        """A short name."""
        return "+".join(one.name for one in (self.divisor, self.elements) if one.name != "right")

    @property
    def text(self) -> str:
        """What it does, in words; empty if it is right."""
        return "; ".join(one.text for one in (self.divisor, self.elements) if one.text)


@dataclass(frozen=True, slots=True)
class Tried:
    """A way, and how many elements it does not give, by cell and lane."""

    way: Way
    wrong: I64

    @property
    def total(self) -> int:
        """How many it does not give; one whose sign is wrong, too, counts twice."""
        return int(self.wrong.sum())


@dataclass(frozen=True, slots=True)
class _Region:
    """A way, and the cells and lanes in which it is followed."""

    way: Way
    cells: Bool
    lanes: Bool

    @property
    def text(self) -> str:
        """The way in words, with where it is followed."""
        count = len(RESULTS)
        where = [] if self.lanes.all() else [f"in {pattern_of(self.lanes)}"]
        signs = not self.cells[:count].any()
        of = self.cells[count:] if signs else self.cells[:count]
        if not of.all():
            where.append(f"where |x| / scale is {results_in_words(of)}")
        return (
            f"{' and '.join(where)}{', ' * bool(where)}{'as to the sign, ' * signs}{self.way.text}"
        )


def classes_of(questions: Questions, divisors: I64, policy: Policy) -> I64:
    """The class of RESULTS of each element under scales."""
    fmt = questions.fmt.element
    cut = policy.replace(rounding="toward_zero", overflow="saturate")
    return results_of(Elements().of(questions, divisors, cut), fmt)


def results_of(codes: Words, fmt: CodeFormat) -> I64:
    """The class of RESULTS of each number that is cut to a code."""
    found = magnitudes(fmt)[np.minimum(codes, np.uint64(fmt.code_count - 1))]
    return np.select((found >= fmt.max_code, found < 1 << fmt.mantissa_bits), (2, 0), 1)


def results_in_words(some: Bool) -> str:
    """Classes of RESULTS in words.

    >>> results_in_words(np.array([True, False, True]))
    'below the smallest normal number or at least the largest number'
    """
    return " or ".join(itertools.compress(RESULTS, some))


def mixture(tried: Sequence[Tried]) -> Elements | None:
    """Elements of a few ways that together give all; None if none do.

    Args:
        tried: the right way first.
    """
    needed = tried[0].wrong > 0
    regions: list[_Region] = []
    while needed.any():
        best: tuple[tuple[int, bool, int], _Region] | None = None
        used = {region.way.name for region in regions}
        for one in tried[1:]:
            region = _region(one, needed)
            if region is not None:
                covered = int((needed & np.outer(region.cells, region.lanes)).sum())
                # Of equal ways one that is followed elsewhere, or that has fewer faults.
                rank = covered, one.way.name in used, -one.way.name.count("+")
                if best is None or rank > best[0]:
                    best = rank, region
        if best is None or not best[0][0] or len(regions) + 1 == _WAYS:
            return None
        regions.append(best[1])
        needed = needed & ~np.outer(best[1].cells, best[1].lanes)
    return _of_regions(regions)


def _region(one: Tried, needed: Bool) -> _Region | None:
    """Where a way gives what is needed: cells, in all lanes or in some that have a pattern."""
    gives = one.wrong == 0
    useful = needed & gives
    if not useful.any():
        return None
    cells = useful.any(axis=1)
    whole = gives.all(axis=1) & cells
    if whole.any():
        lanes = np.ones(gives.shape[1], bool)
        return _Region(one.way, _widened(whole, gives), lanes)
    lanes = useful.any(axis=0) & gives[cells].all(axis=0)
    if not lanes.any() or not pattern_of(lanes):
        return None
    return _Region(one.way, _widened(cells, gives[:, lanes]), lanes)


def _widened(cells: Bool, gives: Bool) -> Bool:
    """Some cells, or all of magnitudes or of signs if the way gives all of these."""
    found = cells.copy()
    for some in (slice(None, len(RESULTS)), slice(len(RESULTS), None)):
        found[some] |= cells[some].any() & gives[some].all()
    return found


def _of_regions(regions: Sequence[_Region]) -> Elements:
    def codes(questions: Questions, divisors: I64, policy: Policy) -> Words:
        cells = classes_of(questions, divisors, policy)
        found = Elements().of(questions, divisors, policy).copy()
        sign = np.uint64(questions.fmt.element.sign_bit)
        for region in regions:
            given = region.way.of(questions, divisors, policy)
            for first, mask in ((0, ~sign), (len(RESULTS), sign)):
                some = region.cells[cells + first] & region.lanes
                found = np.where(some, found & ~mask | given & mask, found)
        return found

    name = "_and_".join(region.way.name for region in regions)
    mixes = any(region.way.divisor.mixes for region in regions)
    return Elements(name, "; ".join(region.text for region in regions), codes, mixes=mixes)
