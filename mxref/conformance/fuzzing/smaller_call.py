"""The smallest call that fails: fewer questions, fewer cases, simpler numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.conformance.fuzzing.fuzz_call import SIZES, FuzzCall
from mxref.operands.word_rows import stripped

__all__ = ["smallest_call"]

Words = NDArray[np.uint64]
#: From a call to the place of its first wrong answer, None if all are right.
FirstWrong: TypeAlias = Callable[[FuzzCall], int | None]

#: Limits of the calls made to simplify a batch: their number, and their cases together.
_CALLS, _CASES = 1000, 400_000
#: How many simpler numbers are tried in one place.
_TRIED = 40


def smallest_call(
    first_wrong: FirstWrong, file: VectorFile, call: FuzzCall, place: int = 0
) -> FuzzCall:
    """The smallest call found that fails like a given batch.

    Args:
        first_wrong: the place of the first wrong answer to a call, None if all are right.
        file: operation, format and float type.
        call: a batch that fails, whose questions do not fail as they are.
        place: of a wrong answer in the batch.
    """
    call = _fewer_questions(first_wrong, call, place)
    call = _fewer_cases(first_wrong, call)
    return _simpler_questions(first_wrong, file, call)


def _fewer_questions(first_wrong: FirstWrong, call: FuzzCall, place: int) -> FuzzCall:
    """The batch of one question if that fails, else without the questions that do not matter."""
    one = FuzzCall(call.alone(place).rows, size=call.count)
    if first_wrong(one) is not None:
        return one
    in_order = FuzzCall(call.rows, size=call.count)
    if call.permuted and first_wrong(in_order) is not None:
        call = in_order
    part = len(call.rows) // 2
    while part:
        for first in range(0, len(call.rows), part):
            some = slice(first, first + part)
            fewer = call.of(np.delete(call.rows, some, axis=0))
            if len(fewer.rows) and first_wrong(fewer) is not None:
                call = fewer
        part //= 2
    return call


def _fewer_cases(first_wrong: FirstWrong, call: FuzzCall) -> FuzzCall:
    """The batch with the fewest cases: the first of `SIZES` that fails, then by bisection."""

    def of_size(size: int) -> FuzzCall:
        return FuzzCall(call.rows, size=size, permuted=call.permuted)

    least = max(2, len(call.rows))
    right, wrong = least - 1, call.count
    for size in SIZES:
        if right < size < wrong:
            if first_wrong(of_size(size)) is not None:
                wrong = size
                break
            right = size
    while wrong - right > 1:
        middle = (right + wrong) // 2
        is_wrong = first_wrong(of_size(middle)) is not None
        right, wrong = (right, middle) if is_wrong else (middle, wrong)
    return of_size(wrong)


def _simpler_questions(first_wrong: FirstWrong, file: VectorFile, call: FuzzCall) -> FuzzCall:
    """The batch with simpler numbers, as far as the limits of calls and cases allow."""
    left = min(_CALLS, _CASES // call.count)

    def is_wrong(call: FuzzCall) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and first_wrong(call) is not None

    def simpler(call: FuzzCall, row: int) -> FuzzCall | None:
        """The first simpler batch that fails, of those that differ in one question."""
        words_of = stripped(call.rows[row])
        for attempt in file.row.attempts(file.format, file.float, words_of):
            found = attempt(call.rows[row])
            for words in (*_wrong_together(first_wrong, call, found), *found[:_TRIED]):
                rows = call.rows.copy()
                rows[row] = words
                if is_wrong(call.of(rows)):
                    return call.of(rows)
        return None

    for row in range(len(call.rows)):
        next_call = simpler(call, row)
        while next_call is not None:
            call, next_call = next_call, simpler(next_call, row)
    return call


def _wrong_together(first_wrong: FirstWrong, call: FuzzCall, rows: Words) -> Words:
    """The first of some questions that is answered wrongly when all are asked in one batch.

    None if the batch has several questions: what fails may be their order.
    """
    if len(call.rows) > 1 or not len(rows):
        return rows[:0]
    batch = FuzzCall(rows, size=max(call.count, len(rows)))
    place = first_wrong(batch)
    return rows[:0] if place is None else batch.alone(place).rows
