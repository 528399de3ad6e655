"""Calls about layouts, tensors and integers: in many sizes, repeated, and in other memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.memory import MEMORIES, Known, misused, often_switched
from mxref.conformance.checking.replies import Question, Reply, Subject, ask, fresh
from mxref.conformance.checking.rules import Rule, rule_of
from mxref.conformance.checking.sizes import least_wrong
from mxref.conformance.verdict.uses import Use
from mxref.operands.returned import AnswerError
from mxref.targets.calls import error_text, is_fault, quiet
from mxref.targets.target import PythonTarget

__all__ = ["SizeScope", "ask_sizes"]

Function = Callable[..., Any]

#: Sets of other random words that are asked for before a rule is believed, and their elements.
_MORE, _MOST = 2, 20_000
#: The largest share of calls that a rule covers, if the vectors fail as well.
_TELLS = 0.75
#: Wrong calls whose first wrong part is asked alone.
_ALONE = 8
#: From so many wrong calls on, each later than a right one of its size, it is state and no chance.
_LATER = 4
#: Draws of arrays with the same shapes: an axis is one of six.
_APART = 6
#: Elements of the calls that show what is kept, and of those by two threads, and their number.
_KEPT, _THREADED = (33, 300, 4000), (2000, 8)


@dataclass(frozen=True, slots=True)
class SizeScope:
    """What a target was asked in many sizes.

    Args:
        calls: number of calls.
        largest: the greatest number of elements in a call.
        notes: what was not asked or was refused, each with the reason.
    """

    calls: int = 0
    largest: int = 0
    notes: tuple[str, ...] = ()


def ask_sizes(
    target: PythonTarget, subjects: Sequence[Subject], elements: int
) -> tuple[list[Use], SizeScope]:
    """Operations in many sizes, each question twice, with all the others in between.

    Of a subject that fails at the vectors it is said only which sizes or what state decides, if
    one does: what else is wrong is seen in its vectors.

    Args:
        target: the implementation.
        subjects: the operations, formats and float types or layouts, each with what gives the
            target's answers to the vectors.
        elements: the largest number of elements in a call.

    Returns:
        What is wrong, one for an operation and format at most, and one for empty calls; and what
        was asked.
    """
    groups: dict[tuple[str, str], list[Question]] = {}
    fails: dict[tuple[str, str], bool] = {}
    empty: dict[tuple[str, str], Question | None] = {}
    formats: dict[str, str] = {}
    for one in subjects:
        if one.answerable:
            key = one.op, one.format
            is_first = formats.setdefault(one.op, one.format) == one.format
            asked = one.questions(elements, first_float=key not in groups, first_format=is_first)
            groups.setdefault(key, []).extend(asked)
            fails[key] = fails.get(key, False) or one.fails
            empty[key] = one.empty()
    plan = [(op, question) for (op, _), group in groups.items() for question in group]
    notes: dict[str, None] = {}
    uses = []
    with quiet():
        functions = {op: target.operations[op] for op, _ in groups}
        turns = [ask(functions[op], one) for op, one in plan]
        again = [ask(functions[op], one) for op, one in reversed(plan)]
        pairs = zip(turns, reversed(again), strict=True)
        for (op, format), group in groups.items():
            some = list(itertools.islice(pairs, len(group)))
            refused = [pair for pair in some if pair[0].question.memory and pair[0].error]
            raises = any(one.error and not one.question.memory for one, _ in some)
            for answer, _ in () if raises else refused:
                notes[f"{op} {format} refuses {MEMORIES[answer.question.memory]}"] = None
            kept = [pair for pair in some if pair not in refused]
            bad = fails[op, format]
            found = _judged(functions[op], kept, fails=bad)
            if found is None and not bad:
                found = _state(functions[op], group)
            if found is None and not bad and target.threads:
                found = _threads(functions[op], group)
            if found is not None:
                uses.append(Use(op, format, *found))
        refusals: dict[str, str] = {}
        for (op, format), question in empty.items():
            wrong, refusal = _empty(functions[op], question)
            uses += [Use(op, format, "empty", wrong)] if wrong else []
            if refusal:
                refusals.setdefault(op, refusal)
    if refusals:
        notes[f"{', '.join(refusals)} refuses empty input: {next(iter(refusals.values()))}"] = None
    largest = max((one.elements for _, one in plan), default=0)
    return uses, SizeScope(2 * len(plan), largest, tuple(notes))


def _judged(
    function: Function, pairs: Sequence[tuple[Reply, Reply]], *, fails: bool
) -> tuple[str, str] | None:
    """The kind and the text of what is wrong with answers to the same questions, asked twice."""
    for one, other in pairs:
        if not one.same(other):
            text = f"not reproducible: the same {one.question.name} gave two answers"
            rule = _rule(
                [(a.question, a.wrong or b.wrong) for a, b in pairs if not a.question.memory]
            )
            where = "" if rule is None else f", only in calls with {rule.text}"
            return "state", f"{text}{where}: {(one if one.wrong else other).text}"
    calls = [one for one, _ in pairs if not one.question.memory]
    if not any(one.wrong for one in calls):
        return _memory([one for one, _ in pairs])
    if _only_later(calls):
        text = "right in the first call of each size, wrong in later ones"
        return "state", f"not reproducible: {text}: {next(o for o in calls if o.wrong).text}"
    calls += list(_more(function, calls))
    bad = [one for one in calls if one.wrong]
    alone = _wrong_alone(function, bad)
    rule = _rule([(one.question, one.wrong) for one in calls], ("axis", "float") if alone else ())
    part = calls[0].question.part
    if fails and not _tells(rule, has_parts=bool(part), alone=alone):
        return None
    example = bad[0]
    if rule is None:
        where = f"in {len(bad)} of {len(calls)} calls"
    else:
        inside = int(rule.inside.sum())
        words_of, example = _exact_least(function, rule, calls)
        counts = f"{len(bad)} of {inside} such calls, right in the other {len(calls) - inside}"
        where = f"only in calls with {words_of} ({counts})"
    if alone:
        return "numbers", f"wrong {where}, whatever the size: {example.text}"
    if rule is None and part and not any(one.error for one in bad):
        return "company", f"wrong {where}, in {part} that are right alone: {example.text}"
    return "size", f"wrong {where}: {example.text}"


def _rule(calls: Sequence[tuple[Question, bool]], names: Sequence[str] = ()) -> Rule | None:
    """The rule over these features, by default over all."""
    features = [
        {name: value for name, value in one.features.items() if name in (names or one.features)}
        for one, _ in calls
    ]
    return rule_of(features, [wrong for _, wrong in calls]) if features[0] else None


def _tells(rule: Rule | None, *, has_parts: bool, alone: bool) -> bool:
    """Whether a rule says more than the vectors, some of which fail, do.

    Of numbers one about the axis does; of layouts that are no tensors one that excludes so many
    calls that it is no unknown layout, which is right in the smallest ones.
    """
    if rule is None or alone:
        return rule is not None and "axis" in rule.text
    return has_parts or float(np.mean(rule.inside)) <= _TELLS


def _only_later(calls: Sequence[Reply]) -> bool:
    """Whether each wrong call has the size of an earlier one, and those that come first are right.

    So it is where parameters of one call are kept for the next one of its size.
    """
    seen: set[tuple[object, ...]] = set()
    wrong = 0
    for one in calls:
        size = tuple(one.question.features.items())
        if one.wrong and size not in seen:
            return False
        wrong += one.wrong
        seen.add(size)
    return wrong >= _LATER


def _wrong_alone(function: Function, bad: Sequence[Reply]) -> bool:
    """Whether the first wrong part of most of some wrong calls is wrong in small calls, too."""
    some = [(one.question, one.got) for one in bad if one.got is not None][:_ALONE]
    asked = [question.alone(got) for question, got in some]
    count = sum(all(ask(function, one).wrong for one in calls) for calls in asked if calls)
    return count * 2 > len(some)


def _memory(answers: Sequence[Reply]) -> tuple[str, str] | None:
    """What is wrong with calls that are right in fresh arrays."""
    bad = [one for one in answers if one.wrong]
    if not bad:
        return None
    kinds = list(dict.fromkeys(MEMORIES[one.question.memory] for one in bad))
    return "memory", f"wrong only with {' and '.join(kinds)}: {bad[0].text}"


def _more(function: Function, calls: Sequence[Reply]) -> Iterator[Reply]:
    """The smaller questions again with other random words, and others that tell more."""
    for turn in range(1, _MORE + 1):
        for one in calls:
            if one.question.elements <= _MOST:
                yield ask(function, one.question.again(one.question.draw + 2 * turn))
    wrong = next(one.question for one in calls if one.wrong)
    for other in wrong.telling(max(one.question.elements for one in calls)):
        yield ask(function, other)


def _exact_least(function: Function, rule: Rule, calls: Sequence[Reply]) -> tuple[str, Reply]:
    """A rule's text and a wrong call; of "N codes and more" with the least N, by bisection."""
    example = next(one for one in calls if one.wrong)
    if rule.least is None:
        return rule.text, example
    unit, right, wrong = rule.least
    found: dict[int, Reply] = {}

    def is_wrong(count: int) -> bool:
        for draw in range(3):
            question = example.question.resized(unit, count, draw)
            reply = None if question is None else ask(function, question)
            if reply is not None and reply.wrong:
                found[count] = reply
                return True
        return False

    if not is_wrong(wrong):  # what else the call has decides as well
        return rule.text, example
    wrong = least_wrong(right, wrong, is_wrong)
    return f"{wrong:,} {unit} and more", found[wrong]


