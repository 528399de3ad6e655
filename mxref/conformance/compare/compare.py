"""Putting the cases of a vector file to a target, and comparing bits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import choices_read, exact_answers, fast_answers
from mxref.cases.records import Case, VectorFile
from mxref.conformance.compare.integer_policies import nearest
from mxref.conformance.compare.product_intervals import widened
from mxref.conformance.compare.profile_bounds import nearest_admitted
from mxref.conformance.compare.tensor_cases import scale_places
from mxref.formats.catalog import CodeFormat, block_format
from mxref.numbers.codes import are_nan
from mxref.operands.word_rows import NO_WORD, padded, same_width, stripped
from mxref.operations.operation import AnyPolicy
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers, by_halves, code_format
from mxref.targets.line_protocol import NO_ANSWER
from mxref.targets.target import Target

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = [
    "Answered",
    "Failure",
    "Outcome",
    "answered_or_refused",
    "asked",
    "fast_right_answers",
    "judged",
    "right_answers",
    "run_file",
    "same_answers",
    "wanted_answers",
    "with_one_nan",
]

#: Operations whose answers are codes of a format, in which NaN is one class.
_OF_CODES = ("encode", "encode_stochastic", "quantize", "quantize_tensor")


@dataclass(frozen=True, slots=True)
class Failure:
    """One wrong answer of a target; `got` is None where the case raised an `error`.

    With `bits` codes of NaN and NaN blocks were compared by their bits as well.
    """

    index: int
    case: Case
    want: tuple[int, ...]
    got: tuple[int, ...] | None
    error: str = ""
    bits: bool = False

    @property
    def refused(self) -> bool:
        """Whether the right result is an error, and there was an answer: `want` has no words."""
        return not self.want and bool(self.got)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answers of a target to one vector file, compared with a policy or a profile.

    `inputs` and `answers` hold one row of words a case; answers of cases that raised an error are
    not used, and `errors` says what these raised.
    """

    file: VectorFile
    policy: str
    inputs: NDArray[np.uint64]
    answers: NDArray[np.uint64]
    failures: tuple[Failure, ...]
    errors: Mapping[int, str] = field(default_factory=dict)
    profile: str | None = None

    def wanted(self, policy: AnyPolicy, profile: Profile | None = None) -> NDArray[np.uint64]:
        """The right answers to all cases, by the policy or the profile; no words where none."""
        own = right_answers(self.file, self.inputs, policy, profile).words
        return nearest_admitted(self.file, self.inputs, own, self.answers, profile)


@dataclass(frozen=True, slots=True)
class Answered:
    """A target's answers to the cases of a file, before they are compared.

    Args:
        file: the file.
        inputs: the words of its cases.
        answers: the answers.
        choices: of integer operations the policy to compare with, if it is known.
    """

    file: VectorFile
    inputs: NDArray[np.uint64]
    answers: Answers
    choices: str | None = None

    def judged(self, policy: AnyPolicy, profile: Profile | None = None) -> Outcome:
        """The answers compared: see `judged`."""
        return judged(self.file, self.inputs, self.answers, self.choices or policy, profile)

    def parted(self) -> tuple[Answered, Answered | None]:
        """The cases with answers, and those that recorded answers lack; None if that is no part."""
        errors = self.answers.errors
        lacks = np.zeros(len(self.inputs), bool)
        lacks[[i for i, error in errors.items() if error == NO_ANSWER]] = True
        if lacks.all() or not lacks.any():
            return self, None
        return self._some(~lacks), self._some(lacks)

    def _some(self, chosen: NDArray[np.bool_]) -> Answered:
        """The chosen cases."""
        rows = np.flatnonzero(chosen).tolist()
        errors = {
            new: self.answers.errors[i] for new, i in enumerate(rows) if i in self.answers.errors
        }
        file = replace(self.file, cases=tuple(self.file.cases[i] for i in rows))
        answers = Answers(self.answers.words[rows], errors)
        return Answered(file, self.inputs[rows], answers, self.choices)


def asked(target: Target, file: VectorFile) -> Answered:
    """Put every case of a file to a target."""
    inputs = file.input_words()
    return Answered(file, inputs, target.ask(file, inputs))


