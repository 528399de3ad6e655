"""Search a target for wrong answers with hypothesis, and simplify what it finds."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import Phase, find, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable
from numpy.typing import NDArray

from mxref.cases.answers import answerable, choices_read, exact_answer, fast_answers
from mxref.cases.records import Case, VectorFile, padded, same_width, stripped
from mxref.conformance.compare.compare import Failure, profile_answers, same_answers
from mxref.conformance.compare.failure_text import difference, show_input
from mxref.conformance.fuzzing.input_words import Question, questions, subjects
from mxref.conformance.fuzzing.reproduce import reproduction
from mxref.conformance.fuzzing.simplify import simplest
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import Answers, without_cases
from mxref.targets.profile_target import speaks_of
from mxref.targets.returned import AnswerError
from mxref.targets.target import PythonTarget, Target

__all__ = ["Counterexample", "FuzzRow", "fuzz"]

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The simplest question found that a target answers wrongly.

    Args:
        file: operation, format and float type; its one column is the policy.
        inputs: words of the question, one case a row; several if no single case fails alone.
        failure: the failure of one of the cases.
        code: lines of Python or shell that reproduce it.
        steady: whether the answer is wrong again when asked again.
    """

    file: VectorFile
    inputs: Words
    failure: Failure
    code: str
    steady: bool = True

    @property
    def text(self) -> str:
        """One line that says what differs."""
        said = difference(self.file, self.failure)
        words = self.failure.case.inputs
        if self.failure.got is None and len(words) == 1 and self.file.op in _SCALAR:
            said = f"in {show_input(self.file, words[0])}, {said}"
        more = f" (case {self.failure.index + 1} of {len(self.inputs)} in one call)"
        return said + more * (len(self.inputs) > 1) + ", but not every time" * (not self.steady)


@dataclass(frozen=True, slots=True)
class FuzzRow:
    """The result for an operation, format and float type.

    Args:
        op: the operation.
        format: the format.
        float: the float type, or the layout of the bytes.
        policy: the policy compared with, or the profile's, as far as the operation reads it.
        examples: number of questions asked up to the first wrong answer.
        found: the counterexample, if any.
        profile: the profile compared with, if any.
    """

    op: str
    format: str
    float: str
    policy: str
    examples: int
    found: Counterexample | None
    profile: str | None = None


def fuzz(
    target: Target,
    policy: Policy | None = None,
    *,
    profile: Profile | None = None,
    ops: Collection[str] = (),
    formats: Collection[str] = (),
    floats: Collection[str] = (),
    examples: int = 200,
    seed: int = 0,
) -> Iterator[FuzzRow]:
    """Search every operation, format and float type that a target covers for a wrong answer.

    After a wrong answer the other float types of that operation and format are skipped. The slow
    twin confirms a counterexample, except under a profile. The same arguments, target and version
    of hypothesis give the same rows.

    Args:
        target: the implementation.
        policy: what to compare with; if None the profile's, or the one that the target claims.
        profile: what to compare with in the operations that it defines; if it and the policy are
            None, the profile that the target claims, if any.
        ops: only these operations; all if empty.
        formats: only these formats; all if empty.
        floats: only these float types; all if empty.
        examples: number of questions, most of them of several cases.
        seed: seed of the questions.

    Raises:
        ValueError: `examples` is below 1.
        RuntimeError: the two references of mxref differ.

    >>> from mxref.conformance import target_of
    >>> class Kernel:
    ...     def encode_scale(self, values):  # rounds to the nearest
    ...         return ((values.view("u4") + (1 << 22)) >> 23).astype("u1")
    >>> for row in fuzz(target_of(Kernel(), "kernel"), floats=["f32"]):
    ...     print(row.found.text)
    in 00400000 = 0x1p-127 = 5.8774718e-39, want 00 = 2^-127, got 01 = 2^-126, 1 code away
    """
    if examples < 1:
        raise ValueError(f"examples must be at least 1, got {examples}")
    chosen = (profile or target).policy if policy is None else policy
    if profile is None and policy is None:
        profile = getattr(target, "profile", None)
    failed = set()
    for op, format, slot in subjects(chosen):
        pairs = ((op, ops), (format, formats), (slot, floats))
        if (op, format) in failed or any(some and one not in some for one, some in pairs):
            continue
        if not answerable(op, format, slot, chosen) or not target.covers(op, format, slot):
            continue
        name = str(Policy().replace(**choices_read(op, chosen)))
        file = dataclasses.replace(without_cases(op, format, slot), columns=(name,))
        by = profile if profile is not None and speaks_of(profile, op, format, slot) else None
        trial = _Trial(target, file, chosen if by is None else by.policy, by)
        found = _search(trial, examples, Random(f"{seed} {op} {format} {slot}"))
        if found is not None:
            failed.add((op, format))
        yield FuzzRow(
            op, format, slot, name, trial.examples, found, None if by is None else by.name
        )


#: Operations of one word in.
_SCALAR = ("encode", "decode", "encode_scale", "decode_scale", "shared_scale")
#: A case that is in no file.
_CASE = Case("", (), ((),), (), required=False, rule="", model="")


