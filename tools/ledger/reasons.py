"""The choices and stages of a profile that make its answers differ from those of `ocp`.

The choices lead from `ocp` to the profile's policy, the stages from there to the profile. Each is
put back alone: a case is ascribed to those that undo the difference, or else to those that change
the answer at all, or else to all of them together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.cases.answers import choices_read
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.sweeping.plan import OwnTarget
from mxref.operands.word_rows import same_width
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.profiles.stages import Stages
from mxref.targets.profile_target import profile_target
from mxref.targets.target import Target

__all__ = ["answers_of", "reasons"]

Words = NDArray[np.uint64]


def reasons(profile: Profile, file: VectorFile, cases: Words) -> dict[str, int]:
    """The number of cases that each choice (`name=value`) and stage (its function) accounts for.

    Args:
        profile: the profile.
        file: operation, format and float type.
        cases: questions to which the profile and `ocp` answer differently.
    """
    if file.op in LAYOUT_OPERATIONS:  # one choice at most decides where a code lies
        changed = choices_read(file.op, profile.policy).items()
        return {f"{name}={value}": len(cases) for name, value in changed}
    plain = dataclasses.replace(profile, stages=Stages())
    ocp, policy, own = (
        answers_of(target, file, cases)
        for target in (OwnTarget(Policy()), profile_target(plain), profile_target(profile))
    )
    found = _put_down(file, cases, ocp, policy, dict(_choices(plain, file.op, file.format)))
    found |= _put_down(file, cases, policy, own, dict(_stages(profile)))
    return {name: count for name, count in sorted(found.items(), key=lambda n: -n[1]) if count}


def _put_down(
    file: VectorFile, cases: Words, before: Words, after: Words, parts: dict[str, Profile]
) -> dict[str, int]:
    """The number of cases that each part accounts for, of those that turn one answer into another.

    Args:
        file: operation, format and float type.
        cases: the questions.
        before: the answers without any of the parts.
        after: the answers with all of them.
        parts: by name the profile without that one.
    """
    answers = {name: answers_of(profile_target(one), file, cases) for name, one in parts.items()}
    undone = {name: _same(file, before, some) for name, some in answers.items()}
    changed = {name: ~_same(file, after, some) for name, some in answers.items()}
    nothing = np.zeros(len(cases), bool)
    by_one = np.any([nothing, *undone.values()], axis=0)
    by_some = by_one | np.any([nothing, *changed.values()], axis=0)
    other = ~_same(file, before, after)
    return {
        name: int((other & np.where(by_one, undone[name], changed[name] | ~by_some)).sum())
        for name in parts
    }


def answers_of(target: Target, file: VectorFile, cases: Words) -> Words:
    """A target's answers, one row a case; empty where it raises.

    A product is asked as a block whose elements are all the same.
    """
    if file.op != "dequantize":
        return target.ask(file, cases).words
    return target.ask(file, np.repeat(cases, [1, 32], axis=1)).words[:, :1]


def _same(file: VectorFile, want: Words, got: Words) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = np.all(same_answers(file, *same_width(want, got)), axis=1)
    return same


def _choices(profile: Profile, op: str, format: str) -> Iterator[tuple[str, Profile]]:
    """For each choice the profile with that of `ocp` in its place."""
    default = Policy().choices()
    for name, value in choices_read(op, profile.policy, format).items():
        policy = profile.policy.replace(**{name: default[name]})
        yield f"{name}={value}", dataclasses.replace(profile, policy=policy)


def _stages(profile: Profile) -> Iterator[tuple[str, Profile]]:
    """For each replaced stage the profile with the policy's stage in its place."""
    for stage in profile.replaced:
        function = getattr(profile.stages, stage)
        stages = dataclasses.replace(profile.stages, **{stage: getattr(Stages(), stage)})
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        yield name, dataclasses.replace(profile, stages=stages)