def run_file(
    target: Target, file: VectorFile, policy: AnyPolicy, profile: Profile | None = None
) -> Outcome:
    """Put every case of a file to a target and compare: see `judged`."""
    return asked(target, file).judged(policy, profile)


def judged(
    file: VectorFile,
    inputs: NDArray[np.uint64],
    asked: Answers,
    policy: AnyPolicy,
    profile: Profile | None = None,
    *,
    own: Answers | None = None,
) -> Outcome:
    """Answers to every case of a file compared with those under a policy, or with a profile's.

    Integer operations have policies of their own: that one counts which is nearest, unless one is
    given. Where no order of a weight-only layer gives all bits, answers inside the intervals of
    sums are right, too.

    A target may refuse what the profile or the policy refuses. An answer to what the profile
    refuses is compared with the policy; one to what the policy refuses is wrong.

    Args:
        file: the questions.
        inputs: their words.
        asked: the target's answers.
        policy: the policy.
        profile: the profile.
        own: the right answers; if None those of the slow twin and of the columns.
    """
    name = _spelled(file, policy)
    if file.row.own_choices and not isinstance(policy, str):
        name, own = nearest(file, inputs, asked)
    own = right_answers(file, inputs, policy, profile) if own is None else own
    refused, errors, bits = own.errors, asked.errors, profile is not None
    wanted, answers = same_width(own.words, asked.words)
    wanted = nearest_admitted(file, inputs, wanted, answers, profile)
    same: NDArray[np.bool_] = np.all(same_answers(file, wanted, answers, inputs, bits=bits), axis=1)
    same = widened(file, same, inputs, answers, name if file.row.own_choices else policy)
    failures = [
        Failure(
            index=i,
            case=file.cases[i],
            want=stripped(wanted[i]),
            got=None if i in errors else stripped(answers[i]),
            error=errors.get(i, ""),
            bits=bits,
        )
        for i in range(len(file.cases))
        if (i not in refused if i in errors else not same[i])
    ]
    by = None if profile is None else profile.name
    return Outcome(file, name, inputs, answers, tuple(failures), errors, by)


def right_answers(
    file: VectorFile, inputs: NDArray[np.uint64], policy: AnyPolicy, profile: Profile | None = None
) -> Answers:
    """The right answers to the cases of a file, and the errors of those that are refused."""

    def exact(some: NDArray[np.uint64]) -> NDArray[np.uint64]:
        questions = [file.cases[i].inputs for i in some.tolist()]
        return padded(exact_answers(file.op, file.format, file.float, questions, policy))

    def by_policy() -> Answers:
        if file.row.own_choices and not isinstance(policy, str):
            return Answers(file.outputs(0))
        name = _spelled(file, policy)
        if name in file.columns:
            return Answers(file.outputs(file.columns.index(name)))
        return answered_or_refused(exact, np.arange(len(file.cases), dtype=np.uint64))

    return by_policy() if profile is None else _by_profile(file, inputs, profile, by_policy)


def fast_right_answers(
    file: VectorFile, inputs: NDArray[np.uint64], policy: AnyPolicy, profile: Profile | None = None
) -> Answers:
    """The right answers to any questions, by the fast path, and the errors of those refused."""

    def answer(some: NDArray[np.uint64]) -> NDArray[np.uint64]:
        return fast_answers(file.op, file.format, file.float, some, policy).astype(np.uint64)

    def by_policy() -> Answers:
        return answered_or_refused(answer, inputs)

    return by_policy() if profile is None else _by_profile(file, inputs, profile, by_policy)


def _by_profile(
    file: VectorFile, inputs: NDArray[np.uint64], profile: Profile, otherwise: Callable[[], Answers]
) -> Answers:
    """The answers of a profile; its errors and the words of `otherwise` where it refuses."""
    from mxref.targets.profile_target import profile_answers

    own = profile_answers(profile, file, inputs)
    if not own.errors:
        return own
    default, words = same_width(otherwise().words, own.words)
    words[[*own.errors]] = default[[*own.errors]]
    return Answers(words, own.errors)