def _nearest(group: Sequence[Question], elements: int) -> Question:
    """The question in fresh arrays whose number of elements is nearest to one."""
    return min(group, key=lambda one: (one.memory != 0, abs(one.elements - elements)))


def _state(function: Function, group: Sequence[Question]) -> tuple[str, str] | None:
    """What is wrong with results and arguments that are looked at once more, by `misused`."""
    kinds = dict.fromkeys(one.features.get("float") for one in group)
    groups = [[one for one in group if one.features.get("float") == kind] for kind in kinds]
    for one in dict.fromkeys(_nearest(some, count) for some in groups for count in _KEPT):
        found = misused(function, partial(_known, one))
        if found is not None:
            return found
    return None


def _known(question: Question, number: int) -> Known:
    """A question with other random words, and arrays of the same shapes."""
    one = question.again(question.draw + _APART * number)

    def is_wrong(got: NDArray[np.uint64]) -> bool:
        return not np.array_equal(got, one.wanted)

    return Known(one.arguments, one.words, is_wrong, one.difference)


def _threads(function: Function, group: Sequence[Question]) -> tuple[str, str] | None:
    """Questions that two threads ask at once."""
    elements, count = _THREADED
    one = _nearest(group, elements)
    plan = [one.again(draw) for draw in range(count)]
    with often_switched(), ThreadPoolExecutor(2) as pool:
        bad = [reply for reply in pool.map(lambda each: ask(function, each), plan) if reply.wrong]
    return ("threads", f"wrong when two threads call it at once: {bad[0].text}") if bad else None


def _empty(function: Function, question: Question | None) -> tuple[str, str]:
    """What is wrong with the result of an empty call, and the exception instead of one."""
    if question is None:
        return "", ""
    try:
        question.words(function(*fresh(question)))
    except AnswerError as error:
        return f"wrong in a call with no case: {error}", ""
    except BaseException as error:
        if not is_fault(error):
            raise
        return "", error_text(error)
    return "", ""
