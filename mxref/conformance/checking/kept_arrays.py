"""Whether results and arguments stay as they were, in computed calls and in cases asked again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.array_memory import laid
from mxref.conformance.checking.call_questions import CallQuestion
from mxref.targets.calls import is_fault

__all__ = ["IN_PLACE", "LATER", "MIDDLE", "argument_changed", "misused", "overwritten"]

Words = NDArray[np.uint64]

#: Calls after which a result must be what it was: results that take turns are of fewer buffers.
LATER = 8
_ORDINALS = ("second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
#: What is wrong where numbers that were put in an array are not seen, or one number is not.
IN_PLACE = "an array changed in place gives the answers to what it was before"
MIDDLE = "not reproducible: a call gives the answers to an earlier one that differs from it in"
#: Questions in which a number in the middle is changed until that gives another answer.
_TRIES = 4


def overwritten(later: int) -> str:
    """That a result is overwritten by the how manyth call after its own.

    >>> overwritten(3)
    'the result of a call is overwritten by the third call after it'
    """
    by = "next call" if later == 1 else f"{_ORDINALS[later - 2]} call after it"
    return f"the result of a call is overwritten by the {by}"


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


def _copies(arguments: Sequence[Any]) -> list[Any]:
    return [laid(one, 0) if isinstance(one, np.ndarray) else one for one in arguments]


def _held(
    call: Callable[..., object], known: Callable[[int], CallQuestion]
) -> Iterator[tuple[str, str]]:
    """Whether later calls change a result, or a call its arguments."""
    first = known(0)
    result: object = None
    got: Words = np.empty(0, np.uint64)
    for number in range(LATER + 1):
        one = known(number)
        given = _copies(one.arguments)
        latest = call(*given)
        change = argument_changed(one.arguments, given)
        if change:
            yield "effect", change
        if number == 0:
            result, got = latest, first.words(latest)
        elif not np.array_equal(now := first.words(result), got):
            text = first.difference(now if first.is_wrong(now) else got)
            yield "state", f"{overwritten(number)}: {text}"


def _in_place(
    call: Callable[..., object], known: Callable[[int], CallQuestion]
) -> Iterator[tuple[str, str]]:
    """Whether numbers that were put in the arrays of an earlier call are seen."""
    other = known(1)
    mine = _copies(known(0).arguments)
    call(*mine)
    given = [_put(one, new) for one, new in zip(mine, _copies(other.arguments), strict=True)]
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
                before = one.words(call(*_copies(changed)))
            except BaseException as error:
                if not is_fault(error):
                    raise
                continue  # numbers that do not go together may be refused
            if not one.is_wrong(before):
                continue  # a right answer to both
            got = one.words(call(*_copies(one.arguments)))
            if one.is_wrong(got):
                what = f"{MIDDLE} argument {place + 1} alone"
                if is_array:
                    what = f"{MIDDLE} one number in the middle of argument {place + 1}"
                yield _wrong(call, one, got, what, same=np.array_equal(got, before))
            break


def _with_middle(mine: Any, new: Any) -> Any:
    """An array with the middle number of another one; what is no array is the other one."""
    if not isinstance(mine, np.ndarray):
        return new
    place = tuple(size // 2 for size in mine.shape)
    changed = mine.copy()
    if mine.size and mine.shape == new.shape:
        changed[place] = new[place]
    return changed


def _put(mine: object, new: object) -> object:
    """An array with other numbers put in it; what is no array, or has another shape, is new."""
    if isinstance(mine, np.ndarray) and isinstance(new, np.ndarray) and mine.shape == new.shape:
        mine[...] = new
        return mine
    return new


def _wrong(
    call: Callable[..., object], one: CallQuestion, got: Words, what: str, *, same: bool = False
) -> tuple[str, str]:
    """That a wrong answer is what is said, or `same`, unless fresh arrays have it as well."""
    if not same and np.array_equal(one.words(call(*_copies(one.arguments))), got):
        return "numbers", f"wrong with some numbers: {one.difference(got)}"
    return "state", f"{what}: {one.difference(got)}"
