"""Which other profiles give a target's answers, if it differs from the one compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mxref.conformance.compare.compare import Outcome, judged
from mxref.conformance.verdict.cause.cause import Cause
from mxref.profiles import PROFILES, Profile
from mxref.targets.calls import Answers
from mxref.targets.profile_target import speaks_of

__all__ = ["profile_causes"]


def profile_causes(op: str, outcomes: Sequence[Outcome]) -> tuple[Cause, ...]:
    """The profiles that give all answers of a target to the files of an operation and format.

    Args:
        op: the operation.
        outcomes: the answers to its files.
    """
    return tuple(_causes(op, outcomes))


def _causes(op: str, outcomes: Sequence[Outcome]) -> Iterator[Cause]:
    total = sum(len(outcome.file.cases) for outcome in outcomes)
    for profile in PROFILES.values():
        if all(_gives(profile, outcome) for outcome in outcomes):
            policy = str(profile.policy)
            yield Cause("profile", profile.name, "", "", op, (), policy, (), total, total)


def _gives(profile: Profile, outcome: Outcome) -> bool:
    """Whether a profile speaks of a file and gives all answers to it, bit for bit."""
    file, answers = outcome.file, Answers(outcome.answers, outcome.errors)
    if not speaks_of(profile, file.op, file.format, file.float):
        return False
    return not judged(file, outcome.inputs, answers, profile.policy, profile).failures
