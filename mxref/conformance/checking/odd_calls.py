"""Calls with no case, and calls that two threads make at once, of whatever operation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.operands.returned import AnswerError
from mxref.targets.calls import error_text, is_fault, quiet

__all__ = ["ask_empty", "by_two_threads"]

Question = TypeVar("Question")
Reply = TypeVar("Reply")


def ask_empty(
    calls: Iterable[tuple[str, str, Callable[[], object]]],
) -> tuple[list[CallDependence], tuple[str, ...]]:
    """What is wrong with the results of calls with no case, and a note on those refused.

    An exception is a refusal; a result of another shape or dtype is wrong.

    Args:
        calls: the operation, the format, and what makes the call and reads its result.
    """
    uses: list[CallDependence] = []
    refused: dict[str, str] = {}
    for op, format, call in calls:
        try:
            with quiet():
                call()
        except AnswerError as error:
            text = f"wrong in a call with no case: {error}"
            uses.append(CallDependence(op, format, "empty", text))
        except BaseException as error:
            if not is_fault(error):
                raise
            refused.setdefault(op, error_text(error))
    note = f"{', '.join(refused)} refuses empty input: {next(iter(refused.values()), '')}"
    return uses, (note,) if refused else ()


def by_two_threads(ask: Callable[[Question], Reply], questions: Iterable[Question]) -> list[Reply]:
    """The replies to questions that two threads ask at once.

    Python changes threads as often as it can, so that those that share memory meet.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(ask, questions))
    finally:
        sys.setswitchinterval(before)
