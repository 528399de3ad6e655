"""Targets that are programs: questions to standard input, answers from standard output."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.formats.catalog import OTHER_CODE_FORMATS, OWN_FORMATS
from mxref.operands.splitmix import drawn_order
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.text import one_line
from mxref.targets.calls import Answers, without_cases
from mxref.targets.claims import claimable
from mxref.targets.drawn_lines import drawn_questions
from mxref.targets.imports import TargetError
from mxref.targets.line_protocol import (
    Answer,
    AnswerReader,
    Claims,
    Dialogue,
    LineError,
    LineQuestion,
    in_rows,
    not_counted,
    prompt_lines,
    questions_of,
)
from mxref.targets.process import RunningProgram, SilenceError
from mxref.targets.results import ResultsTarget, by_file

__all__ = ["CommandTarget", "command_results"]

#: Seconds that a program has to end by itself once its input is closed.
_GRACE = 1.0


def _unclaimed() -> tuple[str, ...]:
    """The formats of a program that claims none."""
    others = (*OTHER_CODE_FORMATS, *OWN_FORMATS)
    return tuple(name for name in claimable("FORMATS") if name not in others)


class CommandTarget:
    """A program that is kept running and asked again and again, until it is closed.

    It must flush each answer. A program that crashes or hangs is started again and continues after
    the question that it did not answer.

    Args:
        command: the program and its arguments, as a shell would split them; no shell is used.
        timeout: seconds to wait for an answer.
        restarts: how often it may be started again; after that no questions are asked.
        heard: called after each answer.

    Raises:
        TargetError: the command is no command, or a limit is no number above zero.
    """

    def __init__(
        self,
        command: str,
        *,
        timeout: float = 10.0,
        restarts: int = 3,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        if not (math.isfinite(timeout) and timeout > 0):
            raise TargetError(f"timeout must be a number of seconds above 0, got {timeout}")
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise TargetError(f"command {command!r} cannot be read: {error}") from None
        if not self._command:
            raise TargetError("command must name a program, got nothing")
        self._name = command
        self._timeout = timeout
        self._starts = 0
        self._left = restarts + 1  # how often it may still be started
        self._answered = False  # whether any question was ever answered
        self._failed = ""  # why the last run ended
        self._running: RunningProgram | None = None
        self._heard = heard
        self._reader = AnswerReader(command, Claims(formats=_unclaimed()))
        self._asked = 0
        self._covered: dict[tuple[str, str, str], bool] = {}

    def __enter__(self) -> CommandTarget:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self._name

    @property
    def command(self) -> str:
        """The command as given."""
        return self._name

    @property
    def claims(self) -> Claims:
        """Its claims so far."""
        return self._reader.claims

    @property
    def policy(self) -> Policy:
        """The policy that it claims; a first question is put to the program to learn it."""
        self.covers("encode", "e4m3", "f32")
        return self.claims.policy

    def covers(self, op: str, format: str, float: str) -> bool:
        """Whether it answers an easy question about this operation, format and float type."""
        key = (op, format, float)
        if format in OTHER_CODE_FORMATS and not self._covered:
            self.covers("encode", "e4m3", "f32")  # the first answers bring its claims
        if format in OTHER_CODE_FORMATS and format not in self.claims.formats:
            return False
        if key not in self._covered:
            file = without_cases(*key)
            (answer,) = self.answers(
                self._numbered(file, np.array([REGISTRY[op].easy(format, float)], np.uint64))
            )
            self._covered[key] = not answer.unsupported
        # Formats of integers are no claims.
        claimed = REGISTRY[op].own_choices or self.claims.cover(format, float)
        return self._covered[key] and claimed

    def ask(self, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
        """Its answers to input words, one case a row."""
        return in_rows(self.answers(self._numbered(file, inputs)))

    def answers(self, questions: Sequence[LineQuestion], *, last: bool = False) -> list[Answer]:
        """The answers to questions; with `last` the program is to end after them.

        A question at which it crashed or hung is not asked again; its answer stays that error.

        Raises:
            TargetError: it cannot be started, or claims something unknown.
        """
        answers: list[Answer] = []
        failed: dict[str, Answer] = {}
        while len(answers) < len(questions):
            if questions[len(answers)].id in failed:
                answers.append(failed[questions[len(answers)].id])
                continue
            if self._running is None and not self._left:
                times = f"{self._starts} start{'s'[: self._starts > 1]}"
                reason = f"not asked after {times}: {self._failed}"
                left = len(questions) - len(answers)
                answers += [Answer(error=reason, cut_off=True)] * left
                break
            rest = questions[len(answers) :]
            asked = [question for question in rest if question.id not in failed]
            given = self._exchange(asked, last=last)
            heard = iter(given)
            for question in rest:
                answer = failed.get(question.id) or next(heard, None)
                if answer is None:
                    break
                answers.append(answer)
            if len(given) < len(asked):
                failed[asked[len(given) - 1].id] = given[-1]
        return answers

    def end(self) -> str:
        """End the program as `command_results` does; returns what is wrong with its end, or "".

        Its input is closed. It then has the time of one answer to end with success and without
        another line. Of a program that no longer runs nothing is said here: its last answer is
        missing.
        """
        answers = [] if self._running is None else self._exchange([], last=True)
        return "".join(answer.error for answer in answers)

    def close(self) -> None:
        """End the program: its input is closed, and it is killed if it does not end in a moment."""
        if self._running is not None:
            self._running.finish(_GRACE)
            self._running = None

    def _numbered(self, file: VectorFile, inputs: NDArray[np.uint64]) -> list[LineQuestion]:
        self._asked += len(inputs)
        return questions_of(file, inputs, self._asked - len(inputs) + 1)

    def _exchange(self, questions: Sequence[LineQuestion], *, last: bool) -> list[Answer]:
        """The answers of one run up to the first missing one, which is an error."""
        if new := self._running is None:
            self._starts += 1
            self._left -= 1
            self._reader = AnswerReader(self._name, self.claims)
            self._running = RunningProgram(self._command, self._timeout)
        running, dialogue = self._running, Dialogue(questions, self._reader)
        sound = False
        try:
            running.send(prompt_lines(questions, header=new), last=last)
            while not dialogue.complete and (line := running.line()) is not None:
                if dialogue.hear(line):
                    self._answered = True
                    running.progress()
                    self._heard()
            if last or not dialogue.complete:
                while (line := running.line()) is not None:
                    dialogue.hear(line)
                self._judge_end(dialogue, running)
            sound = not last and dialogue.complete
        except SilenceError:
            self._break_off(dialogue, running, self._silence(dialogue, last=last))
            if not last and not self._answered:
                self._left = 0  # it does not flush its answers: restarting is useless
        except LineError as fault:
            self._failed = str(fault)
            dialogue.break_off(self._failed, not_counted(fault))
        finally:
            self._left *= self._answered or self._starts < 8
            if not sound:
                running.stop()
                self._running = None
        return dialogue.answers

    def _judge_end(self, dialogue: Dialogue, running: RunningProgram) -> None:
        """Note what is wrong with a program whose output has ended."""
        try:
            how = running.ending() or "ended"
        except SilenceError:
            if dialogue.complete:
                raise
            how = "closed its output"
            self._left *= self._answered  # else every start would take all this time
        rest = running.cut_off()
        if dialogue.complete and how == "ended" and not rest:
            return
        when = "after its last answer" if dialogue.complete else "before an answer"
        where = f", within a line: {_shown(rest)}" if rest else ""
        self._break_off(dialogue, running, f"{how} {when}{where}")

    def _break_off(self, dialogue: Dialogue, running: RunningProgram, what: str) -> None:
        self._failed = f"the program {what}{running.last_errors()}"
        dialogue.break_off(self._failed)

    def _silence(self, dialogue: Dialogue, *, last: bool) -> str:
        seconds = f"{self._timeout:g} s"
        if dialogue.complete:
            return f"did not end within {seconds} after its last answer"
        hint = "" if last else "; it must flush its output after each line"
        return f"gave no answer within {seconds}{hint}"


def _shown(text: bytes) -> str:
    return f"'{one_line(text.decode('ascii', 'backslashreplace'), 60)}'"


def command_results(
    command: str,
    files: Sequence[VectorFile],
    *,
    drawn: Mapping[str, NDArray[np.uint64]] | None = None,
    timeout: float = 10.0,
    restarts: int = 3,
    twice: bool = True,
    tell: Callable[[float], None] = lambda share: None,
) -> ResultsTarget:
    """The answers of a program to all cases of vector files, asked in one go.

    After the cases it is asked the drawn questions, and then every case again in another order. Its
    input is closed after the last one, so that it may hold its answers back until then. A crash
    when a case is asked again fails the case.

    Args:
        command: the program and its arguments.
        files: the vector files.
        drawn: further questions by the files' stems, one a row.
        timeout: seconds to wait for an answer.
        restarts: how often it is started again.
        twice: whether every case is asked again.
        tell: called with the share of the answers that have come.

    Raises:
        TargetError: it cannot be started, or claims something unknown.
    """
    cases = [question for file in files for question in questions_of(file)]
    others = {stem: drawn_questions(stem, words) for stem, words in (drawn or {}).items()}
    more = [question for some in others.values() for question in some]
    order = drawn_order(0, len(cases), len(cases) if twice else 0).tolist()
    again = [replace(cases[place], again=True) for place in order]
    every = [*cases, *more, *again]
    count = itertools.count(1)

    def heard() -> None:
        tell(min(next(count) / len(every), 1))  # after a crash some are asked again

    with CommandTarget(command, timeout=timeout, restarts=restarts, heard=heard) as target:
        answers = target.answers(every, last=True)
        claims = target.claims
    second = answers[len(cases) + len(more) :]
    first = _with_second_errors(answers[: len(cases)], dict(zip(order, second, strict=True)))
    others_of = by_file(more, answers[len(cases) : len(cases) + len(more)])
    return ResultsTarget(
        command,
        claims,
        by_file(cases, first),
        _changed(cases, first, dict(zip(order, second, strict=True))),
        {
            stem: (words, in_rows(list(others_of[stem].values())))
            for stem, words in (drawn or {}).items()
            if len(words)
        },
        "each case was asked twice, the second time in another order"
        if twice
        else "each case was asked once (--quick)",
    )


def _with_second_errors(first: Sequence[Answer], second: Mapping[int, Answer]) -> list[Answer]:
    """The first answers; where the first was right and the second an error, that error."""
    found = list(first)
    for place, answer in second.items():
        if answer.error and not answer.cut_off and not found[place].error:
            found[place] = Answer(error=f"asked a second time: {answer.error}")
    return found


def _changed(
    questions: Sequence[LineQuestion], first: Sequence[Answer], second: Mapping[int, Answer]
) -> dict[str, dict[str, Answer]]:
    """The second answers that differ from the first ones, by stem and id."""
    found: dict[str, dict[str, Answer]] = {}
    for place, (question, answer) in enumerate(zip(questions, first, strict=True)):
        other = second.get(place, answer)
        if not answer.error and not other.error and answer != other:
            found.setdefault(question.file.stem, {})[question.id] = other
    return found
