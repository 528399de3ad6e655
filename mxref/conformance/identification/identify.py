"""Identify the choices that a target makes, by few questions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.identification.asking import PROBES, AnsweredQuestions, Probe, narrowed
from mxref.conformance.identification.equal_members import because, equal_members
from mxref.conformance.identification.policy_sets import PolicySet, simplest
from mxref.conformance.identification.pools import Pool, Words
from mxref.conformance.identification.questions import pools, unasked_places
from mxref.conformance.identification.scaled_questions import has_questions
from mxref.conformance.identification.setting import Setting
from mxref.conformance.identification.vector_check import (
    TimedTarget,
    VectorCheck,
    ask_vectors,
    compared,
    files_of,
)
from mxref.formats.catalog import ScaleKind
from mxref.formats.scale_kinds import has_small_float_scales, scale_kind
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import OPERATIONS, POLICY_OPERATIONS
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES, Profile
from mxref.targets.calls import call_function, without_cases
from mxref.targets.profile_target import profile_target
from mxref.targets.target import Target

__all__ = ["ChoiceFinding", "Clash", "Identified", "identify", "identify_one", "settings"]


@dataclass(frozen=True, slots=True)
class ChoiceFinding:
    """The result for one choice.

    Args:
        choice: the choice's name.
        values: the members that give the target's answers, given the other choices.
        shown: for each excluded member the number of a probe that excludes it, and the first word
            that differs.
        because: why several values cannot be told apart.
    """

    choice: str
    values: tuple[str, ...]
    shown: Mapping[str, tuple[int, int]]
    because: str


@dataclass(frozen=True, slots=True)
class Clash:
    """A probe that contradicts the others.

    Args:
        probe: the probe's number.
        word: the first word of the answer that differs.
        want: the answer of the nearest policy; None for an error.
        otherwise: single choices that would give the target's word.
    """

    probe: int
    word: int
    want: tuple[int, ...] | None
    otherwise: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identified:
    """The result of `identify` for an operation, format and float type.

    Args:
        setting: operation, format and float type.
        probes: the questions with the target's answers.
        space: the policies that cannot be told apart, with one member for each group of equivalent
            ones; those nearest to the answers if the target contradicts itself.
        findings: the result for each choice.
        clashes: the probes that contradict the others; none if a policy gives all answers.
        vectors: the answers to the vectors, compared with that policy; None if they were not asked.
    """

    setting: Setting
    probes: tuple[Probe, ...]
    space: PolicySet
    findings: tuple[ChoiceFinding, ...]
    clashes: tuple[Clash, ...]
    vectors: VectorCheck | None = None

    @property
    def consistent(self) -> bool:
        """Whether some policy gives all answers, those to the vectors included."""
        return not self.clashes and not self.contradicted

    @property
    def contradicted(self) -> bool:
        """Whether answers to the vectors differ from those of the policy that the probes fit."""
        return not self.clashes and self.vectors is not None and self.vectors.wrong > 0

    @property
    def answered(self) -> bool:
        """Whether there is an answer at all, so that something was learned."""
        return any(probe.answer is not None for probe in self.probes)

    @property
    def count(self) -> int:
        """The number of policies that give all answers, by the choices that the operation reads."""
        return self._whole().count if self.consistent else 0

    @property
    def policies(self) -> Iterator[Policy]:
        """Every policy that gives all answers; unread choices are those of `ocp`."""
        if self.consistent:
            for members in self._whole():
                yield Policy().replace(**members)

    def contains(self, policy: Policy) -> bool:
        """Whether a policy gives all answers, whatever its unread choices are."""
        chosen = policy.choices()
        some = {name: chosen[name] for name in self.setting.choices}
        return self.consistent and some in self._whole()

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles of this operation and format that give all answers."""
        op, format = self.setting.op, self.setting.format
        speaking = (one for one in PROFILES.values() if one.speaks_of(op, format))
        return tuple(
            one.name
            for one in speaking
            if (
                self._equals(one)
                if one.replaced or self.setting.one_nan  # profiles are compared bit for bit
                else self.contains(one.policy)
            )
            and (self.vectors is None or self.vectors.fits(one))
        )

    def _equals(self, profile: Profile) -> bool:
        """Whether a profile with replaced stages gives all answers."""
        target = profile_target(profile)
        if not target.covers(self.setting.op, self.setting.format, self.setting.float):
            return False
        if any(probe.answer is None for probe in self.probes):
            return False
        file = without_cases(self.setting.op, self.setting.format, self.setting.float)
        asked = padded([probe.words for probe in self.probes])
        got = padded([probe.answer or () for probe in self.probes])
        function = target.operations[self.setting.op]
        answers = call_function(function, file, asked, find=False)
        return not answers.errors and bool(
            same_answers(file, answers.words, got, asked, bits=True).all()
        )

    @property
    def policy(self) -> Policy:
        """The policy with the shortest spelling that gives the most answers."""
        return Policy().replace(**simplest(self._whole()))

    def _whole(self) -> PolicySet:
        """The space with every member of each group of equivalent members."""
        space = self.space
        for name in self.setting.choices:
            groups = {group[0]: group for group, _ in equal_members(self.setting, name)}
            space = space.widen(name, groups)
        return space


