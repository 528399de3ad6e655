"""Calls that repeat cases, compared with the right answers and with the answers before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.conformance.checking.repeated_calls import FIRST
from mxref.conformance.checking.repeated_cases import Call, RepeatedCases
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.verdict.report import Report
from mxref.operands.word_rows import stripped
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.support.distinct import distinct

__all__ = ["Judge", "Wanted", "answers_text", "subject", "usual_answers", "wanted_by"]

#: The right answers to the cases of a file, one a row.
Wanted = Callable[[RepeatedCases], NDArray[np.uint64]]

#: Rows of a call that all right ones have at most where it is vectors that are wrong, not tails.
_TAIL = 8


def wanted_by(report: Report) -> Wanted:
    """What gives the right answers to the cases of a report, each file's once."""
    has_profile = {o.file.stem for row in report.rows if row.profile for o in row.outcomes}
    right: dict[str, NDArray[np.uint64]] = {}

    def wanted(one: RepeatedCases) -> NDArray[np.uint64]:
        stem = one.file.stem
        if stem not in right:
            profile = report.profile if stem in has_profile else None
            right[stem] = one.outcome.wanted(report.policy, profile)
        return right[stem]

    return wanted


@dataclass(frozen=True, slots=True)
class Judge:
    """The files of an operation and format, with the right answers and the usual ones."""

    of: Mapping[str, RepeatedCases]
    wanted: Wanted
    usual: Mapping[str, NDArray[np.uint64]]
    unit: str

    def wrong(self, call: Call) -> NDArray[np.int64]:
        """Which of the changed answers of a call, by their numbers, are neither right nor usual."""
        rows = call.rows[call.changed]
        right, usual = self.wanted(self.of[call.file.stem])[rows], self.usual[call.file.stem][rows]
        is_right = same_answers(call.file, right, call.got).all(axis=1)
        is_usual = same_answers(call.file, usual, call.got).all(axis=1)
        return np.flatnonzero(~(is_right | is_usual))

    def bad(self, call: Call) -> bool:
        """Whether an answer in a call is wrong, and not as it always is."""
        return bool(call.error) or self.wrong_places(call).size > 0

    def differs(self, call: Call) -> bool:
        """Whether an answer in a call changed and is not right: it may be where others are not."""
        return bool(call.error) or self.wrong(call).size > 0

    def wrong_places(self, call: Call) -> NDArray[np.int64]:
        """The places of a call where the answer is wrong."""
        first, usual = self.of[call.file.stem].first, self.usual[call.file.stem]
        is_right = np.asarray(same_answers(call.file, usual, first).all(axis=1))
        is_wrong = ~is_right[call.rows]
        is_wrong[call.changed] = False
        is_wrong[call.changed[self.wrong(call)]] = True
        return np.flatnonzero(is_wrong)

    def first_calls(self, calls: Sequence[Call]) -> Iterator[Call]:
        """The calls to the vectors, whose wrong answers became right later."""
        for one in self.of.values():
            found = [np.empty(0, np.int64)]
            for call in calls:
                if call.file is one.file and call.changed.size:
                    rows = call.rows[call.changed]
                    usual = self.usual[call.file.stem][rows]
                    same = same_answers(call.file, usual, call.got).all(axis=1)
                    found.append(rows[same])
            wrong = distinct(np.concatenate(found))
            every = np.arange(len(one.inputs))
            yield Call(one.file, every, 0, 0, "batch", wrong, one.first[wrong])

    def example(self, call: Call) -> str:
        """The first wrong answer of a call, as reports show failures."""
        if call.error:
            return call.error
        one, wrong = self.of[call.file.stem], self.wrong_places(call)
        place = wrong[0] if wrong.size else call.changed[0]
        number, changed = int(call.rows[place]), np.flatnonzero(call.changed == place)
        got = call.got[changed[0]] if changed.size else one.first[number]
        case = call.file.cases[number]
        failure = Failure(number, case, stripped(self.wanted(one)[number]), stripped(got))
        where = f"with {len(call.rows):,} {self.unit}, {case.id}"
        return f"{where}: {difference(call.file, failure)}"


def usual_answers(
    one: RepeatedCases, calls: Sequence[Call], right: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """The answers of the vectors' call, the right ones to cases whose answer changes.

    Those of them that it has wrong are asked again in calls of a round size: so what a target
    always has wrong does not look as if some calls made it wrong.
    """
    found = one.first.copy()
    changed = [call.rows[call.changed] for call in calls if call.file is one.file]
    rows = distinct(np.concatenate([np.empty(0, np.int64), *changed]))
    found[rows] = right[rows]
    rows = rows[~same_answers(one.file, right[rows], one.first[rows]).all(axis=1)]
    if _by_size([call for call in calls if call.file is one.file], rows, right):
        return found
    for start in range(0, len(rows), FIRST):
        call = one.ask(np.resize(rows[start : start + FIRST], FIRST), 2)
        if not call.error:
            found[call.rows] = one.first[call.rows]
            found[call.rows[call.changed], : call.got.shape[1]] = call.got
    return found


def _by_size(calls: Sequence[Call], rows: NDArray[np.int64], right: NDArray[np.uint64]) -> bool:
    """Whether cases that the vectors' call has wrong are right in all small calls, and in no other.

    Args:
        calls: those of a file.
        rows: the cases.
        right: the right answers to all cases of the file.
    """
    sizes: dict[bool, list[int]] = {False: [], True: []}
    for call in calls:
        if call.way == "batch" and not call.error:
            changed = call.rows[call.changed]
            good = call.changed[same_answers(call.file, right[changed], call.got).all(axis=1)]
            is_right = np.isin(np.arange(len(call.rows)), good)[np.isin(call.rows, rows)]
            for each in distinct(is_right).tolist():
                sizes[each].append(len(call.rows))
    return bool(all(sizes.values())) and _TAIL <= max(sizes[True]) < min(sizes[False])


def subject(file: VectorFile) -> str:
    """The question of a file's operation, in words."""
    if file.op in LAYOUT_OPERATIONS:
        return "the same input"
    width = len(file.cases[0].inputs)
    unit = file.row.unit.removesuffix("s")
    blocks = {"quantize": f"the same {width} numbers", "dequantize": "the same scale and codes"}
    return blocks.get(file.op, f"the same {unit}")


def answers_text(file: VectorFile, before: NDArray[np.uint64], now: NDArray[np.uint64]) -> str:
    """That one question has two answers, with the first word that differs."""
    index = int(np.argmax(before[: now.size] != now))
    a, b = (f"{int(word):0{file.out_digits}x}" for word in (before[index], now[index]))
    return f"{subject(file)} gave {a} and {b}"
