"""Operations on layouts and tensors, asked in many sizes, twice, and in other memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.blocks.shapes import result_shapes
from mxref.cases.answers import answerable
from mxref.conformance.checking.layout_questions import (
    Question,
    Subject,
    elements_in,
    questions,
)
from mxref.conformance.checking.layout_replies import (
    UNITS,
    Reply,
    ask,
    difference_of,
    name_of,
    read,
)
from mxref.conformance.checking.memory import KEPT, MEMORIES, results_kept
from mxref.conformance.checking.rules import Rule, rule_of
from mxref.conformance.checking.sizes import least_wrong
from mxref.conformance.verdict.uses import Use
from mxref.policy.policy import Policy
from mxref.targets.calls import quiet
from mxref.targets.target import PythonTarget

__all__ = ["LayoutScope", "ask_layouts"]

Function = Callable[..., Any]

#: Sets of other random words that are asked for before a rule is believed, and their elements.
_MORE, _MOST = 2, 20_000
#: Lines and their lengths of the tensors that tell what wrong ones have in common.
_TELLING = (1, 2, 3, 4, 5, 6, 8, 12, 33), (1, 20, 32, 33, 64, 100)
#: The largest share of calls that a rule covers, if the vectors fail as well.
_TELLS = 0.75
#: Wrong calls whose first wrong block is asked alone.
_ALONE = 8


@dataclass(frozen=True, slots=True)
class LayoutScope:
    """What a target was asked about layouts.

    Args:
        calls: number of calls.
        largest: the greatest number of elements in a call.
        notes: what was not asked or was refused, each with the reason.
    """

    calls: int = 0
    largest: int = 0
    notes: tuple[str, ...] = ()


def ask_layouts(
    target: PythonTarget, subjects: Sequence[Subject], elements: int
) -> tuple[list[Use], LayoutScope]:
    """Operations on layouts in many sizes, each question twice, with all the others in between.

    Of a subject that fails at the vectors it is said only which sizes or what state decides, if
    one does: what else is wrong is seen in its vectors.

    Args:
        target: the implementation.
        subjects: the operations, formats and float types or layouts, each with what gives the
            target's answers to the vectors.
        elements: the largest number of elements in a call.

    Returns:
        What is wrong, one for an operation and format at most; and what was asked.
    """
    groups: dict[tuple[str, str], list[Question]] = {}
    notes: dict[str, None] = {}
    floats: set[tuple[str, str]] = set()
    formats: dict[str, str] = {}
    for one in subjects:
        if one.policy is None:
            notes[f"{one.op} {one.format} is not asked in other sizes: its vectors fail"] = None
        if one.policy is None or not answerable(one.op, one.format, one.float, one.policy):
            continue
        key = one.op, one.format
        is_first = formats.setdefault(one.op, one.format) == one.format
        asked = questions(one, elements, first_float=key not in floats, first_format=is_first)
        groups.setdefault(key, []).extend(asked)
        floats.add(key)
    plan = [question for group in groups.values() for question in group]
    with quiet():
        functions = {op: target.operations[op] for op, _ in groups}
        turns = [ask(functions[one.subject.op], one) for one in plan]
        again = [ask(functions[one.subject.op], one) for one in reversed(plan)]
        pairs = zip(turns, reversed(again), strict=True)
        uses = []
        for (op, format), group in groups.items():
            some = list(itertools.islice(pairs, len(group)))
            refused = [pair for pair in some if pair[0].question.memory and pair[0].error]
            raises = any(one.error and not one.question.memory for one, _ in some)
            for answer, _ in () if raises else refused:
                notes[f"{op} {format} refuses {MEMORIES[answer.question.memory]}"] = None
            kept = [pair for pair in some if pair not in refused]
            fails = any(question.subject.fails for question in group)
            found = _judged(functions[op], kept, fails=fails)
            if found is None and not fails:
                found = _state(functions[op], group)
            if found is not None:
                uses.append(Use(op, format, *found))
    largest = max((elements_in(one.subject.op, one.shape) for one in plan), default=0)
    return uses, LayoutScope(2 * len(plan), largest, tuple(notes))


def _judged(
    function: Function, pairs: Sequence[tuple[Reply, Reply]], *, fails: bool
) -> tuple[str, str] | None:
    """The kind and the text of what is wrong with answers to the same questions, asked twice."""
    for one, other in pairs:
        if not one.same(other):
            text = f"not reproducible: the same {name_of(one.question)} gave two answers"
            rule = _rule(
                [(a.question, a.wrong or b.wrong) for a, b in pairs if not a.question.memory]
            )
            where = "" if rule is None else f", only in calls with {rule.text}"
            return "state", f"{text}{where}: {difference_of(one if one.wrong else other)}"
    calls = [one for one, _ in pairs if not one.question.memory]
    if not any(one.wrong for one in calls):
        return _memory([one for one, _ in pairs])
    calls += list(_more(function, calls))
    bad = [one for one in calls if one.wrong]
    alone = _wrong_alone(function, bad)
    rule = _rule([(one.question, one.wrong) for one in calls], ("axis", "float") if alone else ())
    is_tensor = calls[0].question.subject.op == "quantize_tensor"
    if fails and not _tells(rule, is_tensor=is_tensor, alone=alone):
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
        return "numbers", f"wrong {where}, whatever the size: {difference_of(example)}"
    if rule is None and is_tensor and not any(one.error for one in bad):
        text = f"wrong {where}, in blocks that are right alone"
        return "company", f"{text}: {difference_of(example)}"
    return "size", f"wrong {where}: {difference_of(example)}"


def _rule(calls: Sequence[tuple[Question, bool]], names: Sequence[str] = ()) -> Rule | None:
    """The rule over these features, by default over all."""
    features = [
        {name: value for name, value in one.features.items() if name in (names or one.features)}
        for one, _ in calls
    ]
    return rule_of(features, [wrong for _, wrong in calls])


def _tells(rule: Rule | None, *, is_tensor: bool, alone: bool) -> bool:
    """Whether a rule says more than the vectors, some of which fail, do.

    Of numbers one about the axis does; of layouts that are no tensors one that excludes so many
    calls that it is no unknown layout, which is right in the smallest ones.
    """
    if rule is None or alone:
        return rule is not None and "axis" in rule.text
    return is_tensor or float(np.mean(rule.inside)) <= _TELLS


def _wrong_alone(function: Function, bad: Sequence[Reply]) -> bool:
    """Whether most of some wrong blocks of tensors are wrong in small tensors, too.

    Each is asked as a tensor of its own, and in every line of a tensor of 32 x 32.
    """
    whole = [one for one in bad if one.got is not None and one.got.size == one.question.wanted.size]
    some = whole[:_ALONE]
    if not some or some[0].question.subject.op != "quantize_tensor":
        return False
    count = 0
    for one in some:
        axis, block = one.question.axis, _wrong_block(one)
        square = np.zeros((32, 32), block.dtype)
        square[:, : block.size] = block
        tensors = (block[np.newaxis], square)
        asked = [
            Question(one.question.subject, values.shape, axis, values=values)
            for values in (tensor.T.copy() if axis == 0 else tensor for tensor in tensors)
        ]
        count += all(ask(function, question).wrong for question in asked)
    return count * 2 > len(some)


def _wrong_block(answer: Reply) -> NDArray[Any]:
    """The numbers of the first block of a tensor with a wrong scale or code."""
    question = answer.question
    values, name, axis = question.arguments
    policy = question.subject.policy or Policy()
    shapes = result_shapes(values.shape, name, policy, axis=axis)
    assert answer.got is not None
    index = int(np.argmax(answer.got != question.wanted))
    scales = math.prod(shapes.scale_codes)
    is_scale = index < scales
    shape = shapes.scale_codes if is_scale else shapes.codes
    place = list(divmod(index if is_scale else index - scales, shape[1]))
    block = place[axis] if is_scale else place[axis] // 32
    line: NDArray[Any] = np.take(values, place[1 - axis], 1 - axis)
    return line[32 * block : 32 * block + 32]


def _memory(answers: Sequence[Reply]) -> tuple[str, str] | None:
    """What is wrong with calls that are right in fresh arrays."""
    bad = [one for one in answers if one.wrong]
    if not bad:
        return None
    kinds = list(dict.fromkeys(MEMORIES[one.question.memory] for one in bad))
    return "memory", f"wrong only with {' and '.join(kinds)}: {difference_of(bad[0])}"


def _more(function: Function, calls: Sequence[Reply]) -> Iterator[Reply]:
    """The smaller questions again with other random words, and of tensors more shapes."""
    for draw in range(1, _MORE + 1):
        for one in calls:
            was = one.question
            if elements_in(was.subject.op, was.shape) <= _MOST:
                yield ask(function, Question(was.subject, was.shape, was.axis, 0, draw))
    subject = next(one.question.subject for one in calls if one.wrong)
    if subject.op == "quantize_tensor":
        most = max(elements_in(subject.op, one.question.shape) for one in calls)
        for lines, length in itertools.product(*_TELLING):
            if lines * length > most:
                continue
            yield ask(function, Question(subject, (length, lines), 0))
            yield ask(function, Question(subject, (lines, length), 1))


def _exact_least(function: Function, rule: Rule, calls: Sequence[Reply]) -> tuple[str, Reply]:
    """A rule's text and a wrong call; of "N codes and more" with the least N, by bisection."""
    example = next(one for one in calls if one.wrong)
    subject = example.question.subject
    if rule.least is None or subject.op not in UNITS:
        return rule.text, example
    unit, right, wrong = rule.least
    found = {wrong: example}

    def is_wrong(count: int) -> bool:
        asked = (ask(function, Question(subject, (1, count), draw=draw)) for draw in range(3))
        found.update((count, one) for one in itertools.islice((o for o in asked if o.wrong), 1))
        return count in found

    wrong = least_wrong(right, wrong, is_wrong)
    return f"{wrong:,} {unit} and more", found[wrong]


def _state(function: Function, group: Sequence[Question]) -> tuple[str, str] | None:
    """A result that the next call overwrites, or one that is kept by the address of its array."""
    one = max(group, key=lambda q: (not q.memory, q.shape == (33, 1), -abs(q.shape[1] - 33)))
    other = Question(one.subject, one.shape, one.axis, 0, 1)
    results = results_kept(function, one.fresh, other.fresh)
    for text, question, result in zip(KEPT, (one, other), results, strict=False):
        answer = read(question, partial(lambda given: given, result))
        if answer.got is not None:
            return "state", f"{text}: {difference_of(answer)}"
    return None
