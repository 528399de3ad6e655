"""Counts of answers that are not the profile's, and of answers that are not those of `ocp`.

A case is one number, one block, one code, or of `dequantize` one product of a scale and an element.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ledger.question_kinds import HOWS, KINDS, hows, kinds
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import same_answers
from mxref.operands.word_rows import same_width
from mxref.targets.calls import Answers

__all__ = ["Found", "Tally", "by_case", "same_bits"]

Words = NDArray[np.uint64]
#: Cases of each kind that one round keeps, and the number from which no more are kept.
_KEPT, _MOST = 64, 256


@dataclass(slots=True)
class Found:
    """Cases of one kind whose answers differ in one way.

    Args:
        count: the number of cases.
        kept: the first cases of each round, up to some hundred: question, answer and wanted answer.
    """

    count: int = 0
    kept: list[tuple[Words, Words, Words]] = field(default_factory=list)

    def add(self, inputs: Words, got: Words, want: Words) -> None:
        """Add the cases of a round, one a row."""
        self.count += len(inputs)
        if len(self.kept) < _MOST:
            some = (words[:_KEPT].copy() for words in (inputs, got, want))
            self.kept += zip(*some, strict=True)

    @property
    def inputs(self) -> Words:
        """The questions of the cases that are kept, one a row."""
        return np.array([question for question, _, _ in self.kept])


@dataclass(slots=True)
class Tally:
    """The counted answers to the questions of one file.

    Args:
        file: operation, format and float type.
        has_ocp: whether `ocp` has answers to it.
        cases: the number of cases by origin.
        asked: the number of cases of each kind.
        residuals: by kind and `HOWS`, or the error: answers that are not the profile's.
        differences: by kind and `HOWS`: answers that are not those of `ocp`.
    """

    file: VectorFile
    has_ocp: bool = True
    cases: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    residuals: dict[tuple[str, str], Found] = field(default_factory=dict)
    differences: dict[tuple[str, str], Found] = field(default_factory=dict)

    def add(self, origin: str, inputs: Words, got: Answers, want: Answers, ocp: Words) -> None:
        """Add one round: the questions, and three answers to each.

        Args:
            origin: where the questions come from.
            inputs: the words.
            got: the implementation's answers.
            want: its profile's.
            ocp: those of `ocp`.
        """
        words = [same_width(some, ocp)[0] for some in (got.words, want.words, ocp)]
        (questions, answers), (_, wanted), (_, default) = (
            by_case(self.file, inputs, some) for some in words
        )
        self.cases[origin] = self.cases.get(origin, 0) + len(questions)
        kind = kinds(self.file, questions, default)
        names = list(KINDS[self.file.op])
        for number, count in enumerate(np.bincount(kind).tolist()):
            if count:
                self.asked[names[number]] = self.asked.get(names[number], 0) + count
        raised = self._refused(len(inputs), kind, (questions, answers, wanted), got, want)
        other = ~raised & ~same_bits(self.file, wanted, answers)
        self._sort(self.residuals, other, kind, questions, answers, wanted)
        if self.has_ocp:
            other = ~raised & ~np.all(same_answers(self.file, default, answers), axis=1)
            self._sort(self.differences, other, kind, questions, answers, default)

    def _refused(
        self,
        rows: int,
        kind: NDArray[np.intp],
        words: tuple[Words, Words, Words],
        got: Answers,
        want: Answers,
    ) -> NDArray[np.bool_]:
        """Cases that raised: a residual where the other side has an answer."""
        every = np.zeros(len(kind), bool)
        places = np.arange(len(kind)).reshape(rows, -1)
        names = list(KINDS[self.file.op])
        for index in {**got.errors, **want.errors}:
            cases = places[index]
            every[cases] = True
            to, how = self.residuals, "raises " + _kind_of_error(got.errors.get(index, ""))
            if index not in got.errors:
                how = "the profile raises " + _kind_of_error(want.errors[index])
            elif index in want.errors:
                to, how = self.differences, HOWS[-1]
            for number in np.unique(kind[cases]).tolist():
                some = cases[kind[cases] == number]
                found = to.setdefault((names[number], how), Found())
                found.add(*(one[some] for one in words))
        return every

    def _sort(
        self,
        found: dict[tuple[str, str], Found],
        other: NDArray[np.bool_],
        kind: NDArray[np.intp],
        inputs: Words,
        got: Words,
        want: Words,
    ) -> None:
        """Add cases with other answers, by kind and by the part that differs."""
        if not other.any():
            return
        names = list(KINDS[self.file.op])
        how = hows(self.file, *same_width(got[other], want[other]))
        keys = kind[other] * len(HOWS) + how
        for key in np.unique(keys).tolist():
            place = names[key // len(HOWS)], HOWS[key % len(HOWS)]
            some = np.flatnonzero(other)[keys == key]
            found.setdefault(place, Found()).add(inputs[some], got[some], want[some])


def _kind_of_error(text: str) -> str:
    """The text of an error with N for each number."""
    return re.sub(r"\d+", "N", text)


def by_case(file: VectorFile, inputs: Words, answers: Words) -> tuple[Words, Words]:
    """Questions and answers, one case a row: of `dequantize` a scale code and one element code."""
    if file.op != "dequantize":
        return inputs, answers
    codes = inputs[:, 1:]
    scales = np.broadcast_to(inputs[:, :1], codes.shape)
    return np.stack([scales.ravel(), codes.ravel()], axis=1), answers.reshape(-1, 1)


def same_bits(file: VectorFile, want: Words, got: Words) -> NDArray[np.bool_]:
    """For each case whether all bits are the same; NaN that something is decoded to is one class.

    Codes are compared by their bits, those of NaN and those under a NaN scale as well.
    """
    same: NDArray[np.bool_] = np.all(same_answers(file, want, got, bits=True), axis=1)
    return same
