"""Calls that check that results and arguments stay as they were."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.array_memory import laid
from mxref.conformance.checking.float_state import FloatState, float_state, state_changed
from mxref.conformance.checking.kept_arrays import LATER, argument_changed
from mxref.conformance.checking.repeated_cases import Call, RepeatedCases
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.uses import Use
from mxref.targets.calls import call_operation, error_text, is_fault, quiet
from mxref.targets.product_function import ProductFunction
from mxref.targets.target import PythonTarget

__all__ = ["changed_arguments", "kept_calls"]

#: Rows of such a call.
_ROWS = 33
#: Cases of a file with which arguments are compared after a call.
_CASES = 256
#: The turn of the first call that differs from another one in the middle, after those of `batches`
#: and of LATER calls; and how many are tried until the difference changes an answer.
_FIRST_TURN, _TRIES = 20, 4


def kept_calls(one: RepeatedCases) -> list[Call]:
    """Calls about what a target keeps; of the last way only those that are wrong.

    Each is called `held`: what a later call changed in the result of the first one; if nothing, the
    first call as a `batch`. `in_place`: the second of two calls that share their arrays. `middle`:
    a call after one that differs in a single word.
    """
    found: list[Call] = []
    with quiet():
        for way, ask in (("held", _held), ("in_place", _in_place), ("middle", _middles)):
            try:
                found += ask(one)
            except BaseException as error:
                if not is_fault(error):
                    raise
                found.append(_failed(one, way, error_text(error)))
    return found


def _failed(one: RepeatedCases, way: str, text: str) -> Call:
    rows, nothing = one.chosen(_ROWS, 1), np.empty(0, np.int64)
    return Call(one.file, rows, 2, 0, way, nothing, one.first[:0], text)


def _held(one: RepeatedCases) -> Iterator[Call]:
    """Some calls after the first one, whose result is read again after each."""
    first = one.chosen(_ROWS, 1)
    results: list[Any] = []

    @functools.wraps(one.function)
    def function(*arguments: Any) -> Any:
        results.append(one.function(*arguments))
        return results[-1]

    at_once = got = _asked(one, function, first)
    later = 0
    while later < LATER and np.array_equal(got, at_once):
        later += 1
        _asked(one, function, one.chosen(_ROWS, 1 + later))
        got = _asked(one, lambda *_: results[0], first)
    same = (got == at_once).all(axis=1, keepdims=True)
    held = one.compared(
        first, np.where(same, one.first[first][:, : got.shape[1]], got), 2, 0, "held"
    )
    if held.differs:
        yield replace(held, later=later)
    else:
        yield one.compared(first, at_once, 2, 0, "batch")


def _in_place(one: RepeatedCases) -> Iterator[Call]:
    """The second of two calls, whose arrays are those of the first, overwritten."""
    shared: dict[int, NDArray[Any]] = {}

    def placed(place: int, argument: Any) -> Any:
        if not _is_array(argument):
            return argument
        array = shared.setdefault(place, np.empty_like(argument))
        array[...] = argument
        return array

    @functools.wraps(one.function)
    def function(*arguments: Any) -> Any:
        return one.function(*(placed(*pair) for pair in enumerate(arguments)))

    rows = one.chosen(_ROWS, 2)
    _asked(one, function, one.chosen(_ROWS, 1))
    yield one.compared(rows, _asked(one, function, rows), 2, 0, "in_place")


def _middles(one: RepeatedCases) -> Iterator[Call]:
    """Calls after others that differ in one word of the row in the middle alone."""
    width, middle = one.inputs.shape[1], _ROWS // 2
    turn = _FIRST_TURN
    for column in sorted({0, min(1, width - 1), width // 2} - {one.fixed}):
        for _ in range(_TRIES):
            turn += 1
            rows = one.chosen(_ROWS, turn)
            words = one.inputs[rows]
            words[middle, column] = words[middle + 1, column]
            try:
                before = _asked(one, one.function, rows, words)[middle]
            except BaseException as error:
                if not is_fault(error):
                    raise
                continue  # words that do not go together may be refused
            own = one.first[rows[middle]][: before.size]
            if same_answers(one.file, own[np.newaxis], before[np.newaxis]).all():
                continue
            call = one.ask(rows, 2)
            at = np.flatnonzero(call.changed == middle)
            if at.size and np.array_equal(call.got[at[0]], before) and _is_right(one, rows):
                call = replace(call, way="middle")
            if call.differs:
                yield call
            break


def _is_right(one: RepeatedCases, rows: NDArray[np.int64]) -> bool:
    """Whether the row in the middle has its answer where all rows lie a quarter further on.

    Its neighbours are the same, so that an answer which depends on them is wrong there, too.
    """
    further = _ROWS // 4
    return _ROWS // 2 + further not in one.ask(np.roll(rows, further), 2).changed


def _asked(
    one: RepeatedCases, function: Callable[..., Any], rows: NDArray[np.int64], words: Any = None
) -> NDArray[np.uint64]:
    """The answers of a function to cases, or to words instead of theirs."""
    return call_operation(function, one.file, one.inputs[rows] if words is None else words)


def changed_arguments(
    target: PythonTarget, report: Report, uses: Iterable[Use], state: FloatState
) -> Iterator[Use]:
    """Which operations and formats change arguments or float arithmetic, by some of the cases.

    Args:
        target: the implementation.
        report: its answers to the vectors.
        uses: what is wrong otherwise; nothing more is said of those operations and formats.
        state: of the processor's arithmetic before the first call.
    """
    seen = {(use.op, use.format) for use in uses}
    for outcome in (outcome for row in report.rows for outcome in row.outcomes):
        file = outcome.file
        answered = np.setdiff1d(np.arange(len(outcome.inputs)), [*outcome.errors])
        rows = answered[:: -(-len(answered) // _CASES) or 1]
        if (file.op, file.format) in seen or not rows.size:
            continue
        changes: list[str] = []
        function = _watched(target.operations[file.op], changes, state)
        try:
            with quiet():
                call_operation(function, file, outcome.inputs[rows])
        except BaseException as error:
            if not is_fault(error):
                raise
        if any(changes):
            seen.add((file.op, file.format))
            yield Use(file.op, file.format, "effect", next(filter(None, changes)))
            state = float_state()  # which is said once


def _watched(
    function: Callable[..., Any], changes: list[str], state: FloatState
) -> Callable[..., Any]:
    """A function, after each call of which what it has changed is listed."""
    if isinstance(function, ProductFunction):  # which gives copies to the target's own
        return replace(function, function=_watched(function.function, changes, state))

    @functools.wraps(function)
    def watched(*arguments: Any) -> Any:
        before = [laid(one, 0) if _is_array(one) else None for one in arguments]
        with np.errstate(all="warn"):
            errors = np.geterr()
            result = function(*arguments)
            changed = float_state(), np.geterr() != errors
        changes.append(argument_changed(before, arguments) or state_changed(state, *changed))
        return result

    return watched


def _is_array(argument: object) -> bool:
    return isinstance(argument, np.ndarray) and argument.ndim > 0
