"""By what elements are divided, how they are rounded, and where their codes stand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mxref.bits.floats import I64
from mxref.conformance.verdict.cause.evidence import Words
from mxref.conformance.verdict.cause.orders import lane_order
from mxref.conformance.verdict.stages import candidates
from mxref.conformance.verdict.stages.mixtures import CELLS, Tried, Way, mixture
from mxref.conformance.verdict.stages.sides import Count, Side, Sides
from mxref.conformance.verdict.stages.steps import (
    ELEMENTS,
    BlockSteps,
    Codes,
    Divisor,
    Elements,
    Places,
)
from mxref.operands.shown import show_code

__all__ = ["bad_codes", "fit_codes", "fit_elements", "fit_places"]

#: Steps of one stage that are tried together with those of another.
_FEW = 8
#: A step that is not right everywhere is kept if it leaves so many times fewer wrong.
_FEWER = 4


def _wrong_cells(sides: Sides, way: Way) -> I64:
    """Ordinary elements that a way does not give, by cell and lane.

    They are judged under the scales that the target stored.
    """
    lanes = sides.lanes
    found = np.zeros((CELLS, lanes), np.int64)
    for side in sides.every:
        try:
            codes = way.of(side.questions, side.scale, sides.policy)
        except Exception:  # known bugs are made for some float types, and may fail on others
            return found + (1 << 40)
        if codes.shape != side.codes.shape:
            return found + (1 << 40)
        cells = side.cells(sides.policy)
        fmt = sides.fmt.element
        signs = np.uint64(fmt.sign_bit)
        wrong = side.finite & (codes != side.codes)
        sign = wrong & ((codes ^ side.codes) & signs != 0)
        other = wrong & ((codes ^ side.codes) & ~signs != 0)
        for which, first in ((other, 0), (sign, 3)):
            rows, columns = np.nonzero(which)
            np.add.at(found, (cells[rows, columns] + first, columns), 1)
    return found


def fit_elements(sides: Sides) -> tuple[Divisor, Elements]:
    """By what elements are divided, and how they are rounded."""
    own, right = Divisor(), Elements()
    tried = [Tried(Way(own, right), _wrong_cells(sides, Way(own, right)))]
    if not tried[0].total:
        return own, right
    others, rounded = [*candidates.divisors()], [*candidates.elements(sides.policy)]
    known = candidates.known_elements(sides.fmt.name)
    ways = itertools.chain(
        (Way(own, one) for one in rounded),
        (Way(one, right) for one in others),
        (Way(own, one) for one in known),
    )
    for way in ways:
        tried.append(Tried(way, _wrong_cells(sides, way)))
        if not tried[-1].total:
            return way.divisor, way.elements
    nearest = min((t for t in tried if t.way.divisor is not own), key=_total)
    if nearest.total < tried[0].total:
        for one in (*rounded, *known):
            way = Way(nearest.way.divisor, one)
            tried.append(Tried(way, _wrong_cells(sides, way)))
            if not tried[-1].total:
                return way.divisor, way.elements
    alone = [one for one in tried[1:] if one.way.divisor is own]
    helping = sorted(alone, key=_helps(tried[0]))[:_FEW] + sorted(alone, key=_total)[:_FEW]
    single = len(tried)
    for step, other in itertools.product(alone, {one.way.name: one for one in helping}.values()):
        both = candidates.first(step.way.elements, other.way.elements)
        if both is not None:
            tried.append(Tried(Way(own, both), _wrong_cells(sides, Way(own, both))))
            if not tried[-1].total:
                return own, both
    if (mixed := mixture(tried)) is not None:
        return own, mixed
    best = min(tried[:single], key=_total)
    is_near = _FEWER * best.total <= tried[0].total
    return (best.way.divisor, best.way.elements) if is_near else (own, right)


def bad_codes(sides: Sides, divisor: Divisor, elements: Elements) -> int:
    """Ordinary elements that have other codes than these steps give under the stored scales."""
    found = 0
    for side in sides.every:
        codes = Way(divisor, elements).of(side.questions, side.scale, sides.policy)
        found += int((side.finite & (codes != side.codes)).sum())
    return found


def fit_places(sides: Sides, steps: BlockSteps) -> tuple[BlockSteps, Count]:
    """In which lanes codes stand that are right in others, most of them."""
    lanes = sides.lanes
    same, count = np.zeros((lanes, lanes), np.int64), 0
    for side in sides.every:
        some = side.finite.all(axis=1)
        right = Elements().of(side.questions, side.scale, sides.policy)[some]
        count += len(right)
        for lane in range(lanes):
            same[lane] += (right == side.codes[some][:, lane : lane + 1]).sum(axis=0)
    own = np.arange(lanes)
    sources = np.where(same.diagonal() >= same.max(axis=1), own, same.argmax(axis=1))
    moved = sources != own
    if not count or not moved.any() or (same.max(axis=1) * 10 < 6 * count).any():
        return steps, (0, 0, lanes)
    if (10 * same.diagonal()[moved] > 9 * same.max(axis=1)[moved]).any():
        return steps, (0, 0, lanes)
    order = lane_order(sources, "codes")
    if len({*sources.tolist()}) < lanes:
        return steps, (0, 0, lanes)
    for side in sides.every:
        side.move(sources)
    places = Places(order.name, order.text, tuple(sources.tolist()))
    return replace(steps, places=places), (int(moved.sum()), 0, lanes)


def fit_codes(sides: Sides, steps: BlockSteps) -> tuple[BlockSteps, Count]:
    """The codes of special elements that are not as the steps give them, one for a class."""
    found: list[Codes] = []
    wrong = left = total = 0
    fmt, plain = sides.fmt.element, replace(steps, places=Places())

    def under(side: Side) -> Words:
        return plain.under(side.questions, side.scale, sides.policy)

    for number, name in enumerate(ELEMENTS):
        got: list[Words] = []
        want: list[Words] = []
        for side in sides.every:
            some = side.classes[number] & side.whole[:, np.newaxis]
            got.append(side.codes[some])
            want.append(under(side)[some])
        given, right = np.concatenate(got), np.concatenate(want)
        nans = [np.isin(words, [*fmt.nan_codes]) for words in (given, right)]
        bad = (given != right) & ~(nans[0] & nans[1])
        total += len(given)
        if bad.any():
            wrong += int(bad.sum())
            code = int(given[bad][0])
            if (given == code).all():
                shown = show_code(code, fmt) if code < fmt.code_count else f"{code:02x}"
                not_it = show_code(int(right[bad][0]), fmt)
                text = f"an element that is {name} becomes {shown}, not {not_it}"
                found.append(Codes(f"{name}_{code:02x}", text, number, code))
            else:
                left += int(bad.sum())
    return replace(steps, codes=tuple(found)), (wrong, left, total)


def _helps(right: Tried) -> Callable[[Tried], int]:
    """How many of the cells that the right way does not give a way gives: the most first."""
    return lambda one: -int(right.wrong[one.wrong == 0].sum())


def _total(tried: Tried) -> int:
    return tried.total