def answered_or_refused(
    answer: Callable[[NDArray[np.uint64]], NDArray[np.uint64]], questions: NDArray[np.uint64]
) -> Answers:
    """Answers to questions, one a row; no words and an error where `answer` raises a ValueError.

    It raises if it refuses one of them (as policies with `nan_to_finite=error` do); which ones
    these are is found by halves.
    """

    def ask(some: NDArray[np.uint64]) -> Answers:
        try:
            return Answers(answer(some))
        except ValueError as error:
            nothing = np.empty((len(some), 0), np.uint64)
            return Answers(nothing, dict.fromkeys(range(len(some)), str(error)))

    return by_halves(ask, questions)


def wanted_answers(file: VectorFile, policy: AnyPolicy) -> tuple[str, NDArray[np.uint64]]:
    """The policy's spelling for this operation, and its answers: a column, or computed exactly."""
    return _spelled(file, policy), right_answers(file, file.input_words(), policy).words


def _spelled(file: VectorFile, policy: AnyPolicy) -> str:
    if isinstance(policy, str):
        return policy
    return str(Policy().replace(**choices_read(file.op, policy, file.format)))


def same_answers(
    file: VectorFile,
    want: NDArray[np.uint64],
    got: NDArray[np.uint64],
    inputs: NDArray[np.uint64] | None = None,
    *,
    bits: bool = False,
) -> NDArray[np.bool_]:
    """Per word: equal bits, NaN as one class, and blocks with a NaN scale as NaN blocks.

    With `bits` only floats that are NaN are one class: codes of NaN and under a NaN scale are not.
    Rows of different numbers of words differ. The inputs are needed where tensors are compared.
    """
    want, got = same_width(want, got)
    equal: NDArray[np.bool_] = want == got
    if equal.all():
        return equal
    if file.row.one_nan:
        layout = LAYOUTS[file.float]
        equal |= _is_nan(want, layout) & _is_nan(got, layout)
    if bits or file.op not in _OF_CODES:
        return equal
    rows = np.flatnonzero(~equal.all(axis=1))
    asked = None if inputs is None else inputs[rows]
    one, other = (with_one_nan(file, words[rows], asked) for words in (want, got))
    equal[rows] = one == other
    return equal


def with_one_nan(
    file: VectorFile, words: NDArray[np.uint64], inputs: NDArray[np.uint64] | None = None
) -> NDArray[np.uint64]:
    """Answers, one a row, with all that is compared as one NaN made one; no other word changes.

    Of operations whose answers are codes every NaN becomes one code, and every element under a NaN
    scale the code 00. Of tensors the inputs say which scale is whose.

    Raises:
        ValueError: tensors without their inputs.
    """
    if file.op not in _OF_CODES:
        return words
    scales, element = words[:, :0], np.ones((1, words.shape[1]), np.bool_)
    if file.row.blocks == "numbers":  # the first word is the scale
        scales, element = words[:, :1], np.arange(words.shape[1])[np.newaxis] > 0
    elif file.op == "quantize_tensor":
        if inputs is None:
            raise ValueError("inputs must be given where tensors are compared, got None")
        places = scale_places(inputs, words)
        scales, element = np.take_along_axis(words, np.maximum(places, 0), 1), places >= 0
    whole, is_nan = words.copy(), _nan_codes(code_format(file))
    if is_nan.any():
        nans = is_nan[np.minimum(words, np.uint64(is_nan.size - 1))] & element
        whole[nans] = np.uint64(min(code_format(file).nan_codes))
    if scales.size:
        fmt = block_format(file.format).scale
        nan = are_nan(scales, fmt)
        if fmt.is_float32:
            whole[:, :1][nan] = np.uint64(fmt.nan_code or 0)
        whole[nan & element & (words != np.uint64(NO_WORD))] = 0
    return whole


@functools.cache
def _nan_codes(fmt: CodeFormat) -> NDArray[np.bool_]:
    """Whether each code is a NaN; one more place, at the end, is of all words that are no code."""
    is_nan = np.zeros(fmt.code_count + 1, np.bool_)
    is_nan[list(fmt.nan_codes)] = True
    return is_nan


def _is_nan(bits: NDArray[np.uint64], layout: FloatLayout) -> NDArray[np.bool_]:
    magnitude = bits & ~np.uint64(layout.sign_bit)
    return (magnitude > layout.inf_bits) & (magnitude < layout.sign_bit)  # and no NO_WORD
