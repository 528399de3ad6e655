"""What a call changes beside its result: its arguments, and the state of float arithmetic."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mxref.conformance.checking.array_memory import copies
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.conformance.verdict.report import Report
from mxref.targets.calls import call_operation, is_fault, quiet
from mxref.targets.product_function import ProductFunction
from mxref.targets.target import PythonTarget

__all__ = ["FloatState", "argument_changed", "changed_arguments", "float_state"]

#: Cases of a file with which arguments are compared after a call.
_CASES = 256


class FloatState(NamedTuple):
    """How the processor rounds and what becomes of subnormal numbers, each as seen in results."""

    rounding: tuple[bool, bool, bool]
    flushed: tuple[bool, bool]


def float_state() -> FloatState:
    """The state now.

    >>> float_state()  # ties_to_even; neither results nor inputs are flushed
    FloatState(rounding=(False, True, False), flushed=(False, False))
    """
    with np.errstate(all="ignore"):
        one, small, least = (np.float64(x) for x in (1.0, 2.0**-60, sys.float_info.min))
        # Upward, toward zero and downward differ from ties_to_even in these.
        rounding = bool(one + small > one), bool(one - small == one), bool(-one - small < -one)
        flushed = bool(least * np.float64(0.5) == 0), bool(np.float64(5e-324) * one == 0)
    return FloatState(rounding, flushed)


def _state_changed(before: FloatState, after: FloatState, seterr: bool) -> str:  # noqa: FBT001
    """What calls have changed of the state, in words; empty if nothing.

    Args:
        before: the state before the first of them.
        after: the state now.
        seterr: whether NumPy treats floating-point errors otherwise than before the last call.

    >>> usual = float_state()
    >>> _state_changed(usual, usual._replace(flushed=(True, True)), False)
    'leaves the processor flushing subnormal numbers to zero, or no longer so'
    """
    if before.rounding != after.rounding:
        return "leaves the processor in another rounding mode"
    if before.flushed != after.flushed:
        return "leaves the processor flushing subnormal numbers to zero, or no longer so"
    return "leaves NumPy treating floating-point errors otherwise (`np.seterr`)" if seterr else ""


def argument_changed(before: Sequence[Any], after: Sequence[Any]) -> str:
    """The first number of an argument that a call has changed, in words; empty if there is none.

    >>> argument_changed([np.array([1.0, 480.0])], [np.array([1.0, 448.0])])
    'changes its argument 1: number 1 was 480.0 and is 448.0'
    """
    for number, (was, now) in enumerate(zip(before, after, strict=True), 1):
        if not isinstance(was, np.ndarray):
            continue
        what = f"changes its argument {number}"
        if was.shape != now.shape:
            return f"{what}: its shape was {was.shape} and is {now.shape}"
        bits = f"u{was.itemsize}"
        places = np.argwhere(was.view(bits) != now.view(bits))
        if len(places):
            place = tuple(places[0].tolist())
            name = f"number {place[0]}" if len(place) == 1 else f"element {place}"
            texts = [str(one[place]) for one in (was, now)]
            if texts[0] == texts[1]:  # NaN
                texts = [f"{int(one.view(bits)[place]):0{2 * was.itemsize}x}" for one in (was, now)]
            return f"{what}: {name} was {texts[0]} and is {texts[1]}"
    return ""


def changed_arguments(
    target: PythonTarget, report: Report, uses: Iterable[CallDependence], state: FloatState
) -> Iterator[CallDependence]:
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
        answered = np.delete(np.arange(len(outcome.inputs)), [*outcome.errors])
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
            yield CallDependence(file.op, file.format, "effect", next(filter(None, changes)))
            state = float_state()  # which is said once


def _watched(
    function: Callable[..., Any], changes: list[str], state: FloatState
) -> Callable[..., Any]:
    """A function, after each call of which what it has changed is listed."""
    if isinstance(function, ProductFunction):  # which gives copies to the target's own
        return replace(function, function=_watched(function.function, changes, state))

    @functools.wraps(function)
    def watched(*arguments: Any) -> Any:
        before = copies(arguments)
        with np.errstate(all="warn"):
            errors = np.geterr()
            result = function(*arguments)
            changed = float_state(), np.geterr() != errors
        changes.append(argument_changed(before, arguments) or _state_changed(state, *changed))
        return result

    return watched
