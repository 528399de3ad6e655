"""How fast a target answers the vectors, and so how large its other calls may be."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.conformance.checking.progress import untold
from mxref.conformance.checking.repeated_calls import elements_of
from mxref.conformance.compare.compare import Answered, asked
from mxref.operations.registry import (
    CALL_OPERATIONS,
    LAYOUT_OPERATIONS,
    PRODUCT_OPERATIONS,
)
from mxref.targets.calls import call_operation, is_fault, quiet
from mxref.targets.target import PythonTarget, Target

__all__ = ["PACES", "timed"]

#: The largest number of elements in a call, by the time that the vectors took for a million.
PACES = ((5.0, 2_200_000), (15.0, 140_000), (60.0, 9_000), (float("inf"), 1_100))
#: Elements that a call with few of them counts as, so that its start does not look like slowness;
#: a call about a layout or of integers is small.
_LEAST = 1000
_LEAST_OF_CASE = dict.fromkeys(LAYOUT_OPERATIONS, 100) | dict.fromkeys(CALL_OPERATIONS, 500)


def timed(
    target: Target, files: Sequence[VectorFile], tell: Callable[[float], None] = untold
) -> tuple[list[Answered], float]:
    """The answers to the vectors, and seconds for a million elements in the slowest operation.

    `tell` is called with the share of the files that is done.
    """
    paces: dict[str, float] = {}
    answered: list[Answered] = []
    for i, file in enumerate(files):
        tell(i / len(files))
        start = time.perf_counter()
        answered.append(asked(target, file))
        seconds = time.perf_counter() - start
        if not file.cases or file.op in PRODUCT_OPERATIONS:  # whose calls have one size
            continue
        least = _LEAST_OF_CASE.get(file.op, 0) * len(file.cases) or _LEAST
        elements = max(elements_of(file, len(file.cases)), least)
        if seconds / elements * 1e6 > PACES[0][0] and isinstance(target, PythonTarget):
            if file.op in LAYOUT_OPERATIONS:
                elements = _LEAST
                seconds = min(_seconds_of_largest(target, answered[-1]) for _ in range(3))
            else:
                seconds = min(seconds, _seconds_again(target, answered[-1]))
        # The fastest file of an operation: a busy machine makes others look slow.
        paces[file.op] = min(paces.get(file.op, math.inf), seconds / elements * 1e6)
    return answered, max(paces.values(), default=0.0)


def _seconds_again(target: PythonTarget, one: Answered) -> float:
    """Seconds for the answered cases in a call that does not raise, scaled to all of the file.

    A call that raised, and the cases asked one by one after it, take time that says nothing.
    """
    answered = np.delete(np.arange(len(one.inputs)), [*one.answers.errors])
    for count in (len(answered) - 1, len(answered) // 2 + 1, len(answered) // 4, 64):
        if not 0 < count <= len(answered) or one.file.row.varied:
            continue
        seconds = _seconds(target, one.file, one.inputs[answered[:count]])
        if seconds < math.inf:
            return seconds * len(one.inputs) / count
    return math.inf


def _seconds_of_largest(target: PythonTarget, one: Answered) -> float:
    """Seconds of one call with the largest case about a layout: those of many small ones say less.

    Infinite if it raises.
    """
    sizes = [len(case.inputs) for case in one.file.cases]
    seconds = _seconds(target, one.file, one.inputs[[int(np.argmax(sizes))]])
    return seconds * _LEAST / max(max(sizes), _LEAST)


def _seconds(target: PythonTarget, file: VectorFile, words: NDArray[np.uint64]) -> float:
    """Seconds of one call with some cases; infinite if it raises."""
    start = time.perf_counter()
    try:
        with quiet():
            call_operation(target.operations[file.op], file, words)
    except BaseException as error:
        if not is_fault(error):
            raise
        return math.inf
    return time.perf_counter() - start
