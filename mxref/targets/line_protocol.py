"""The line protocol: questions and answers as lines of text, for targets in any language.

The section with that name in `vectors/README.md` is the contract with authors of such programs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile, words
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.text import one_line
from mxref.targets.calls import Answers
from mxref.targets.claims import claimable, claimed_names, claims_cover
from mxref.targets.imports import TargetError

__all__ = [
    "LONGEST",
    "NO_ANSWER",
    "PROTOCOL",
    "Answer",
    "AnswerReader",
    "Claims",
    "Dialogue",
    "LineError",
    "LineQuestion",
    "in_order",
    "in_rows",
    "not_counted",
    "parse_answer",
    "prompt_lines",
    "questions_of",
]

#: Version of the protocol; mxref's first line names it.
PROTOCOL = 1
#: The error of a question that recorded answers do not have.
NO_ANSWER = "no answer"
#: The most characters of a line of answers, without its end.
LONGEST = 1 << 16
_HEX = re.compile("[0-9a-fA-F]*")


class LineError(ValueError):
    """A line that cannot be the next answer; nothing after it can be trusted."""


@dataclass(frozen=True, slots=True)
class LineQuestion:
    """One case as it is put to a target.

    Args:
        id: the word that the answer must begin with.
        file: operation, format and float type.
        inputs: the input words.
        again: whether it was asked before.
    """

    id: str
    file: VectorFile
    inputs: tuple[int, ...]
    again: bool = False

    def line(self) -> str:
        """The prompt, without its line end.

        >>> from mxref.targets.calls import without_cases
        >>> LineQuestion("7", without_cases("encode", "e2m1", "bf16"), (0x3FC0,)).line()
        '7 encode e2m1 bf16 3fc0'
        """
        file = self.file
        inputs = words(self.inputs, file.in_digits)
        return f"{self.id} {file.op} {file.format} {file.float} {inputs}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question: words, or the error."""

    words: tuple[int, ...] = ()
    error: str = ""
    unsupported: bool = False  #: the target says that it does not have this
    cut_off: bool = False  #: not asked, or not counted, because of an earlier line


@dataclass(frozen=True, slots=True)
class Claims:
    """What a target claims of itself, in remarks."""

    policy: Policy = field(default_factory=Policy)
    formats: Collection[str] = field(default_factory=lambda: tuple(claimable("FORMATS")))
    floats: Collection[str] = tuple(claimable("FLOATS"))

    def cover(self, format: str, float: str) -> bool:
        """Whether a format and float type are claimed."""
        return claims_cover(self.formats, self.floats, format, float)


def questions_of(
    file: VectorFile, inputs: NDArray[np.uint64] | None = None, first: int = 0
) -> list[LineQuestion]:
    """The cases of a file as questions, by their ids; or other inputs, numbered from `first`."""
    if inputs is None:
        return [LineQuestion(case.id, file, case.inputs) for case in file.cases]
    # The pattern that fills up short rows is a float, too, like every pattern.
    is_padded = REGISTRY[file.op].varied
    rows = (stripped(row) if is_padded else tuple(row.tolist()) for row in inputs)
    return [LineQuestion(str(number), file, row) for number, row in enumerate(rows, first)]


def prompt_lines(questions: Iterable[LineQuestion], *, header: bool = True) -> Iterator[bytes]:
    """The prompt as lines with their ends, the first of them a remark."""
    if header:
        yield f"# mxref lines {PROTOCOL}\n".encode("ascii")
    for question in questions:
        yield f"{question.line()}\n".encode("ascii")


def parse_answer(question: LineQuestion, fields: Sequence[str]) -> Answer:
    """The answer after an id; a malformed answer is an error of its case.

    >>> from mxref.targets.calls import without_cases
    >>> question = LineQuestion("7", without_cases("encode", "e2m1", "bf16"), (0x3FC0,))
    >>> parse_answer(question, ["3"]).words, parse_answer(question, ["0x3"]).error
    ((3,), "word '0x3' is no hex number")
    >>> parse_answer(question, ["encode", "e2m1", "bf16", "ocp", "3fc0"]).error
    'this is the question, not an answer'
    """
    file = question.file
    if list(fields) == ["unsupported"]:
        return Answer(unsupported=True)
    if fields and fields[0] == "error":
        return Answer(error=f"the target says: {one_line(' '.join(fields[1:])) or 'error'}")
    if fields and fields[0] == file.op:
        return Answer(error="this is the question, not an answer")
    for word in fields:
        if not _HEX.fullmatch(word):
            return Answer(error=f"word '{one_line(word, 40)}' is no hex number")
    wanted = _count(file)
    if len(fields) != (wanted or len(fields)) or not fields:
        text = "1 word or more" if wanted is None else f"{wanted} word{'s'[: wanted > 1]}"
        return Answer(error=f"an answer must have {text}, got {len(fields)}")
    longest = max((word.lstrip("0") for word in fields), key=len)
    if len(longest) > file.out_digits:
        got = one_line(longest.lower(), 40)
        return Answer(error=f"a word must have at most {file.out_digits} digits, got {got}")
    return Answer(tuple([int(word, 16) for word in fields]))


def _count(file: VectorFile) -> int | None:
    """The number of words of an answer; None where the answer itself determines it."""
    one = REGISTRY[file.op]
    easy = one.easy(file.format, file.float)
    return None if one.single else one.counts(file.format, easy, Policy())[1]


