"""Cases asked again: in calls of many sizes, in another order, in other memory, in threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from mxref.cases.records import VectorFile
from mxref.conformance.checking.array_memory import PLACED, STRIDE_0, named
from mxref.conformance.checking.axis_sizes import FAR, LARGE, SMALL
from mxref.conformance.checking.kept_results import kept_calls
from mxref.conformance.checking.odd_calls import ask_empty, by_two_threads
from mxref.conformance.checking.progress import untold
from mxref.conformance.checking.repeated_cases import Call, RepeatedCases
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.targets.calls import call_operation, is_fault, quiet
from mxref.targets.target import PythonTarget

__all__ = [
    "FIRST",
    "ask_again",
    "ask_nothing",
    "elements_of",
    "first_calls",
    "refusals",
    "rows_of",
]

#: Rows of the calls whose arrays lie elsewhere in memory, and their offsets in items.
_MOVED = ((33, 1), (64, 3), (257, 1))
#: Rows of the first call of all, to which kernels that compile at their first call are fitted.
FIRST = 64
#: Rows of the calls made by two threads at once, and their number; so many have the same.
_THREADED, _OF_ONE_SIZE = (4096, 12), 8
#: The elements that take as long as a call by itself, as it is for NumPy.
_PER_CALL = 20_000


def elements_of(file: VectorFile, rows: int) -> int:
    """The number of elements in a call with some rows of a file; of integers by rule of thumb."""
    if file.row.own_choices:
        return rows * 64
    width = len(file.cases[0].inputs) if file.row.blocks else 1
    return rows * width


def rows_of(file: VectorFile, *, large: bool, far: bool, elements: int) -> tuple[int, ...]:
    """The sizes of the calls for a file, in order.

    Args:
        file: the file.
        large: whether the sizes of LARGE are asked.
        far: whether those of FAR are, too.
        elements: the largest number of elements in a call.
    """
    every = (*SMALL, *(LARGE if large else ()), *(FAR if far else ()))
    return tuple(sorted(count for count in every if elements_of(file, count) <= elements))


def first_calls(files: Sequence[tuple[Callable[..., Any], VectorFile]]) -> None:
    """Call each operation with a round number of rows, the narrowest float type first.

    A kernel that is compiled at its first call is fitted to it; what comes later shows that. The
    answers are not looked at, since the same cases are asked again.
    """
    widths = {"f16": 16, "bf16": 16, "f64": 64}
    for function, file in sorted(files, key=lambda pair: widths.get(pair[1].float, 32)):
        if not file.row.varied and len(file.cases) >= FIRST:
            try:
                with quiet():
                    call_operation(function, file, file.input_words()[:FIRST])
            except BaseException as error:
                if not is_fault(error):
                    raise


def ask_again(
    cases: Sequence[RepeatedCases],
    elements: int,
    *,
    threads: bool = False,
    tell: Callable[[float], None] = untold,
) -> Iterator[Call]:
    """Every file in calls of all sizes, twice, in another order the second time.

    Args:
        cases: the files of all operations and formats, in their order.
        elements: the largest number of elements in a call.
        threads: whether two threads may call the target at once.
        tell: called with the share of this that is done.
    """
    some = [one for one in cases if one.usable]
    large = {(one.file.op, one.file.format): one for one in reversed(some)}.values()
    far = {one.file.op: one for one in reversed(some)}.values()
    sizes = {
        one: rows_of(one.file, large=one in large, far=one in far, elements=elements)
        for one in some
    }
    # One float type or format after the other at each size, in turns forwards and backwards.
    plan = [
        (one, count)
        for i, count in enumerate(sorted({count for few in sizes.values() for count in few}))
        for one in (some if i % 2 else some[::-1])
        if count in sizes[one]
    ]
    # Nine tenths of the time; a call takes as long as many elements, too.
    work = [_PER_CALL + elements_of(one.file, count) for one, count in plan]
    done = [0, *itertools.accumulate([*work, *reversed(work)])]
    shares = iter([0.9 * before / max(done[-1], 1) for before in done])
    for one, count in plan:
        tell(next(shares))
        yield one.ask(one.chosen(count, 1))
    for one, count in reversed(plan):
        tell(next(shares))
        yield one.ask(one.chosen(count, 2), turn=2)
    tell(next(shares))
    for one in some:
        yield from kept_calls(one)
    for one in some:
        for count, offset in _MOVED:
            if elements_of(one.file, count) <= elements:
                yield one.ask(one.chosen(count, 1), 2, offset, "memory")
        yield from (one.lying(memory) for memory in PLACED[1:])
        yield from (one.lying(STRIDE_0, rows) for rows in one.repeated())
        yield from (one.ask(rows, 2, 0, "scales") for rows in one.near_scales())
    for one in some if threads else ():
        most, times = _THREADED
        count = max(min(most, elements // elements_of(one.file, 1)), times)
        # Calls of one size share what a kernel keeps for a size; the others share the rest.
        orders = [one.chosen(count - turn // _OF_ONE_SIZE, turn) for turn in range(times)]
        with quiet():
            found = by_two_threads(partial(one.ask_loudly, turn=2, offset=0, way="threads"), orders)
        yield from found


def refusals(calls: Sequence[Call]) -> Iterator[str]:
    """Which arrays a target refuses by an exception, in words."""
    refused: dict[int, dict[str, str]] = {}
    for call in calls:
        if call.way == "memory" and call.error:
            refused.setdefault(call.memory, {})[call.file.op] = call.error
    for ops in dict.fromkeys(tuple(some) for some in refused.values()):
        memories = [memory for memory, some in refused.items() if tuple(some) == ops]
        yield f"{', '.join(ops)} refuses {named(memories)}: {refused[memories[0]][ops[0]]}"


def ask_nothing(
    target: PythonTarget, files: Sequence[VectorFile]
) -> tuple[list[CallDependence], tuple[str, ...]]:
    """A call with no case for each operation and format: what is wrong, and what is refused."""
    first: dict[tuple[str, str], VectorFile] = {}
    for file in files:
        if file.cases and not file.row.varied:
            first.setdefault((file.op, file.format), file)
    return ask_empty((*key, partial(_without_cases, target, one)) for key, one in first.items())


def _without_cases(target: PythonTarget, file: VectorFile) -> object:
    return call_operation(target.operations[file.op], file, file.input_words()[:0])
