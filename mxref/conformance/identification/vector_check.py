"""Whether a target that fits its probes gives the answers of the vectors, too."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.answers import answerable
from mxref.cases.folder import vectors_folder
from mxref.cases.names import names_of
from mxref.cases.read import read_vectors
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Answered, Outcome, fast_right_answers, judged
from mxref.conformance.compare.failure_text import describe
from mxref.operations.operation import AnyPolicy
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import Answers
from mxref.targets.profile_target import speaks_of
from mxref.targets.target import Target

__all__ = [
    "TimedTarget",
    "VectorCheck",
    "ask_vectors",
    "compared",
    "contradiction",
    "files_of",
    "vectors_asked",
    "vectors_json",
]

#: Seconds that the cases of a file may take of any target, and cases that are asked first of a slow
#: one.
_LEAST, _FIRST = 0.5, 16
#: Wrong answers that are shown.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class VectorCheck:
    """The answers to cases of vector files, compared with a policy.

    Args:
        cases: how many the files have.
        outcomes: the answers, compared; of a slow target those to a part of the cases.
    """

    cases: int
    outcomes: tuple[Outcome, ...]

    @property
    def asked(self) -> int:
        """How many cases were asked."""
        return sum(len(one.inputs) for one in self.outcomes)

    @property
    def wrong(self) -> int:
        """How many answers differ from those of the policy, as `verify` compares."""
        return sum(len(one.failures) for one in self.outcomes)

    @property
    def first(self) -> tuple[str, ...]:
        """The first wrong answers, in words."""
        texts = (describe(one.file, some) for one in self.outcomes for some in one.failures)
        return tuple(text for text, _ in zip(texts, range(_SHOWN), strict=False))

    def fits(self, profile: Profile) -> bool:
        """Whether a profile gives all answers to the files that it speaks of, bit for bit."""
        for one in self.outcomes:
            file = one.file
            if speaks_of(profile, file.op, file.format, file.float):
                own = fast_right_answers(file, one.inputs, profile.policy, profile)
                given = Answers(one.answers, one.errors)
                if judged(file, one.inputs, given, profile.policy, profile, own=own).failures:
                    return False
        return True


@dataclass(slots=True)
class TimedTarget:
    """A target, and the seconds that its answers have taken."""

    target: Target
    seconds: float = 0.0

    @property
    def name(self) -> str:
        """The target's name."""
        return self.target.name

    @property
    def policy(self) -> Policy:
        """The policy that it claims."""
        return self.target.policy

    def covers(self, op: str, format: str, float: str) -> bool:
        """Whether it covers an operation, format and float type."""
        return self.target.covers(op, format, float)

    def ask(self, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
        """Its answers to input words, one case a row."""
        start = time.perf_counter()
        answers = self.target.ask(file, inputs)
        self.seconds += time.perf_counter() - start
        return answers


def files_of(op: str, format: str, float: str, policy: AnyPolicy) -> list[VectorFile]:
    """The vector files of an operation, format and float type to whose cases a policy has answers.

    Args:
        op: the operation.
        format: the format.
        float: the float type; `bytes` stands for the layouts of bytes, too.
        policy: the policy.

    >>> [one.stem for one in files_of("unpack", "e2m1", "bytes", Policy())]
    ['unpack/e2m1.low_nibble_first']
    """

    def wanted(stem: str) -> bool:
        names = names_of(stem)
        is_of = names[:2] == (op, format) and float in (names[2], "bytes")
        return is_of and answerable(*names, policy)

    stored = {one.stem: one for one in read_vectors(vectors_folder(), wanted)}
    if f"{op}/{format}.{float}" in stored:  # the only one
        return [*stored.values()]
    from mxref.golden.made_files import made_files

    made = (make() for stem, make in made_files().items() if wanted(stem) and stem not in stored)
    return [*stored.values(), *made]


def ask_vectors(
    target: TimedTarget, files: Iterable[VectorFile], probes: int, seconds: float
) -> list[Answered]:
    """The answers to the cases of vector files; of a slow target to as many as its probes allow.

    The cases of a file may take as long as the probes, and half a second in any case.

    Args:
        target: the implementation.
        files: the files.
        probes: how many questions it was asked before.
        seconds: how long these took.
    """
    most, pace = max(seconds, _LEAST), seconds / max(probes, 1)
    return [one for file in files for one in _asked_in_time(target, file, most, pace)]


def compared(
    files: Iterable[VectorFile], answered: Iterable[Answered], policy: AnyPolicy
) -> VectorCheck:
    """The answers to cases of vector files compared with a policy, as `verify` compares them."""
    outcomes = []
    for one in answered:
        own = fast_right_answers(one.file, one.inputs, policy)
        outcomes.append(judged(one.file, one.inputs, one.answers, policy, own=own))
    return VectorCheck(sum(len(file.cases) for file in files), tuple(outcomes))


def vectors_asked(checks: Iterable[VectorCheck]) -> str:
    """How many vectors were right beside the probes, as text that follows the number of these.

    >>> vectors_asked([VectorCheck(0, ())])
    ', without vectors'
    """
    some = list(checks)
    asked, cases = sum(one.asked for one in some), sum(one.cases for one in some)
    return f" and {_part(asked, cases)} vectors" if cases else ", without vectors"


def contradiction(probes: int, policy: object, check: VectorCheck) -> str:
    """A sentence on a policy that the probes fit, but the vectors do not.

    >>> contradiction(63, "ocp", VectorCheck(679, ()))
    'fits 63 probes as ocp, but 0 of 0 of 679 answers to the vectors differ'
    """
    wrong = f"{check.wrong} of {_part(check.asked, check.cases)}"
    return f"fits {probes} probes as {policy}, but {wrong} answers to the vectors differ"


def vectors_json(check: VectorCheck | None) -> dict[str, Any] | None:
    """The answers to the vectors as plain data; None if they were not asked."""
    if check is None:
        return None
    return {
        "cases": check.cases,
        "asked": check.asked,
        "different": check.wrong,
        "first": list(check.first),
    }


def _part(asked: int, cases: int) -> str:
    return f"{asked} of {cases}" if asked < cases else str(asked)


def _asked_in_time(
    target: TimedTarget, file: VectorFile, seconds: float, pace: float
) -> Iterator[Answered]:
    """Answers to the cases of a file, in calls until all are asked or the time is over.

    Args:
        target: the implementation.
        file: the file.
        seconds: the time.
        pace: seconds for a case, as far as it is known.
    """
    end = target.seconds + seconds
    left = np.argsort(np.arange(len(file.cases)) * (5**0.5 - 1) / 2 % 1)  # any part is spread
    while left.size:
        count = left.size
        if pace * count > end - target.seconds:
            count = max(_FIRST, int((end - target.seconds) / pace))
        some, left = np.sort(left[:count]), left[count:]
        part = replace(file, cases=tuple(file.cases[i] for i in some.tolist()))
        inputs, before = part.input_words(), target.seconds
        yield Answered(part, inputs, target.ask(part, inputs))
        pace = (target.seconds - before) / len(some)
        if target.seconds >= end:
            return