def identify(
    target: Target,
    ops: Collection[str] = OPERATIONS,
    formats: Collection[str] | None = None,
    floats: Collection[str] | None = None,
) -> tuple[Identified, ...]:
    """Identify a target's choices in every operation that it covers.

    Args:
        target: the implementation.
        ops: the operations to ask about.
        formats: the formats to ask about; all if None.
        floats: the float types to ask about; all if None.

    >>> import types, mxref
    >>> from mxref.conformance import target_of
    >>> mine = types.SimpleNamespace(encode=lambda x, f: mxref.encode(x, f, rounding="to_odd"))
    >>> (found,) = identify(target_of(mine, "mine"), formats=["e2m1"], floats=["f32"])
    >>> str(found.policy), len(found.probes) <= 64, found.profiles
    ('ocp+rounding=to_odd', True, ())
    """

    def wanted(op: str, format: str, float: str) -> bool:
        return (
            (formats is None or format in formats)
            and (floats is None or float in floats or float not in LAYOUTS)
            and target.covers(op, format, float)
        )

    timed = TimedTarget(target)
    some = [op for op in ops if op in getattr(target, "operations", ops)]
    return tuple(_checked(timed, setting) for setting in settings(wanted, some))


def _checked(target: TimedTarget, setting: Setting) -> Identified:
    """What the probes show, and whether the vectors contradict it where it is of a policy."""
    start = target.seconds
    found = identify_one(target, setting)
    if not found.answered or not (found.consistent or found.profiles):
        return found
    seconds, probes = target.seconds - start, len(found.probes)
    files = files_of(setting.op, setting.format, setting.float, found.policy)
    answered = ask_vectors(target, files, probes, seconds)
    return replace(found, vectors=compared(files, answered, found.policy))


def settings(
    wanted: Callable[[str, str, str], bool] = lambda *_: True, ops: Collection[str] = OPERATIONS
) -> Iterator[Setting]:
    """Every operation with its formats and float types, in order.

    Args:
        wanted: which of them.
        ops: of these operations alone; the rows of others are not imported.
    """
    for op in (op for op in POLICY_OPERATIONS if op in ops):
        row = POLICY_OPERATIONS[op]
        for format in row.formats:
            open_nan = has_small_float_scales(format) or _is_float32(format)
            for slot in row.slots(format):
                one = Setting(op, format, slot, open_nan)
                if wanted(op, format, slot) and has_questions(one):
                    yield one


def _is_float32(format: str) -> bool:
    return scale_kind(format) is ScaleKind.FLOAT32


