"""How a number becomes a code: what it is cast to, how it is rounded, and special numbers.

Special numbers are judged apart. The cells of other numbers are their class of RESULTS and their
sign; a target may do otherwise in each.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from mxref.bits.floats import F64, I64, Bool, compose, split
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words
from mxref.conformance.verdict.cause.suspects import Suspect, of_stage, unless_it_fails
from mxref.conformance.verdict.stages.candidates import CASTS, Cast
from mxref.conformance.verdict.stages.chain import SPECIAL, Chain, Link, wrong_words
from mxref.conformance.verdict.stages.classes import ways
from mxref.conformance.verdict.stages.mixtures import results_in_words, results_of
from mxref.conformance.verdict.stages.sides import FEWER
from mxref.conformance.verdict.stages.steps import ELEMENTS, RESULTS, element_classes
from mxref.operands.shown import show_code
from mxref.policy.policy import Policy
from mxref.targets.calls import code_format

#: Finite numbers that are not zero: positive ones by their class, then negative ones.
_FINITE = 2 * len(RESULTS)
_CELLS = _FINITE + len(ELEMENTS)
#: The most ways of one kernel beside the right one.
_WAYS = 3
#: Ways that are tried after casts: so many that help most, and so many that are nearest.
_HELPING = 8
_CLAUSES = {SPECIAL: "N13, N14, N25"}


@dataclass(frozen=True, slots=True)
class _Way:
    """What numbers are cast to, how they are rounded then, and how many it does not give."""

    cast: Cast | None
    then: Suspect
    wrong: I64 = field(default_factory=lambda: np.zeros(_CELLS, np.int64))

    @property
    def names(self) -> set[str]:
        """Its faults."""
        return {one.name for one in (self.cast, self.then) if one is not None and one.text}

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """The codes."""
        return self.then.answer(_cast(questions, self.cast), policy)

    def judged(
        self, whole: Sequence[Evidence], cells: Sequence[I64], policy: Policy, most: I64 | None
    ) -> _Way:
        """The same with the answers counted that it does not give, by cell.

        One that is nowhere better than what leaves `most` need not be counted to the end.
        """
        wrong = np.zeros(_CELLS, np.int64)
        for one, cell in zip(whole, cells, strict=True):
            if most is not None and wrong.sum() > most.sum() and wrong[most > 0].all():
                return replace(self, wrong=wrong + (1 << 40))
            found = unless_it_fails(partial(self.answer, one.questions, policy), None)
            if found is None or found.shape != one.answers.shape:
                return replace(self, wrong=wrong + (1 << 40))
            wrong += np.bincount(cell[one.differ(found)[:, 0]], minlength=_CELLS)
        return replace(self, wrong=wrong)


def _cast(questions: Questions, cast: Cast | None) -> Questions:
    """The questions with their numbers changed, in their own float type if it holds these."""
    if cast is None:
        return questions

    def made() -> Questions:
        file, words, layout = questions.file, questions.inputs.copy(), questions.layout
        wide, own = (cast.of(words[:, 0], layout, to) for to in (F64, layout))
        fits = np.array_equal(compose(split(own, layout), F64), wide)
        words[:, 0] = own if fits else wide
        return Questions(file if fits else replace(file, float="f64", cases=()), words)

    return questions.once(f"cast {cast.name}", Policy(), made)


def _cells(questions: Questions, policy: Policy) -> I64:
    """The cell of each number."""

    def made() -> I64:
        file = replace(questions.file, op="encode", cases=())
        cut = policy.replace(rounding="toward_zero", overflow="saturate")
        codes = Questions(file, questions.inputs[:, :1]).answers(cut)[:, 0]
        cells = results_of(codes, code_format(file))
        negative = questions.inputs[:, 0] >= np.uint64(questions.layout.sign_bit)
        cells = cells + len(RESULTS) * negative
        for number, some in enumerate(element_classes(questions)):
            cells = np.where(some[:, 0], _FINITE + number, cells)
        return cells

    return questions.once("cells", policy, made)


def _made(questions: Questions, policy: Policy, links: tuple[Link, ...]) -> Words:
    """The codes of numbers where some stages deviate: `what` is cells and a part of a way."""
    cells, found = _cells(questions, policy), questions.answers(policy).copy()
    special = cells.copy()
    told: dict[str, dict[int, Any]] = {"value": {}, "rounding": {}, SPECIAL: {}}
    for link in links:
        some, what = link.what
        told[link.stage] |= dict.fromkeys(some, what)
    casts, thens, codes = told.values()
    right = of_stage("", "right", "", Questions.answers)
    for cell in {*casts, *thens}:
        rows = cells == cell
        if rows.any():
            way = _Way(casts.get(cell), thens.get(cell, right))
            found[rows] = way.answer(questions, policy)[rows]
            special[rows] = _cells(_cast(questions, way.cast), policy)[rows]
    for cell, code in codes.items():
        found[special == cell] = code
    return found


def fit_numbers(whole: Sequence[Evidence], policy: Policy) -> Chain | None:
    """What a target's stages do with numbers.

    Args:
        whole: its answers to one operation and format, by float type.
        policy: what is right.
    """
    cells = [_cells(one.questions, policy) for one in whole]
    tried = _tried(whole, cells, policy)
    regions = [*_regions(tried)]
    links = [*_links(regions)]
    chain = Chain(tuple(links), _made, "numbers", _CLAUSES)
    links += _special(whole, chain, policy)
    return replace(chain, wrong=tuple(links))


def _tried(whole: Sequence[Evidence], cells: Sequence[I64], policy: Policy) -> list[_Way]:
    """The right way, others, and others after a cast that help most."""
    thens = [*ways(whole[0].questions.file.op, whole, policy)]
    tried = [_Way(None, thens[0]).judged(whole, cells, policy, None)]
    most = tried[0].wrong * (np.arange(_CELLS) < _FINITE)

    def judged(some: Iterable[_Way]) -> list[_Way]:
        return [one.judged(whole, cells, policy, most) for one in some]

    tried += judged(_Way(None, then) for then in thens[1:])
    tried += judged(_Way(cast, thens[0]) for cast in CASTS)
    needed = most[:_FINITE]
    if any(not one.wrong[:_FINITE].any() for one in tried):
        return tried
    helped = sorted(tried, key=lambda one: -int(needed[one.wrong[:_FINITE] == 0].sum()))[:_HELPING]
    nearest = sorted(tried, key=lambda one: int(one.wrong[:_FINITE].sum()))[:_HELPING]
    some = {one.then.name: one.then for one in (*helped, *nearest) if one.then.text}.values()
    return tried + judged(itertools.starmap(_Way, itertools.product(CASTS, some)))


def _regions(tried: Sequence[_Way]) -> Iterable[tuple[_Way, Bool]]:
    """A few ways with the cells in which each is followed."""
    wrong, used = tried[0].wrong, dict[int, Bool]()
    open_ = wrong > 0
    left = open_ & (np.arange(_CELLS) < _FINITE)

    def rank(i: int) -> tuple[int, int, int]:
        gives, known = tried[i].wrong == 0, {name for k in used for name in tried[k].names}
        new = len(tried[i].names - known)
        return int((gives & left).sum()), -new, int((gives & open_).sum())

    while left.any() and len(used) < _WAYS:
        best = max(range(1, len(tried)), key=rank)
        if not rank(best)[0]:
            break
        used[best] = tried[best].wrong == 0
        left &= ~used[best]
    if left.any():
        # What is followed elsewhere, or what is nearest, may be a part of what is left.
        def beside(i: int) -> int:
            return int(tried[i].wrong[left].sum())

        def rated(i: int) -> int:  # a second fault is worth it if it explains far more
            return beside(i) * int(FEWER ** len(tried[i].names))

        near = min([*used] or range(1, len(tried)), key=rated)
        if beside(near) < beside(0) and (used or FEWER * beside(near) <= beside(0)):
            used[near] = used.get(near, tried[near].wrong == 0) | left
    taken = np.zeros(_CELLS, bool)
    for i, gives in used.items():
        whole = gives[:_FINITE].all() and len(used) == 1
        yield tried[i], gives & ~taken & (whole | _around(open_))
        taken |= gives


def _around(cells: Bool) -> Bool:
    """All cells of a sign if they are of one sign, or else those of the same classes."""
    found = cells.copy()
    sides = found[:_FINITE].reshape(2, -1)
    one_sign = sides.any(axis=1).sum() == 1
    sides |= sides.any(axis=1, keepdims=True) if one_sign else sides.any(axis=0)
    return found


def _links(regions: Sequence[tuple[_Way, Bool]]) -> Iterable[Link]:
    """A link for each cast, and for each way to round."""
    for stage, begin in (("value", "numbers are "), ("rounding", "")):
        found: dict[str, tuple[Cast | Suspect, Bool]] = {}
        for way, cells in regions:
            what = way.cast if stage == "value" else way.then
            if what is not None and what.text:
                found[what.name] = what, cells | found.get(what.name, (what, False))[1]
        for what, cells in found.values():
            where, text = _where(cells), f"{begin}{what.text}"
            text = f"where {where}, {text}" if where else text
            yield Link(stage, what.name, text, (np.flatnonzero(cells).tolist(), what))


def _where(cells: Bool) -> str:
    """Cells of finite numbers in words; empty if they are all."""
    sides = cells[:_FINITE].reshape(2, -1)
    sizes = ["" if some.all() else f"|x| is {results_in_words(some)}" for some in sides]
    if (sides[0] == sides[1]).all():
        return sizes[0]
    names = zip(("positive", "negative"), sides, sizes, strict=True)
    told = (
        f"x is {name}" + f" and {size}" * bool(size) for name, some, size in names if some.any()
    )
    return ", or ".join(told)


def _special(whole: Sequence[Evidence], chain: Chain, policy: Policy) -> list[Link]:
    """The code of each class of special numbers that is not as the other stages give it."""
    fmt = code_format(whole[0].questions.file)
    cells = np.concatenate([_cells(one.questions, policy) for one in whole])
    given = np.concatenate([one.answers[:, 0] for one in whole])
    right = np.concatenate([one.questions.answers(policy)[:, 0] for one in whole])
    wrong = wrong_words(chain, whole, policy)
    found: dict[int, list[int]] = {}
    for cell in range(_FINITE, _CELLS):
        codes = {*given[cells == cell].tolist()}
        if len(codes) == 1 and wrong[cells == cell].any():
            found.setdefault(codes.pop(), []).append(cell)
    links = []
    for code, some in found.items():
        names = [ELEMENTS[cell - _FINITE] for cell in some]
        meant = {*right[np.isin(cells, some)].tolist()}
        text = f"{' and '.join(names)} become{'s' * (len(names) == 1)} {show_code(code, fmt)}"
        text += f", not {show_code(meant.pop(), fmt)}" if len(meant) == 1 else ""
        name = f"{'_'.join(names)}_{code:02x}"
        links.append(Link(SPECIAL, name, text, (some, code)))
    return links
