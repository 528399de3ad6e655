"""Computed calls put to a target: in many sizes, twice, in other memory, kept and in threads.

Every computed question goes through this module, whatever its operation; `CallSubject` says which
questions there are, and `call_findings.py` what is wrong with the replies.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from mxref.conformance.checking.array_memory import MEMORIES
from mxref.conformance.checking.call_findings import finding
from mxref.conformance.checking.call_questions import (
    CallQuestion,
    CallReply,
    CallSubject,
    ask,
    fresh,
    nearest,
)
from mxref.conformance.checking.data_findings import data_finding
from mxref.conformance.checking.kept_results import misused
from mxref.conformance.checking.odd_calls import ask_empty, by_two_threads
from mxref.conformance.checking.progress import untold
from mxref.conformance.verdict.call_dependence import CallDependence, OrdinaryScope
from mxref.targets.calls import quiet
from mxref.targets.product_function import ProductFunction
from mxref.targets.target import PythonTarget

__all__ = ["SizeScope", "ask_one_by_one", "ask_sizes", "called"]

Function = Callable[..., Any]

#: Draws of arrays with the same shapes: an axis is one of six.
_APART = 6
#: Elements of the calls by two threads, and their number.
_THREADED = (2000, 8)


@dataclass(frozen=True, slots=True)
class SizeScope:
    """What a target was asked in many sizes.

    Args:
        calls: number of calls.
        moved: how many of them have arrays in other memory.
        largest: the greatest number of elements in a call.
        notes: what was not asked or was refused, each with the reason.
        ordinary: calls of ordinary data, by operation and format.
        longest: the name of the call that takes most work, and how much that is.
    """

    calls: int = 0
    moved: int = 0
    largest: int = 0
    notes: tuple[str, ...] = ()
    ordinary: tuple[OrdinaryScope, ...] = ()
    longest: tuple[int, str] = (0, "")


@dataclass(slots=True)
class _Group:
    """The subjects of one operation and format, and the questions about them."""

    subjects: list[CallSubject] = field(default_factory=list)
    questions: list[CallQuestion] = field(default_factory=list)

    @property
    def fails(self) -> bool:
        return any(one.fails for one in self.subjects)


def ask_sizes(
    target: PythonTarget,
    subjects: Sequence[CallSubject],
    elements: int,
    before: Sequence[CallSubject] = (),
    tell: Callable[[float], None] = untold,
) -> tuple[list[CallDependence], SizeScope]:
    """Operations in many sizes, each question twice, with all the others in between.

    Of a subject that fails at the vectors it is said only which sizes or what state decides, if
    one does: what else is wrong is seen in its vectors.

    Args:
        target: the implementation.
        subjects: the operations, formats and float types or layouts, each with what gives the
            target's answers to the vectors.
        elements: the largest number of elements in a call.
        before: those that were asked before.
        tell: called with the share of the calls that is done.

    Returns:
        What is wrong, one for an operation and format at most, and one for empty calls; and what
        was asked.
    """
    notes: dict[str, None] = {}
    uses: list[CallDependence] = []
    scopes: list[OrdinaryScope] = []
    with quiet():
        groups = _groups(subjects, elements, before)
        functions = {op: called(target.operations[op]) for op, _ in groups}
        plan = [
            (functions[op], group.subjects[0].manner, question)
            for (op, _), group in groups.items()
            for question in group.questions
        ]
        turns, again = [], []
        for i, (function, _, one) in enumerate(plan):
            tell(i / len(plan) / 2)
            turns.append(ask(function, one))
        for i, (function, manner, one) in enumerate(reversed(plan)):
            tell(0.5 + i / len(plan) / 2)
            other = one.again(one.draw + 1, one.memory) if manner.other_numbers else one
            again.append(ask(function, other))
        pairs = zip(turns, reversed(again), strict=True)
        for (op, format), group in groups.items():
            some = list(itertools.islice(pairs, len(group.questions)))
            kept, refused = _without_refusals(some)
            notes |= dict.fromkeys(f"{op} {format} refuses {what}" for what in refused)
            found, ordinary = _found(functions[op], group, kept, threads=target.threads)
            scopes += [ordinary] if ordinary is not None else []
            if found is not None:
                beside = group.subjects[0].beside
                uses.append(CallDependence(op, format, *found, beside))
        empty, refusals = ask_empty(_empty_calls(functions, groups))
    uses += empty
    moved = sum(question.memory != 0 for _, _, question in plan)
    largest = max((question.elements for _, _, question in plan), default=0)
    longest = max(((one.work, one.name) for _, _, one in plan), default=(0, ""))
    asked = SizeScope(
        2 * len(plan), 2 * moved, largest, (*notes, *refusals), tuple(scopes), longest
    )
    return uses, asked


def ask_one_by_one(
    target: PythonTarget,
    subjects: Sequence[CallSubject],
    elements: int,
    tell: Callable[[float], None] = untold,
) -> tuple[list[CallDependence], SizeScope]:
    """Operations one after the other: what is wrong, one for an operation and format at most.

    Where one float type is wrong, the others are not asked. The rest is that of `ask_sizes`, but
    of the shapes that were asked there are notes alone. `tell` is called with the share that is
    done.
    """
    uses: dict[tuple[str, str], CallDependence] = {}
    notes: list[str] = []
    ordinary: list[OrdinaryScope] = []
    calls: Counter[str] = Counter()
    longest: defaultdict[str, tuple[int, str]] = defaultdict(lambda: (0, ""))
    for number, one in enumerate(subjects):
        tell(number / len(subjects))
        if (one.op, one.format) not in uses:
            found, scope = ask_sizes(target, [one], elements, subjects[:number])
            uses |= {(use.op, use.format): use for use in found}
            calls[one.manner.calls] += scope.calls - scope.moved
            longest[one.manner.calls] = max(longest[one.manner.calls], scope.longest)
            notes += scope.notes
            ordinary += scope.ordinary
    counts = (
        f"{what}: {n:,} calls of other shapes, the longest of {longest[what][1]}"
        for what, n in calls.items()
        if n
    )
    return list(uses.values()), SizeScope(notes=(*counts, *notes), ordinary=tuple(ordinary))


def _groups(
    subjects: Sequence[CallSubject], elements: int, before: Sequence[CallSubject]
) -> dict[tuple[str, str], _Group]:
    """The subjects of each operation and format, with their questions."""
    groups: dict[tuple[str, str], _Group] = {}
    formats = {one.op: one.format for one in reversed(before)}
    seen = {(one.op, one.format) for one in before}
    for one in subjects:
        if one.answerable:
            key = one.op, one.format
            is_first = formats.setdefault(one.op, one.format) == one.format
            asked = one.questions(elements, first_float=key not in seen, first_format=is_first)
            group = groups.setdefault(key, _Group())
            group.questions += asked
            group.subjects.append(one)
            seen.add(key)
    return groups


def called(function: Function) -> Function:
    """The target's own function, which takes all operands of a product at once."""
    return function.function if isinstance(function, ProductFunction) else function


