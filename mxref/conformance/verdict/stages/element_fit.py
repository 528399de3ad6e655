"""By what elements are divided, how they are rounded, and where their codes stand."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from mxref.bits.floats import I64
from mxref.conformance.verdict.cause.orders import lane_order, matches
from mxref.conformance.verdict.cause.parts import nan_scale
from mxref.conformance.verdict.cause.suspects import unless_it_fails
from mxref.conformance.verdict.stages import candidates
from mxref.conformance.verdict.stages.mixtures import CELLS, Tried, Way, mixture
from mxref.conformance.verdict.stages.sides import FEW, FEWER, Count, Sides
from mxref.conformance.verdict.stages.steps import (
    ELEMENTS,
    RESULTS,
    BlockSteps,
    Codes,
    Divisor,
    Elements,
    Places,
)
from mxref.operands.shown import show_code


def _wrong_cells(sides: Sides, way: Way) -> I64:
    """Ordinary elements that a way does not give, by cell and lane.

    They are judged under the scales that the target stored.
    """
    lanes = sides.lanes
    found = np.zeros((CELLS, lanes), np.int64)
    for side in sides.every:
        codes = unless_it_fails(partial(way.of, side.divided, side.scale, sides.policy), None)
        if codes is None:
            return found + (1 << 40)
        away, some = codes ^ side.codes, side.finite
        if way.divisor.mixes:  # under the scale of a NaN block nothing is known
            divisors = way.divisor.codes(side.questions, side.scale, sides.policy)
            some = some & (divisors != nan_scale(sides.fmt))[:, np.newaxis]
        cells, signs = side.cells(sides.policy), np.uint64(sides.fmt.element.sign_bit)
        for mask, first in ((~signs, 0), (signs, len(RESULTS))):
            rows, columns = np.nonzero(some & (away & mask != 0))
            places = (cells[rows, columns] + first) * lanes + columns
            found += np.bincount(places, minlength=found.size).reshape(found.shape)
    return found


def fit_elements(sides: Sides) -> Way:
    """By what elements are divided, and how they are rounded."""
    own, right, total = Divisor(), Elements(), operator.attrgetter("total")
    tried: list[Tried] = []

    def giving_all(ways: Iterable[Way]) -> Way | None:
        for way in ways:
            tried.append(Tried(way, _wrong_cells(sides, way)))
            if not tried[-1].total:
                return way
        return None

    rounded, known = (
        candidates.elements(sides.policy, sides.fmt.element.bits),
        candidates.known_elements(sides.fmt.name),
    )
    every = [*rounded, *known]
    others = (Way(one, right) for one in candidates.DIVISORS)
    alone = [Way(own, one) for one in every]
    some = len(alone) - len(known)
    ways: Iterable[Way] = itertools.chain([Way(own, right)], alone[:some], others, alone[some:])
    if found := giving_all(ways):
        return found
    before = tried[0].total
    nearest = min((one for one in tried if one.way.divisor is not own), key=total)
    ways = (Way(nearest.way.divisor, one) for one in every if nearest.total < before)
    if found := giving_all(ways):
        return found
    single = [*tried]
    under = [one for one in tried[1:] if one.way.divisor is own]

    def helped(one: Tried) -> int:
        return -int(tried[0].wrong[one.wrong == 0].sum())

    helping = sorted(under, key=helped)[:FEW] + sorted(under, key=total)[:FEW]
    then = {one.way.name: one.way.elements for one in helping}.values()
    both = itertools.starmap(candidates.first, itertools.product(every, then))
    if found := giving_all(Way(own, one) for one in both if one is not None):
        return found
    of_others = [one.way.divisor for one in single if one.way.divisor.mixes]
    giving_all(itertools.starmap(Way, itertools.product(of_others, then)))
    if (mixed := mixture(tried)) is not None:
        return Way(own, mixed)
    best = min(single, key=total)
    if FEWER * best.total > before:
        return Way(own, right)
    parts = best.way.divisor.name, best.way.elements.name
    halves = (one for one in single[1:] if one.way.name in parts)
    # A second fault is worth it if it explains far more.
    return min(
        (one for one in halves if one.total <= FEWER * best.total), key=total, default=best
    ).way


def wrong_elements(sides: Sides, way: Way) -> int:
    """How many ordinary elements a way does not give."""
    return int(_wrong_cells(sides, way).sum())


def bad_codes(sides: Sides, way: Way) -> int:
    """Ordinary elements that have other codes than a way gives under the stored scales."""
    return sides.count(
        lambda side: side.finite & (way.of(side.divided, side.scale, sides.policy) != side.codes)
    )


def fit_places(sides: Sides, steps: BlockSteps) -> tuple[BlockSteps, Count]:
    """In which lanes codes stand that are right in others, most of them."""
    lanes = sides.lanes
    same, count = np.zeros((lanes, lanes), np.int64), 0
    for side in sides.every:
        some = side.finite.all(axis=1)
        right = Elements().of(side.divided, side.scale, sides.policy)[some]
        count += len(right)
        same += matches(right, side.codes[some])
    most = same.max(axis=1)
    sources = np.where(same.diagonal() >= most, np.arange(lanes), same.argmax(axis=1))
    moved = sources != np.arange(lanes)
    clear = (most * 10 >= 6 * count) & (~moved | (10 * same.diagonal() <= 9 * most))
    if not count or not moved.any() or not clear.all() or len({*sources.tolist()}) < lanes:
        return steps, (0, 0, lanes)
    for side in sides.every:
        side.move(sources)
    order = lane_order(sources, "codes")
    places = Places(order.name, order.text, tuple(sources.tolist()))
    return replace(steps, places=places), (int(moved.sum()), 0, lanes)


def fit_codes(sides: Sides, steps: BlockSteps) -> tuple[BlockSteps, Count]:
    """The codes of special elements that are not as the steps give them, one for a class."""
    found: list[Codes] = []
    wrong = left = total = 0
    fmt, plain = sides.fmt.element, replace(steps, places=Places())
    under = [plain.under(one.evidence.questions, one.scale, sides.policy) for one in sides.every]
    codes, want = np.concatenate([one.codes for one in sides.every]), np.concatenate(under)
    for number, name in enumerate(ELEMENTS):
        some = np.concatenate(
            [one.classes[number] & one.whole[:, np.newaxis] for one in sides.every]
        )
        given, right = codes[some], want[some]
        nans = [np.isin(words, [*fmt.nan_codes]) for words in (given, right)]
        bad = (given != right) & ~(nans[0] & nans[1])
        total += len(given)
        wrong += int(bad.sum())
        if not bad.any():
            continue
        code = int(given[bad][0])
        if (given == code).all():
            not_it = show_code(int(right[bad][0]), fmt)
            text = f"an element that is {name} becomes {show_code(code, fmt)}, not {not_it}"
            found.append(Codes(f"{name}_{code:02x}", text, number, code))
        else:
            left += int(bad.sum())
    return replace(steps, codes=tuple(found)), (wrong, left, total)