def identify_one(target: Target, setting: Setting) -> Identified:
    """Identify a target's choices in one operation, format and float type, by its probes alone.

    Args:
        target: the implementation; an error that it raises counts as an answer.
        setting: what to ask about.
    """
    names = setting.choices
    space = PolicySet.of({n: [group[0] for group, _ in equal_members(setting, n)] for n in names})
    asked = AnsweredQuestions(target, setting)
    spare: list[Words] = []
    for make in pools(setting):
        pool = make(Policy().replace(**simplest(space)))
        space = narrowed(space, pool, asked)
        asked.looked_at += len(pool.words)
        spare.append(pool.words)
    found = Policy().replace(**simplest(space))
    asked.ask(unasked_places(setting, [probe.words for probe in asked.probes], found))
    for i, words in enumerate(spare):  # the remaining probes, spread over the pools
        share = (PROBES - len(asked.probes)) // (len(spare) - i)
        asked.ask(words[np.arange(share) * len(words) // max(1, share)])
    for words in asked.words():  # compare every word of every answer
        space = narrowed(space, Pool("what was asked", (), words, range(len(words))), asked)
    likely = simplest(space)
    wrong = np.flatnonzero(~asked.agree(likely)).tolist()
    if wrong and not setting.one_nan:
        asked.setting = replace(setting, one_nan=True)
        if asked.agree(likely, wrong).any():  # right for `verify`, where the bits of NaN are open
            return identify_one(target, asked.setting)
        asked.setting = setting
    findings = tuple(_finding(name, space, asked, likely, set(wrong)) for name in names)
    clashes = _clashes(asked, likely, wrong)
    return Identified(setting, tuple(asked.probes), space, findings, clashes)


def _clashes(
    asked: AnsweredQuestions, found: Mapping[str, str], wrong: Sequence[int]
) -> tuple[Clash, ...]:
    """The contradicting probes, each with the single choices that would give its first word."""
    probes = [asked.probes[i] for i in wrong]
    want = asked.predicted(found, probes)
    others = {
        f"{name}={group[0]}": asked.predicted({**found, name: group[0]}, probes)
        for name in (asked.setting.choices if probes else ())
        for group, _ in equal_members(asked.setting, name)
    }
    clashes = []
    for i, (probe, word) in enumerate(zip(probes, asked.difference(found, wrong), strict=True)):
        at = slice(int(word), int(word) + 1)
        given = (probe.answer or ())[at]
        otherwise = tuple(one for one, rows in others.items() if stripped(rows[i])[at] == given)
        clashes.append(Clash(wrong[i], at.start, stripped(want[i]) or None, otherwise))
    return tuple(clashes)


def _finding(
    name: str,
    space: PolicySet,
    asked: AnsweredQuestions,
    found: Mapping[str, str],
    wrong: Collection[int],
) -> ChoiceFinding:
    """The result for a choice, with the probes that exclude most of its other members."""
    setting = asked.setting
    groups = {group[0]: group for group, _ in equal_members(setting, name)}
    values = [member for first in space.values(name) for member in groups[first]]
    out = [one for one in groups if one not in space.values(name)]
    differ = {one: asked.difference({**found, name: one}) for one in out}
    for some in differ.values():
        some[list(wrong)] = -1  # contradicting probes exclude nothing
    counts = sum((some >= 0 for some in differ.values()), np.zeros(len(asked.probes), np.int64))
    ruled: dict[str, tuple[int, int]] = {}
    for first in out:
        where = np.flatnonzero(differ[first] >= 0)
        if where.size:
            probe = int(where[counts[where].argmax()])
            for member in groups[first]:
                ruled[member] = (probe, int(differ[first][probe]))
    known = {other: "|".join(space.values(other)) for other in setting.choices}
    why = because(setting, name, values, known, asked.looked_at, wrong=bool(wrong))
    return ChoiceFinding(name, tuple(values), ruled, why)
