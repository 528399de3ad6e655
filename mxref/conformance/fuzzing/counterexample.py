"""A question with a wrong answer, or with two different answers, in one line of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.cases.shown import show_input, show_output
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.fuzzing.fuzz_call import FuzzCall
from mxref.formats.catalog import block_format
from mxref.operands.word_rows import padded

__all__ = ["Answer", "Changed", "Counterexample"]

#: The words of an answer, or the text of an error.
Answer: TypeAlias = tuple[int, ...] | str


@dataclass(frozen=True, slots=True)
class Changed:
    """Two answers of a target to one question.

    Args:
        call: the call, which was made twice.
        failure: the wrong one of the two answers.
        first: the answer of the first call.
        second: the answer of the second call.
    """

    call: FuzzCall
    failure: Failure
    first: Answer
    second: Answer

    def text(self, file: VectorFile) -> str:
        """One line that names the question and shows both answers."""
        inputs, where = self.failure.case.inputs, ""
        show = [_shown(file, one, None) for one in (self.first, self.second)]
        if isinstance(self.first, tuple) and isinstance(self.second, tuple):
            index = _first_word(file, self.failure, self.first, self.second)
            show = [_shown(file, one, index) for one in (self.first, self.second)]
            where = file.row.place(index)
        operation = file.row
        kinds = operation.kinds_in(file.format, file.float, inputs)
        if len(kinds) == 1 and not operation.varied:
            question = show_input(file, inputs[0])
        elif operation.blocks:
            question = f"the same {block_format(file.format).elements_per_block} {operation.blocks}"
        else:
            question = "the same question"
        times = f", case {self.failure.index + 1} of {self.call.count} in each call"
        said = f"not reproducible: {question} gave {show[0]} and {show[1]}{where}"
        return said + times * (self.call.count > 1)


def _first_word(
    file: VectorFile, failure: Failure, first: tuple[int, ...], second: tuple[int, ...]
) -> int:
    """The first word in which two answers differ; the last one of the shorter if it ends early."""
    words = (np.array([first], np.uint64), np.array([second], np.uint64))
    index = int(
        np.argmin(same_answers(file, *words, padded([failure.case.inputs]), bits=failure.bits)[0])
    )
    return min(index, len(first) - 1, len(second) - 1)


def _shown(file: VectorFile, answer: Answer, index: int | None) -> str:
    """An answer, of several words one of them, or the whole error."""
    if isinstance(answer, str):
        return answer
    operation = file.row
    if len(answer) == 1 and not operation.varied:
        return show_output(file, answer[0])
    if index is None:
        return "an answer"
    if operation.single and not operation.bounds(file.format):  # words that say little alone
        return f"{answer[index]:0{file.out_digits}x}"
    return show_output(file, answer[index], index, len(answer))


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The simplest question found that a target answers wrongly.

    Args:
        file: operation, format and float type; its one column is the policy.
        inputs: words of the question, one case a row; several if no single case fails alone.
        failure: the failure of one of the cases.
        code: lines of Python or shell that reproduce it.
        changed: two different answers to the same question, if there were any.
        size: number of cases in the call if it repeats the question, else 0.
        right_below: whether the call with one case less was answered rightly.
    """

    file: VectorFile
    inputs: NDArray[np.uint64]
    failure: Failure
    code: str
    changed: Changed | None = None
    size: int = 0
    right_below: bool = False

    @property
    def steady(self) -> bool:
        """Whether the answer is wrong again when asked again."""
        return self.changed is None

    @property
    def text(self) -> str:
        """One line that says what differs."""
        if self.changed is not None:
            return self.changed.text(self.file)
        said = difference(self.file, self.failure)
        words = self.failure.case.inputs
        if self.failure.got is None and len(words) == 1 and not self.file.row.varied:
            said = f"in {show_input(self.file, words[0])}, {said}"
        count = self.size or len(self.inputs)
        if count > 1:
            right = f", right in a call of {count - 1}" if self.right_below else ""
            said += f" (case {self.failure.index + 1} of {count} in one call{right})"
        return said
