"""Calls that follow each other: what comes before a call may not change its answer.

Before it come calls that differ from it in one argument alone, an empty one, one that raises,
many of its size, and calls of every other operation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mxref.conformance.checking.call_questions import nearest
from mxref.conformance.checking.case_judge import wanted_by
from mxref.conformance.checking.computed_calls import called
from mxref.conformance.checking.fresh_calls import (
    FreshCall,
    FreshCalls,
    OfCases,
    OfQuestions,
    named,
)
from mxref.conformance.checking.kept_results import overwritten
from mxref.conformance.checking.repeated_calls import elements_of
from mxref.conformance.checking.repeated_cases import RepeatedCases
from mxref.conformance.checking.subjects import layer_subjects, product_subjects, subjects
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.conformance.verdict.report import Report
from mxref.targets.calls import error_text, is_fault, message, quiet
from mxref.targets.streams import late_calls
from mxref.targets.target import PythonTarget

__all__ = ["ask_following_calls", "fresh_calls"]

#: The most elements of a computed call, those that it has about, and how many are looked at.
_MOST, _NEAR, _LOOKED_AT = 4000, 300, 24
#: Calls of one size: graphs are captured, and code is compiled anew, after a few.
_MANY = 66
#: How many of them have numbers of their own; the others repeat these in turn.
_SETS = 3
#: Calls with numbers of their own that must be wrong before it is said why.
_TIMES = 2
#: Calls with other numbers, and nothing before them, that must be right.
_RIGHT = 8
#: So many calls that are wrong one after the other are so for good.
_LASTING = 3
_AFTER = "not reproducible: wrong after"
_UNKNOWN = "no_such_format"

_NEXT = "not reproducible: right in {} calls of one size in a row, wrong in the next"
_STREAM = "wrong only in calls on another stream than the default one"

#: A call that comes before: how it differs, and its arguments.
_Earlier = tuple[str, list[Any]]


def ask_following_calls(
    every: Sequence[FreshCalls], *, many: bool, streams: bool = False
) -> tuple[list[CallDependence], int]:
    """What is wrong with calls that follow others, one for an operation and format at most.

    Args:
        every: calls of each operation, format and float type.
        many: whether there are many calls of one size, of each format; of one operation else.
        streams: whether there are calls on another stream.

    Returns:
        What is wrong, and the number of calls.
    """
    found: dict[tuple[str, str], CallDependence] = {}
    with quiet():
        plan = _Plan([one for one in every if _is_right(one)])
        for ask in (lambda one: plan.after_many(one, all=many), plan.after_others):
            for one in plan.every:
                if one.key not in found and (text := ask(one)):
                    found[one.key] = CallDependence(*one.key, "state", text)
        for one in plan.every if streams else ():
            if one.key not in found and (text := plan.on_another_stream(one)):
                found[one.key] = CallDependence(*one.key, "stream", text)
        for one, text in plan.overwritten():
            found.setdefault(one.key, CallDependence(*one.key, "state", text))
    return list(found.values()), plan.count


def fresh_calls(target: PythonTarget, report: Report, elements: int) -> list[FreshCalls]:
    """Calls of every operation, format and float type that answered some cases.

    Args:
        target: the implementation.
        report: its answers to the vectors.
        elements: the largest number of elements in a call.
    """
    wanted = wanted_by(report)
    outcomes = [outcome for row in report.rows for outcome in row.outcomes]
    cases = [RepeatedCases(target.operations[one.file.op], one) for one in outcomes]
    found: list[FreshCalls] = [
        OfCases(one, wanted, max(elements // elements_of(one.file, 1), 1))
        for one in cases
        if one.usable
    ]
    every = subjects(report), product_subjects(target, report), layer_subjects(report)
    for subject in itertools.chain(*every):
        if subject.answerable and not subject.fails:
            some = subject.questions(min(elements, _MOST), first_float=False, first_format=False)
            asked = list(itertools.islice(some, _LOOKED_AT))
            if asked:
                function = called(target.operations[subject.op])
                found.append(OfQuestions(subject, nearest(asked, _NEAR), function))
    return found


def _is_right(one: FreshCalls) -> bool:
    """Whether a call can be made, and is right."""
    call = one.call(0)
    return call is not None and not _wrong(one, call)


def _wrong(one: FreshCalls, call: FreshCall, kept: list[object] | None = None) -> str:
    """What is wrong with a call; empty if it is right.

    Args:
        one: what the calls are.
        call: the call.
        kept: what its result is added to.
    """
    try:
        result = one.function(*call.given())
        if kept is not None:
            kept.append(result)
        return call.judge(result)
    except BaseException as error:
        if not is_fault(error):
            raise
        return f"raised {error_text(error)}"


def _raised(one: FreshCalls, arguments: Sequence[Any]) -> str:
    """What a call raised; empty if nothing."""
    try:
        one.function(*arguments)
    except BaseException as error:
        if not is_fault(error):
            raise
        return message(error)
    return ""


class _Plan:
    """All sequences of calls, by kind.

    Args:
        every: what the calls are.
    """

    def __init__(self, every: list[FreshCalls]) -> None:
        self.every, self.count = every, 0
        self.numbers = {id(one): 1 for one in every}
        self.many: set[tuple[str, ...]] = set()
        self.values: dict[tuple[str, int], dict[str, Any]] = {}
        for one in every:
            for place, value in enumerate(self.fresh(one).arguments):
                some = self.values.setdefault((one.key[0], place), {})
                kept = value.dtype if isinstance(value, np.ndarray) else value
                some.setdefault(repr(kept), kept)

    def fresh(self, one: FreshCalls) -> FreshCall:
        """A call with numbers that were never asked."""
        number = self.numbers[id(one)]
        self.numbers[id(one)] += 1
        self.count += 1
        call = one.call(number)
        assert call is not None  # as the first was
        return call

    def after_others(self, one: FreshCalls) -> str:
        """A call after some that differ from it in one argument, an empty one, and a wrong one."""
        for earlier in (self.differing, self.empty, self.raising):
            call = self.fresh(one)
            some = [*earlier(one, call)]
            self.count += len(some)
            raised = [_raised(one, arguments) for _, arguments in some]
            if not some or not (wrong := _wrong(one, call)):
                continue
            if self.lasts(one):
                (what, _), *more = some
                text = "a call that differs in one argument" if len(more) > 1 else what
                return f"{_AFTER} {text.format(raised[0])}, and then in every one: {wrong}"
            for number in range(len(some)):
                if text := self.reproduced(one, earlier, number):
                    return text
        return ""

    def lasts(self, one: FreshCalls) -> bool:
        """Whether some calls are wrong one after the other, and so is the first, which was not."""
        first = one.call(0)
        if first is None or not all(_wrong(one, self.fresh(one)) for _ in range(_LASTING)):
            return False
        return bool(_wrong(one, first))

    def reproduced(
        self, one: FreshCalls, earlier: Callable[..., Iterator[_Earlier]], number: int
    ) -> str:
        """That a call is wrong after one other, and right before it; empty if it is not so."""
        text = ""
        for _ in range(_TIMES):
            if not text and _wrong(one, self.fresh(one)):
                return ""
            call = self.fresh(one)
            what, arguments = [*earlier(one, call)][number]
            raised = _raised(one, arguments)
            wrong = _wrong(one, call)
            if not wrong:
                return ""
            text = f"{_AFTER} {what.format(raised)}: {wrong}"
        # What is wrong for some numbers is so without the other call, too.
        return "" if any(_wrong(one, self.fresh(one)) for _ in range(_RIGHT)) else text

    def differing(self, one: FreshCalls, call: FreshCall) -> Iterator[_Earlier]:
        """Calls that differ in one argument: other values of it, another type, another name."""
        other = self.fresh(one).arguments
        names = named(*one.key, len(call.arguments))
        for place, (mine, name) in enumerate(zip(call.arguments, names, strict=True)):
            what = f"a call that differs from it in {name} alone"
            for text, value in self.others(one, place, mine, other[place]):
                arguments = call.given()
                arguments[place] = value
                yield f"{what}{text}", arguments

    def others(
        self, one: FreshCalls, place: int, mine: Any, other: Any
    ) -> Iterator[tuple[str, Any]]:
        """Other values of an argument: of another call, or of other formats and float types."""
        known = self.values[one.key[0], place]
        if not isinstance(mine, np.ndarray):
            others = [value for key, value in known.items() if key != repr(mine)]
            number = isinstance(mine, float | np.floating)
            for value in others or ([mine * 2] if number else []):
                yield ("" if number else f" ({_shown(value)})"), value
            return
        candidates = [mine[..., ::-1]] if mine.ndim else [np.array(mine * mine.dtype.type(2))]
        if isinstance(other, np.ndarray) and other.shape == mine.shape:
            candidates.insert(0, other.astype(mine.dtype))
        # The call itself may not be among those before it.
        values = (value for value in candidates if value.tobytes() != mine.tobytes())
        yield from (("", value.copy()) for value in itertools.islice(values, 1))
        for dtype in known.values():
            if isinstance(dtype, np.dtype) and dtype != mine.dtype:
                same = dtype.itemsize == mine.dtype.itemsize
                value = mine.view(dtype) if same else mine.astype(dtype)
                yield f" (as {dtype.name}{', the same bits' if same else ''})", value

    def empty(self, one: FreshCalls, call: FreshCall) -> Iterator[_Earlier]:
        """The empty call."""
        arguments = one.empty()
        if arguments is not None:
            yield "an empty call", [*arguments]

    def raising(self, one: FreshCalls, call: FreshCall) -> Iterator[_Earlier]:
        """Calls that may raise: an unknown format, numbers of a type that nothing has."""
        for place, mine in enumerate(call.arguments):
            arguments = call.given()
            if isinstance(mine, str):
                arguments[place] = _UNKNOWN
            elif place == 0 and isinstance(mine, np.ndarray):
                arguments[place] = mine.astype(np.complex128)
            else:
                continue
            yield "a call that raised {}", arguments

    def after_many(self, one: FreshCalls, *, all: bool) -> str:
        """Many calls of one size, with few sets of numbers in turn."""
        key = one.key if all else one.key[:1]
        if key in self.many:
            return ""
        self.many.add(key)
        sets = [self.fresh(one) for _ in range(_SETS)]
        self.count += _MANY
        kept: list[object] = []
        for number in range(_MANY):
            if wrong := _wrong(one, sets[number % _SETS], kept):
                # Numbers that were not right before may be wrong in every call.
                return f"{_NEXT.format(number)}: {wrong}" if number >= _SETS else ""
            del kept[1:]
        if wrong := sets[0].judge(kept[0]):
            return f"the result of a call is overwritten by a later one of its size: {wrong}"
        return ""

    def on_another_stream(self, one: FreshCalls) -> str:
        """That calls on another stream alone are wrong; empty if it is not so."""
        text = ""
        for _ in range(_TIMES):
            with late_calls():
                text = _wrong(one, self.fresh(one))
            if not text or _wrong(one, self.fresh(one)):
                return ""
        return f"{_STREAM}: {text}"

    def overwritten(self) -> Iterator[tuple[FreshCalls, str]]:
        """Results that are read again after calls of every other operation."""
        held = [(one, *self.held(one)) for one in self.every]
        for one, call, result in held:
            if not call.judge(result):
                continue
            for other in self.every:
                mine, kept = self.held(one)
                self.held(other)
                if other.key[0] != one.key[0] and (wrong := mine.judge(kept)):
                    yield one, f"{overwritten(1)}, which is of {other.key[0]}: {wrong}"
                    break

    def held(self, one: FreshCalls) -> tuple[FreshCall, object]:
        """A call, and its result; one that is always right in place of a wrong one."""
        call, kept = self.fresh(one), list[object]()
        wrong = _wrong(one, call, kept)
        return (FreshCall((), lambda _: ""), None) if wrong else (call, kept[0])


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else getattr(value, "name", None) or repr(value)
