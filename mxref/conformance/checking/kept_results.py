"""Whether results and arguments stay as they were, in computed calls and in cases asked again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.array_memory import copies
from mxref.conformance.checking.call_effects import argument_changed
from mxref.conformance.checking.call_questions import CallQuestion
from mxref.conformance.checking.repeated_cases import Call, RepeatedCases
from mxref.conformance.compare.compare import same_answers
from mxref.targets.calls import call_operation, error_text, is_fault, quiet

__all__ = ["IN_PLACE", "MIDDLE", "kept_calls", "misused", "overwritten"]

Words = NDArray[np.uint64]

#: Calls after which a result must be what it was: results that take turns are of fewer buffers.
LATER = 8
_ORDINALS = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
#: What is wrong where numbers that were put in an array are not seen, or one number is not.
IN_PLACE = "an array changed in place gives the answers to what it was before"
MIDDLE = "not reproducible: a call gives the answers to an earlier one that differs from it in"
#: Questions in which a number in the middle is changed until that gives another answer.
_TRIES = 4
#: Calls with numbers that were never asked, and the number of the first of them.
_FRESH, _NEW = 8, 100
#: Rows of a call with cases.
_ROWS = 33
#: How far rows lie further on in calls that tell what is kept from what depends on other rows.
_FURTHER = (_ROWS // 4, 3, 5, 11)
#: The turn of the first call that differs from another one in the middle, after those of
#: `repeated_calls` and of LATER calls.
_FIRST_TURN = 20


def overwritten(later: int) -> str:
    """That a result is overwritten by the how manyth call after its own.

    >>> overwritten(3)
    'the result of a call is overwritten by the third call after it'
    """
    by = "next call" if later == 1 else f"{_ORDINALS[later - 2]} call after it"
    return f"the result of a call is overwritten by the {by}"


def misused(
    call: Callable[..., object], known: Callable[[int], CallQuestion]
) -> tuple[str, str] | None:
    """The kind and the text of what is wrong where results and arguments are looked at once more.

    These are results that later calls overwrite, arguments that a call changes, answers that are
    those of an earlier call, and numbers that are wrong by themselves; the first of them is said.
    What is asked ends where the target raises.

    Args:
        call: the target's function.
        known: makes calls of one shape, with numbers of their own for each number from 0 on.
    """
    drawn = functools.cache(known)
    try:
        # The last is asked only where numbers are right: else it says nothing.
        asked = (found for ask in (_held, _in_place, _middles) for found in ask(call, drawn))
        return next(asked, None)
    except BaseException as error:
        if not is_fault(error):
            raise
        return None


def _later_change(
    read: Callable[[], Words], other: Callable[[int], object]
) -> tuple[int, Words, Words]:
    """The how manyth later call changes a result, or 0; the result at once, and in the end.

    Args:
        read: reads the result.
        other: makes a later call, by its number from 1 on.
    """
    before = now = read()
    for number in range(1, LATER + 1):
        other(number)
        now = read()
        if not np.array_equal(now, before):
            return number, before, now
    return 0, before, now


def _put(mine: object, new: object) -> object:
    """An array with other numbers put in it; what is no array, or has another shape, is new."""
    if isinstance(mine, np.ndarray) and isinstance(new, np.ndarray) and mine.shape == new.shape:
        mine[...] = new
        return mine
    return new


def _held(
    call: Callable[..., object], known: Callable[[int], CallQuestion]
) -> Iterator[tuple[str, str]]:
    """Whether a call changes its arguments, or later calls a result."""
    changes: list[str] = []

    def made(number: int) -> object:
        arguments = known(number).arguments
        given = copies(arguments)
        result = call(*given)
        changes.append(argument_changed(arguments, given))
        return result

    first, result = known(0), made(0)
    later, before, now = _later_change(lambda: first.words(result), made)
    if any(changes):
        yield "effect", next(filter(None, changes))
    elif later:
        text = first.difference(now if first.is_wrong(now) else before)
        yield "state", f"{overwritten(later)}: {text}"


def _in_place(
    call: Callable[..., object], known: Callable[[int], CallQuestion]
) -> Iterator[tuple[str, str]]:
    """Whether numbers that were put in the arrays of an earlier call are seen."""
    other = known(1)
    mine = copies(known(0).arguments)
    call(*mine)
    given = [_put(one, new) for one, new in zip(mine, copies(other.arguments), strict=True)]
    got = other.words(call(*given))
    if other.is_wrong(got):
        yield _wrong(call, other, got, IN_PLACE)


def _middles(
    call: Callable[..., object], known: Callable[[int], CallQuestion]
) -> Iterator[tuple[str, str]]:
    """Whether a call sees each argument whole: after a call that differs in a single number."""
    other, number = known(1), LATER
    for place, new in enumerate(other.arguments):
        is_array = isinstance(new, np.ndarray)
        if not is_array and all(known(i).arguments[place] == new for i in range(LATER)):
            continue  # a name, or what decides about the shape
        for _ in range(_TRIES):
            number += 1
            one = known(number)
            changed = [*one.arguments]
            changed[place] = _with_middle(changed[place], new)
            try:
                before = one.words(call(*copies(changed)))
            except BaseException as error:
                if not is_fault(error):
                    raise
                continue  # numbers that do not go together may be refused
            if not one.is_wrong(before):
                continue  # a right answer to both
            got = one.words(call(*copies(one.arguments)))
            if one.is_wrong(got):
                what = f"{MIDDLE} argument {place + 1} alone"
                if is_array:
                    what = f"{MIDDLE} one number in the middle of argument {place + 1}"
                same = np.array_equal(got, before)
                if not (same and _often_wrong(call, known, number)):
                    yield _wrong(call, one, got, what, same=same)
            break


def _often_wrong(
    call: Callable[..., object], known: Callable[[int], CallQuestion], number: int
) -> bool:
    """Whether a call with numbers that were never asked is wrong: so it is not what is kept."""
    fresh = [known(number + _NEW + i) for i in range(_FRESH)]
    wrong = [one.is_wrong(one.words(call(*copies(one.arguments)))) for one in fresh]
    return any(wrong)


def _with_middle(mine: Any, new: Any) -> Any:
    """An array with the middle number of another one; what is no array is the other one."""
    if not isinstance(mine, np.ndarray):
        return new
    place = tuple(size // 2 for size in mine.shape)
    changed = mine.copy()
    if mine.size and mine.shape == new.shape:
        changed[place] = new[place]
    return changed


def _wrong(
    call: Callable[..., object], one: CallQuestion, got: Words, what: str, *, same: bool = False
) -> tuple[str, str]:
    """That a wrong answer is what is said, or `same`, unless fresh arrays have it as well."""
    if not same and np.array_equal(one.words(call(*copies(one.arguments))), got):
        return "numbers", f"wrong with some numbers: {one.difference(got)}"
    return "state", f"{what}: {one.difference(got)}"


def kept_calls(one: RepeatedCases) -> list[Call]:
    """Calls about what a target keeps; of the last way only those that are wrong.

    Each is called `held`: what a later call changed in the result of the first one; if nothing, the
    first call as a `batch`. `in_place`: the second of two calls that share their arrays. `middle`:
    a call after one that differs in a single word.
    """
    found: list[Call] = []
    with quiet():
        for way, ask in (
            ("held", _held_cases),
            ("in_place", _in_place_cases),
            ("middle", _middle_cases),
        ):
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


def _held_cases(one: RepeatedCases) -> Iterator[Call]:
    """Some calls after the first one, whose result is read again after each."""
    first = one.chosen(_ROWS, 1)
    results: list[Any] = []

    @functools.wraps(one.function)
    def function(*arguments: Any) -> Any:
        results.append(one.function(*arguments))
        return results[-1]

    @functools.wraps(one.function)
    def read_again(*_: Any) -> Any:
        return results[0]

    _asked(one, function, first)
    later, at_once, got = _later_change(
        lambda: _asked(one, read_again, first),
        lambda number: _asked(one, function, one.chosen(_ROWS, 1 + number)),
    )
    same = (got == at_once).all(axis=1, keepdims=True)
    held = one.compared(
        first, np.where(same, one.first[first][:, : got.shape[1]], got), 2, 0, "held"
    )
    if held.differs:
        yield replace(held, later=later)
    else:
        yield one.compared(first, at_once, 2, 0, "batch")


def _in_place_cases(one: RepeatedCases) -> Iterator[Call]:
    """The second of two calls, whose arrays are those of the first, overwritten."""
    shared: dict[int, Any] = {}

    @functools.wraps(one.function)
    def function(*arguments: Any) -> Any:
        for place, new in enumerate(arguments):
            shared[place] = _put(shared.get(place), new)
        return one.function(*(shared[place] for place in range(len(arguments))))

    rows = one.chosen(_ROWS, 2)
    _asked(one, function, one.chosen(_ROWS, 1))
    yield one.compared(rows, _asked(one, function, rows), 2, 0, "in_place")


def _middle_cases(one: RepeatedCases) -> Iterator[Call]:
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
    """Whether the row in the middle has its answer where all rows lie further on, however far.

    Its neighbours are the same, so that an answer which depends on them is wrong there, too; and
    one that depends on the first row is wrong unless that has the same by chance.
    """
    return not any(
        _ROWS // 2 + further in one.ask(np.roll(rows, further), 2).changed for further in _FURTHER
    )


def _asked(
    one: RepeatedCases, function: Callable[..., Any], rows: NDArray[np.int64], words: Any = None
) -> NDArray[np.uint64]:
    """The answers of a function to cases, or to words instead of theirs."""
    return call_operation(function, one.file, one.inputs[rows] if words is None else words)