class _Trial:
    """A target asked about one operation, format and float type."""

    def __init__(
        self, target: Target, file: VectorFile, policy: Policy, profile: Profile | None
    ) -> None:
        self.target, self.file, self.policy, self.profile = target, file, policy, profile
        self.examples = 0
        self.last: tuple[Question, Failure] | None = None
        self._asked = _guarded(target, file.op)

    def fails(self, question: Question) -> bool:
        """Whether the target answers a question wrongly; keeps the last such question."""
        self.examples += self.last is None
        inputs, memory = question
        wrong, wanted, answers = self._compared(inputs, memory)
        if not wrong.any():
            return False
        index = int(np.argmax(wrong))
        want, row = stripped(wanted[index]), stripped(inputs[index])
        case = dataclasses.replace(_CASE, inputs=row, answers=(want,))
        error = answers.errors.get(index)
        got = None if error is not None else stripped(answers.words[index])
        bits = self.profile is not None
        self.last = question, Failure(index, case, want, got, error or "", bits)
        return True

    def wrong(self, inputs: Words, memory: int = 0) -> NDArray[np.bool_]:
        """Which cases the target answers wrongly."""
        return self._compared(inputs, memory)[0]

    def _compared(self, inputs: Words, memory: int) -> tuple[NDArray[np.bool_], Words, Answers]:
        file, profile = self.file, self.profile

        def by_policy() -> Words:
            answers = fast_answers(file.op, file.format, file.float, inputs, self.policy)
            return answers.astype(np.uint64)

        own = (
            Answers(by_policy())
            if profile is None
            else profile_answers(file, inputs, profile, by_policy)
        )
        answers = _ask(self._asked, file, inputs, memory)
        both = same_width(own.words, answers.words)
        bits = profile is not None
        wrong: NDArray[np.bool_] = ~np.all(same_answers(file, *both, bits=bits), axis=1)
        wrong[list(answers.errors)] = True
        wrong[list(own.errors.keys() & answers.errors.keys())] = False
        return wrong, both[0], Answers(both[1], answers.errors)


def _ask(target: Target, file: VectorFile, inputs: Words, memory: int) -> Answers:
    """The answers to cases; tensors lie in the given memory order."""
    if memory == 0:
        return target.ask(file, inputs)
    # The memory order of a flagged case depends on its place in the file, modulo six.
    place = 2 * (memory - 1)
    strided = dataclasses.replace(_CASE, flags=("strided",))
    cases = (*[_CASE] * place, strided, *[_CASE] * (5 - place)) * len(inputs)
    asked = target.ask(dataclasses.replace(file, cases=cases), np.repeat(inputs, 6, axis=0))
    errors = {i // 6: error for i, error in asked.errors.items() if i % 6 == place}
    return Answers(asked.words[place::6], errors)


def _search(trial: _Trial, examples: int, random: Random) -> Counterexample | None:
    target, file = trial.target, trial.file
    asked = questions(file.op, file.format, file.float, trial.policy)
    quiet = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
    )
    steady = True
    try:
        with _no_folder():
            question = find(asked, trial.fails, settings=quiet, random=random)
        question = _simplified(trial, question)
        steady = trial.fails(question)
    except (NoSuchExample, Unsatisfiable):
        return None
    except Flaky:
        steady = False
    if trial.last is None:
        return None
    (inputs, memory), failure = trial.last
    _confirm(trial, failure)
    code = reproduction(target, file, inputs, failure, memory)
    return Counterexample(file, inputs, failure, code, steady)


@contextlib.contextmanager
def _no_folder() -> Iterator[None]:
    """Keeps hypothesis from writing a folder `.hypothesis` into the working folder."""
    with tempfile.TemporaryDirectory() as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def _simplified(trial: _Trial, question: Question) -> Question:
    """The simplest single case that fails; the question itself if no case fails alone."""
    inputs, memory = question
    for index in range(len(inputs)):
        one = inputs[index : index + 1]
        if trial.wrong(one, memory)[0]:
            row = simplest(functools.partial(trial.wrong, memory=memory), trial.file, one[0])
            return row[np.newaxis], memory
    return question


def _confirm(trial: _Trial, failure: Failure) -> None:
    """Check the wanted answer by the slow twin, which profiles do not have."""
    if trial.profile is not None:
        return
    file, row = trial.file, failure.case.inputs
    exact = exact_answer(file.op, file.format, file.float, row, trial.policy)
    if not same_answers(file, padded([exact]), padded([failure.want])).all():
        raise RuntimeError(
            f"mxref contradicts itself on {file.stem} {[hex(word) for word in row]} under "
            f"{file.columns[0]}: please report this"
        )


def _guarded(target: Target, op: str) -> Target:
    """The target; a Python function also fails if it changes its arguments."""
    if not isinstance(target, PythonTarget):
        return target
    functions = {**target.operations, op: _noticing(target.operations[op], op)}
    return dataclasses.replace(target, operations=functions)


def _noticing(function: Callable[..., Any], op: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        before = [one.tobytes() for one in arrays]
        result = function(*arguments)
        if before != [one.tobytes() for one in arrays]:
            raise AnswerError(f"{op} must not change its arguments")
        return result

    return call
