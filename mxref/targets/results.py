"""Targets with recorded answers: from a folder, a pipe, or a program that has ended."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.whole_file import refuse_special, write_file
from mxref.targets.calls import Answers
from mxref.targets.drawn_lines import DRAWN, drawn_questions
from mxref.targets.line_protocol import (
    LONGEST,
    NO_ANSWER,
    Answer,
    AnswerReader,
    Claims,
    LineError,
    LineQuestion,
    in_order,
    in_rows,
    parse_answer,
    prompt_lines,
    questions_of,
)
from mxref.targets.target import TargetError

__all__ = [
    "ResultsTarget",
    "by_file",
    "piped_results",
    "prompts_name",
    "read_results",
    "write_prompts",
]

_NO_ANSWER = Answer(error=NO_ANSWER)


@dataclass(frozen=True, slots=True)
class ResultsTarget:
    """Answers to the cases of vector files, by their ids.

    Args:
        name: the name in reports.
        claims: what the target says of itself.
        answers: by the files' stems, then by the cases' ids.
        again: second answers that differ from the first ones, in the same way.
        drawn: questions beside the cases, by stems, with their answers.
        note: a note on what was asked, for reports.
    """

    name: str
    claims: Claims
    answers: Mapping[str, Mapping[str, Answer]]
    again: Mapping[str, Mapping[str, Answer]] = field(default_factory=dict)
    drawn: Mapping[str, tuple[NDArray[np.uint64], Answers]] = field(default_factory=dict)
    note: str = ""

    @property
    def policy(self) -> Policy:
        """The policy that it claims."""
        return self.claims.policy

    def covers(self, op: str, format: str, float: str) -> bool:
        """Whether there is a file of answers that are not all `unsupported`."""
        answers = self.answers.get(f"{op}/{format}.{float}")
        if answers is None or not (REGISTRY[op].own_choices or self.claims.cover(format, float)):
            return False
        return not answers or not all(answer.unsupported for answer in answers.values())

    def ask(self, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
        """The answers to a whole vector file or its drawn questions; there are no others.

        Raises:
            ValueError: the inputs are not the cases of the file.
        """
        words, answers_to_drawn = self.drawn.get(file.stem, (None, Answers(inputs[:0])))
        if not file.cases and words is not None and np.array_equal(inputs, words):
            return answers_to_drawn
        if len(inputs) != len(file.cases):
            raise ValueError(
                f"inputs must be the {len(file.cases)} cases of {file.stem}, got {len(inputs)}: "
                "there are answers to those only"
            )
        answers = self.answers[file.stem]
        return in_rows([answers.get(case.id, _NO_ANSWER) for case in file.cases])


def by_file(
    questions: Sequence[LineQuestion], answers: Sequence[Answer]
) -> dict[str, dict[str, Answer]]:
    """Answers by the stem of their question's file, and by its id."""
    found: dict[str, dict[str, Answer]] = {}
    for question, answer in zip(questions, answers, strict=True):
        found.setdefault(question.file.stem, {})[question.id] = answer
    return found


def piped_results(stream: BinaryIO, files: Sequence[VectorFile], name: str) -> ResultsTarget:
    """The answers to all cases of vector files, in their order, from a stream.

    Raises:
        TargetError: a claim that is not known.
    """
    questions = [question for file in files for question in questions_of(file)]
    answers, claims = in_order(_lines(stream), questions, name)
    note = "answers from a pipe: the cases of the vectors only"
    return ResultsTarget(name, claims, by_file(questions, answers), note=note)


def write_prompts(
    folder: Path,
    files: Sequence[VectorFile],
    drawn: Mapping[str, NDArray[np.uint64]] | None = None,
) -> int:
    """Write one file of prompts for each vector file; returns the number of bytes.

    Args:
        folder: where to write.
        files: the vector files.
        drawn: questions beside their cases, by their stems.

    Raises:
        OSError: a file cannot be written.
    """
    size = 0
    for file in files:
        questions = [*questions_of(file), *_beside(file, drawn or {})]
        text = b"".join(prompt_lines(questions))
        write_file(folder / prompts_name(file.stem), text)
        size += len(text)
    return size