def _without_refusals(
    turns: list[tuple[CallReply, CallReply]],
) -> tuple[list[tuple[CallReply, CallReply]], list[str]]:
    """The replies without errors for other memory, and of what memory it is that is refused."""
    refused = [turn for turn in turns if turn[0].question.memory and turn[0].error]
    raises = any(one.error and not one.question.memory for one, _ in turns)
    kinds = [] if raises else [MEMORIES[one.question.memory] for one, _ in refused]
    return [turn for turn in turns if turn not in refused], kinds


def _found(
    function: Function,
    group: _Group,
    turns: Sequence[tuple[CallReply, CallReply]],
    *,
    threads: bool,
) -> tuple[tuple[str, str] | None, OrdinaryScope | None]:
    """What is wrong with the calls of a group: their sizes, what is kept, their data, threads.

    Also what ordinary data they were asked with, if any.
    """
    subject, fails, ordinary = group.subjects[0], group.fails, None
    found = finding(function, subject, turns, fails=fails) if turns else None
    if found is None or found[0] in ("numbers", "data"):
        # Where numbers are wrong, more of them say nothing; state may.
        state = _state(function, subject, group.questions)
        sure = state is not None and state[0] in ("state", "effect")
        found = state if sure or (found is None and not fails) else found
    if (found is None or found[0] == "data") and not fails:
        told, ordinary = data_finding(function, subject, group.questions)
        found = told or found
    if found is None and not fails and threads and subject.manner.threads:
        found = _threads(function, group.questions)
    return found, ordinary


def _state(
    function: Function, subject: CallSubject, questions: Sequence[CallQuestion]
) -> tuple[str, str] | None:
    """What is wrong with results and arguments that are looked at once more, by `misused`."""
    for one in subject.kept(questions):
        found = misused(function, partial(_drawn, one))
        if found is not None:
            return found
    return None


def _drawn(question: CallQuestion, number: int) -> CallQuestion:
    """A question with other random words, and arrays of the same shapes."""
    return question.again(question.draw + _APART * number)


def _threads(function: Function, group: Sequence[CallQuestion]) -> tuple[str, str] | None:
    """Questions that two threads ask at once."""
    elements, count = _THREADED
    one = nearest(group, elements)
    plan = [one.again(draw) for draw in range(count)]
    bad = [reply for reply in by_two_threads(partial(ask, function), plan) if reply.wrong]
    return ("threads", f"wrong when two threads call it at once: {bad[0].text}") if bad else None


def _empty_calls(
    functions: dict[str, Function], groups: dict[tuple[str, str], _Group]
) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """The calls with no case, for `ask_empty`."""
    for (op, format), group in groups.items():
        question = group.subjects[-1].empty()
        if question is not None:
            yield op, format, partial(_empty_words, functions[op], question)


def _empty_words(function: Function, question: CallQuestion) -> object:
    return question.words(function(*fresh(question)))