def in_rows(answers: Sequence[Answer]) -> Answers:
    """Answers to questions as rows of words, and their errors."""
    errors = {row: answer.error for row, answer in enumerate(answers) if answer.error}
    errors |= {
        row: "says `unsupported`, but not of all with this operation, format and float type"
        for row, answer in enumerate(answers)
        if answer.unsupported
    }
    return Answers(padded([answer.words for answer in answers]), errors)


class AnswerReader:
    """Reads lines of answers: splits them into fields, and takes out remarks and their claims.

    Args:
        target: what errors call the target.
        claims: what the target has claimed before.
    """

    __slots__ = ("_answers", "_target", "claims", "number")

    def __init__(self, target: str, claims: Claims | None = None) -> None:
        self.claims = claims or Claims()
        self.number = 0  #: number of the line that was read last, from 1
        self._answers = 0
        self._target = target

    def fields(self, line: bytes) -> list[str] | None:
        """The fields of a line, the id first; None for a remark.

        Raises:
            LineError: the line is too long, cut off, empty or no text.
            TargetError: a claim that is not known.
        """
        self.number += 1
        if len(line) > LONGEST + 1:
            raise LineError(f"line {self.number} has more than {LONGEST} characters")
        if not line.endswith(b"\n"):
            raise LineError(f"line {self.number} has no line end, is it cut off? {_shown(line)}")
        if line.startswith(b"#"):
            self._remark(line.decode("ascii", "replace")[1:].split())
            return None
        try:
            fields = line.decode("ascii").split()
        except UnicodeDecodeError:
            raise LineError(f"line {self.number} is not ASCII: {_shown(line)}") from None
        if not fields:
            raise LineError(f"line {self.number} is empty")
        self._answers += 1
        return fields

    def _remark(self, words: list[str]) -> None:
        match words:
            case ["policy" | "formats" | "floats" as what, *_] if self._answers:
                raise LineError(
                    f"line {self.number} claims {what}, which must come before the first answer"
                )
            case ["policy", *spelling]:
                try:
                    policy = Policy.parse(" ".join(spelling))
                except (ValueError, TypeError) as error:
                    raise TargetError(
                        f"target {self._target} claims an unknown policy: {error}"
                    ) from None
                self.claims = replace(self.claims, policy=policy)
            case ["formats", *names]:
                formats = claimed_names(self._target, "FORMATS", names)
                self.claims = replace(self.claims, formats=formats)
            case ["floats", *names]:
                floats = claimed_names(self._target, "FLOATS", names)
                self.claims = replace(self.claims, floats=floats)


def _shown(line: bytes) -> str:
    """The beginning of a line, printable."""
    return repr(line[:60].rstrip(b"\r\n"))[1:]


class Dialogue:
    """Questions, and the answers received so far, in the same order.

    Args:
        questions: what was asked.
        reader: reads the lines of this run of the target.
    """

    __slots__ = ("_questions", "_reader", "answers")

    def __init__(self, questions: Sequence[LineQuestion], reader: AnswerReader) -> None:
        self.answers: list[Answer] = []
        self._questions = questions
        self._reader = reader

    @property
    def complete(self) -> bool:
        """Whether every question has its answer."""
        return len(self.answers) == len(self._questions)

    def hear(self, line: bytes) -> bool:
        """Take a line, which must begin with the id of the next question; True if it is an answer.

        Raises:
            LineError: it is neither that nor a remark.
            TargetError: a claim that is not known.
        """
        fields = self._reader.fields(line)
        if fields is None:
            return False
        here, id = f"line {self._reader.number}", fields[0]
        if self.complete:
            raise LineError(f"{here} comes after the last answer: {_shown(line)}")
        due = self._questions[len(self.answers)]
        if id != due.id:
            places = reversed(list(enumerate(self._questions)))
            asked = {question.id: place for place, question in places}  # the first place
            if id not in asked:
                raise LineError(
                    f"{here} must begin with {due.id}, whose answer is due, got {_shown(line)}"
                )
            if asked[id] < len(self.answers):
                raise LineError(f"{here} answers {id} again, where {due.id} is due")
            raise LineError(
                f"{here} answers {id}, where {due.id} is due: "
                "answers come in the order of the questions, one for each"
            )
        self.answers.append(parse_answer(due, fields[1:]))
        return True

    def break_off(self, reason: str, others: str | None = None) -> None:
        """Note why the next question has no answer, and the error of the others, if known.

        If all questions have answers, the last supported answer becomes an error, so that each
        fault is reported; one to a question asked for the first time is preferred. Without
        questions the error is the only answer.
        """
        if self.complete and self.answers:
            places = [i for i, answer in enumerate(self.answers) if not answer.unsupported]
            first = [i for i in places if not self._questions[i].again] or places
            self.answers[first[-1] if first else -1] = Answer(error=reason)
            return
        self.answers.append(Answer(error=reason))
        if others is not None:
            left = len(self._questions) - len(self.answers)
            self.answers += [Answer(error=others, cut_off=True)] * left


def in_order(
    lines: Iterable[bytes], questions: Sequence[LineQuestion], target: str
) -> tuple[list[Answer], Claims]:
    """The answers to all questions, from lines in the order of the questions; and the claims.

    Raises:
        TargetError: a claim that is not known.
    """
    reader = AnswerReader(target)
    dialogue = Dialogue(questions, reader)
    try:
        for line in lines:
            dialogue.hear(line)
    except LineError as fault:
        dialogue.break_off(str(fault), not_counted(fault))
    if not dialogue.complete:
        dialogue.break_off(NO_ANSWER, NO_ANSWER)
    return dialogue.answers, reader.claims


def not_counted(fault: LineError) -> str:
    """The error of the questions after a line that is no answer."""
    return f"does not count: {fault}"
