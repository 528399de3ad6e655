"""Which other profiles give a target's answers, if it differs from the one compared with."""

from __future__ import annotations

from collections.abc import Sequence

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
    total = sum(len(outcome.file.cases) for outcome in outcomes)
    return tuple(
        Cause("profile", one.name, "", "", op, (), str(one.policy), (), total, total)
        for one in PROFILES.values()
        if all(_gives(one, outcome) for outcome in outcomes)
    )


def _gives(profile: Profile, outcome: Outcome) -> bool:
    """Whether a profile speaks of a file and gives all answers to it, bit for bit."""
    file, answers = outcome.file, Answers(outcome.answers, outcome.errors)
    if not speaks_of(profile, file.op, file.format, file.float):
        return False
    return not judged(file, outcome.inputs, answers, profile.policy, profile).failures
