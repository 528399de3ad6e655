"""Which choices and stages of a profile make its answers differ from those of `ocp`.

Each is put back to the default alone. A case is put down to those that give the answer of `ocp`
when they are put back, and if there are none to those that change the answer at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.compare import same_answers
from mxref.conformance.profile_target import profile_target
from mxref.conformance.sweeping.plan import OwnTarget
from mxref.conformance.target import Target
from mxref.golden.answers import choices_read
from mxref.golden.records import VectorFile, same_width
from mxref.golden.words import LAYOUT_OPERATIONS
from mxref.policy import Policy
from mxref.profiles import Profile
from mxref.profiles._stages import Stages

__all__ = ["answers_of", "reasons"]

Words = NDArray[np.uint64]


def reasons(profile: Profile, file: VectorFile, cases: Words) -> dict[str, int]:
    """How many of some cases are put down to each choice (`name=value`) and stage (its function).

    Args:
        profile: the profile.
        file: operation, format and float type.
        cases: that it answers otherwise than `ocp`.
    """
    if file.op in LAYOUT_OPERATIONS:  # one choice at most decides where a code lies
        changed = choices_read(file.op, profile.policy).items()
        return {f"{name}={value}": len(cases) for name, value in changed}
    ocp = answers_of(OwnTarget(Policy()), file, cases)
    own = answers_of(profile_target(profile), file, cases)
    restores, changes = {}, {}
    for name, other in _put_back(profile, file.op):
        answers = answers_of(profile_target(other), file, cases)
        restores[name] = _same(file, ocp, answers)
        changes[name] = ~_same(file, own, answers)
    restored = np.any([np.zeros(len(cases), bool), *restores.values()], axis=0)
    found = {name: int((restores[name] | ~restored & changes[name]).sum()) for name in restores}
    return {name: found[name] for name in sorted(found, key=lambda n: -found[n]) if found[name]}


def answers_of(target: Target, file: VectorFile, cases: Words) -> Words:
    """A target's answers, one row a case; nothing where it raises.

    A product is asked as a block whose elements are all the same.
    """
    if file.op != "dequantize":
        return target.ask(file, cases).words
    return target.ask(file, np.repeat(cases, [1, 32], axis=1)).words[:, :1]


def _same(file: VectorFile, want: Words, got: Words) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = np.all(same_answers(file, *same_width(want, got)), axis=1)
    return same


def _put_back(profile: Profile, op: str) -> Iterator[tuple[str, Profile]]:
    """The profile with one choice or stage put back to the default, by the name of what it was."""
    default = Policy().choices()
    for name, value in choices_read(op, profile.policy).items():
        policy = profile.policy.replace(**{name: default[name]})
        yield f"{name}={value}", dataclasses.replace(profile, policy=policy)
    for stage in profile.replaced:
        function = getattr(profile.stages, stage)
        stages = dataclasses.replace(profile.stages, **{stage: getattr(Stages(), stage)})
        name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        yield name, dataclasses.replace(profile, stages=stages)
