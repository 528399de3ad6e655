"""Search a target for wrong answers with hypothesis, and simplify what it finds."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
from hypothesis import Phase, find, settings
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.errors import Flaky, NoSuchExample, Unsatisfiable

from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import answerable, choices_read, exact_answer
from mxref.cases.drawn import drawn
from mxref.cases.ordinary import kinds_of, ordinary_words
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.integer_policies import DECIDING, decided, nearest
from mxref.conformance.fuzzing.counterexample import Changed, Counterexample
from mxref.conformance.fuzzing.fuzz_call import SIZES, FuzzCall, has_batches
from mxref.conformance.fuzzing.input_words import questions, subjects
from mxref.conformance.fuzzing.random_states import RandomStates
from mxref.conformance.fuzzing.reproduce import reproduction
from mxref.conformance.fuzzing.simplify import simplest
from mxref.conformance.fuzzing.smaller_call import smallest_call
from mxref.conformance.fuzzing.trial import Trial, Words
from mxref.operands.word_rows import padded
from mxref.operations.call_operation import CallOperation
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import REGISTRY
from mxref.policy.choices import NaNToFinite
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import without_cases
from mxref.targets.profile_target import speaks_of
from mxref.targets.target import PythonTarget, Target

__all__ = ["Counterexample", "FuzzRow", "fuzz"]

#: From so many cases on, a batch is put to one float type of a format only.
_LARGE = 1000
#: A question of more cases, none of which fails alone, is simplified as a batch.
_FEW = 8
#: Cases of numbers or codes, and of blocks, in a call of ordinary data; of so many examples one.
_ORDINARY = {False: 256, True: 64}
_ONE_OF = 4


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

    Questions are asked a few in a call, and now and then the last ones in a batch of 1 to 4097
    cases, repeated and permuted (those of 1000 and more for the first float type of a format only).
    If all are right, whole calls drawn like tensors follow, one for four questions and at least one
    of each kind.
    After a wrong answer the other float types of that operation and format are skipped. The slow
    twin confirms a counterexample, except under a profile. The same arguments, target and version
    of hypothesis give the same rows, if the target gives the same answers. The target draws from
    `random` and `numpy.random` as if nobody else did.

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
    failed, begun = set(), set()
    states = RandomStates()
    for op, format, slot in subjects(chosen):
        pairs = ((op, ops), (format, formats), (slot, floats))
        if (op, format) in failed or any(some and one not in some for one, some in pairs):
            continue
        if not answerable(op, format, slot, chosen) or not target.covers(op, format, slot):
            continue
        own: AnyPolicy = chosen
        row = REGISTRY[op]
        if isinstance(row, CallOperation):
            own = _choices_of(target, row, format, slot)
        name = own if isinstance(own, str) else _spelled(op, format, own)
        file = dataclasses.replace(without_cases(op, format, slot), columns=(name,))
        by = profile if profile is not None and speaks_of(profile, op, format, slot) else None
        sizes = _sizes(target, file, is_first=(op, format) not in begun)
        begun.add((op, format))
        compared_with = own if by is None else by.policy
        trial = Trial(target, file, compared_with, by, states, sizes, examples)
        found = _search(trial, examples, Random(f"{seed} {op} {format} {slot}"), seed)
        if found is not None:
            failed.add((op, format))
        yield FuzzRow(
            op, format, slot, name, trial.examples, found, None if by is None else by.name
        )


def _spelled(op: str, format: str, policy: Policy) -> str:
    return str(Policy().replace(**choices_read(op, policy, format)))


def _choices_of(target: Target, row: CallOperation, format: str, slot: str) -> str:
    """The policy that a target has in an integer operation: the nearest one to what vectors ask."""
    file = without_cases(row.name, format, slot)
    known = padded([case.inputs for case in row.designed(format)])
    policy, _ = nearest(file, known, target.ask(file, known))
    return decided(target, file, known, policy, drawn(row.name, format, slot, DECIDING))


def _sizes(target: Target, file: VectorFile, *, is_first: bool) -> tuple[int, ...]:
    """The numbers of cases of batches; the large ones for the first float type of a format only."""
    if not isinstance(target, PythonTarget) or not has_batches(file):
        return ()
    return tuple(size for size in SIZES if is_first or size < _LARGE)


def _search(trial: Trial, examples: int, random: Random, seed: int) -> Counterexample | None:
    file = trial.file
    asked = questions(file.op, file.format, file.float, trial.policy)
    quiet = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
    )
    with contextlib.suppress(NoSuchExample, Unsatisfiable, Flaky), _no_folder():
        find(asked, trial.fails, settings=quiet, random=random)
    if trial.last is None and not trial.stopped and isinstance(trial.target, PythonTarget):
        for words in _drawn_calls(file, trial.policy, examples, seed):
            trial.search(words)
            if trial.last is not None or trial.stopped:
                break
    found: Changed | tuple[FuzzCall, Failure] | None = trial.changed
    if trial.last is not None:
        found = _shrunk(trial, *trial.last)
    if found is None:
        return None
    if isinstance(found, Changed):
        changed = trial.alone(found)
        call, failure = changed.call, changed.failure
    else:
        (call, failure), changed = found, None
    _confirm(trial, failure)
    code = reproduction(trial.target, file, call, failure, changes=changed is not None)
    right_below = changed is None and _is_right_below(trial, call)
    return Counterexample(file, call.rows, failure, code, changed, call.size, right_below)


def _drawn_calls(file: VectorFile, policy: AnyPolicy, examples: int, seed: int) -> Iterator[Words]:
    """What is asked after all examples: the search of `verify`, and calls of ordinary data."""
    words = _drawn(file, policy)
    if words.size:
        yield words
    kinds = [] if file.row.varied else [*kinds_of(file)]
    rows = _ORDINARY[bool(file.row.blocks)]
    for turn in range(max(len(kinds), examples // _ONE_OF) if kinds else 0):
        again, place = divmod(turn, len(kinds))
        yield ordinary_words(file, kinds[place], rows, seed + again)


def _drawn(file: VectorFile, policy: AnyPolicy) -> Words:
    """The questions of the search that `verify` makes, without those that the policy refuses."""
    words = drawn(file.op, file.format, file.float, file.row.questions)
    if isinstance(policy, str):
        return words
    if policy.element.nan_to_finite is NaNToFinite.ERROR and file.float in LAYOUTS:
        layout = LAYOUTS[file.float]
        numbers = words & np.uint64(layout.sign_bit - 1) <= np.uint64(layout.inf_bits)
        words = words[numbers.all(axis=1)]
    return words


@contextlib.contextmanager
def _no_folder() -> Iterator[None]:
    """Keeps hypothesis from writing a folder `.hypothesis` into the working folder."""
    with tempfile.TemporaryDirectory() as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def _shrunk(trial: Trial, call: FuzzCall, failure: Failure) -> tuple[FuzzCall, Failure] | Changed:
    """The simplest call found with a wrong answer, or two answers to one question."""
    simple = _simplified(trial, call, failure.index)
    for one in (simple, call):
        again = trial.failure(one)
        if again is not None:
            changed = trial.change(one, again)
            return changed or (one, again)
    return trial.change(call, failure) or (call, failure)


def _simplified(trial: Trial, call: FuzzCall, place: int) -> FuzzCall:
    """A simpler call that fails: of one case if any case fails alone."""
    for row in range(len(call.rows)):
        one = call.rows[row : row + 1]
        if trial.wrong(one, call.memory)[0]:
            wrong = functools.partial(trial.wrong, memory=call.memory)
            return FuzzCall(simplest(wrong, trial.file, one[0])[np.newaxis], call.memory)
    if not call.size and len(call.rows) <= _FEW:
        return call
    batch = call if call.size else FuzzCall(call.rows, size=len(call.rows))

    def first_wrong(one: FuzzCall) -> int | None:
        found = trial.failure(one)
        return None if found is None else found.index

    return smallest_call(first_wrong, trial.file, batch, place)


def _is_right_below(trial: Trial, call: FuzzCall) -> bool:
    """Whether a batch with one case less is answered rightly."""
    less = call.size - 1
    return less >= len(call.rows) and trial.failure(dataclasses.replace(call, size=less)) is None


def _confirm(trial: Trial, failure: Failure) -> None:
    """Check the wanted answer by the slow twin, which profiles do not have; errors have none."""
    if trial.profile is not None or failure.refused:
        return
    file, row = trial.file, failure.case.inputs
    exact = exact_answer(file.op, file.format, file.float, row, trial.policy)
    if not same_answers(file, padded([exact]), padded([failure.want]), padded([row])).all():
        raise RuntimeError(
            f"mxref contradicts itself on {file.stem} {[hex(word) for word in row]} under "
            f"{file.columns[0]}: please report this"
        )