def _beside(file: VectorFile, drawn: Mapping[str, NDArray[np.uint64]]) -> list[LineQuestion]:
    """The questions beside the cases of a file, as they are recorded."""
    words = drawn.get(file.stem)
    return [] if words is None else drawn_questions(file.stem, words, marked=True)


def read_results(
    folder: Path,
    files: Sequence[VectorFile],
    known: Collection[str],
    drawn: Mapping[str, NDArray[np.uint64]] | None = None,
) -> ResultsTarget:
    """The answers in a folder, in files of the same names as those of the prompts.

    Args:
        folder: where they are.
        files: the vector files whose answers are wanted.
        known: the stems of all vector files; files of other names are refused.
        drawn: questions beside their cases, by their stems; a file of answers that has none of
            them, as one made by an older mxref, is compared without them.

    Raises:
        TargetError: no such folder, no file, a file of another name, a line that is no answer to a
            case of its file or the second one, or different policies.
    """
    names = {prompts_name(stem) for stem in known}
    found = {path.name: path for path in _entries(folder) if not path.name.startswith(".")}
    for name, path in found.items():
        if name not in names:
            raise TargetError(
                f"{path} must have the name of a file of prompts, as encode.e4m3.f32.txt"
            )
    if not found:
        raise TargetError(
            f"{folder} must have files of answers, of the names of those of the prompts, as "
            "encode.e4m3.f32.txt; got none"
        )
    answers, claims = {}, Claims()
    further: dict[str, tuple[NDArray[np.uint64], Answers]] = {}
    policies: dict[Policy, Path] = {}
    for file in files:
        if prompts_name(file.stem) not in found:
            continue
        path = found[prompts_name(file.stem)]
        reader = AnswerReader(str(path))
        beside = _beside(file, drawn or {})
        of_file = _read(path, reader, file, beside)
        policies.setdefault(reader.claims.policy, path)
        if reader.claims.cover(file.format, file.float):
            answers[file.stem] = {id: one for id, one in of_file.items() if DRAWN not in id}
            if drawn and any(question.id in of_file for question in beside):
                given = [of_file.get(question.id, _NO_ANSWER) for question in beside]
                further[file.stem] = drawn[file.stem], in_rows(given)
    if len(policies) > 1:
        one, other = list(policies.items())[:2]
        raise TargetError(
            f"results must claim one policy, got {one[0]} in {one[1]} and {other[0]} in {other[1]}"
        )
    for policy in policies:
        claims = replace(claims, policy=policy)
    note = "results in a folder: the cases of the vectors only"
    if further:
        some = sum(len(words) for words, _ in further.values())
        note = f"results in a folder: the vectors, and {some:,} questions beside them"
        if old := len(answers.keys() & (drawn or {}).keys() - further.keys()):
            note += f"; {old} file{'s' * (old > 1)} without these (mxref prompts writes them)"
    return ResultsTarget(str(folder), claims, answers, drawn=further, note=note)


def prompts_name(stem: str) -> str:
    """The name of the file of prompts, and of answers, for a vector file."""
    return f"{stem.replace('/', '.')}.txt"


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise TargetError(f"{folder} cannot be read: {error.strerror}") from None


def _read(
    path: Path, reader: AnswerReader, file: VectorFile, beside: Sequence[LineQuestion]
) -> dict[str, Answer]:
    """The answers in one file, in any order; those to questions of another version are left out."""
    questions = {question.id: question for question in (*questions_of(file), *beside)}
    answers: dict[str, Answer] = {}
    try:
        refuse_special(path)  # reading one might never begin or end
        with path.open("rb") as stream:
            for line in _lines(stream):
                fields = reader.fields(line)
                if fields is None:
                    continue
                id, *rest = fields
                if id not in questions and DRAWN in id:
                    continue
                if id not in questions:
                    raise LineError(f"line {reader.number}: {id!r} is no case of {file.stem}")
                if id in answers:
                    raise LineError(f"line {reader.number} answers {id} again")
                answers[id] = parse_answer(questions[id], rest)
    except OSError as error:
        raise TargetError(f"{path} cannot be read: {error.strerror}") from None
    except LineError as fault:
        raise TargetError(f"{path}: {fault}") from None
    except ValueError as error:
        raise TargetError(str(error)) from None
    return answers


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream; one that is too long comes in parts, and is refused."""
    return iter(lambda: stream.readline(LONGEST + 2), b"")
