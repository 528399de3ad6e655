"""Which policy or profile a target follows, if not the one that it was compared with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mxref.cases.answers import reads
from mxref.conformance.compare.compare import Outcome, judged
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.cause.evidence import Evidence, all_of, nearest, total
from mxref.policy.choices import BlockInf
from mxref.policy.policy import Policy
from mxref.profiles import PROFILES, Profile
from mxref.targets.calls import Answers
from mxref.targets.profile_target import speaks_of


def closest_policy(op: str, samples: Sequence[Evidence], start: Policy) -> Policy:
    """The policy nearest to a target's answers that is found by changing one choice at a time.

    Args:
        op: the operation.
        samples: some of the answers, failed ones among them.
        start: the first policy tried, and the result if no other is nearer.
    """
    best, misses = start, _misses(samples, start)
    while misses:
        some = _neighbours(op, samples[0].questions.file.format, best)
        misses, policy = nearest(some, lambda one, most: _misses(samples, one, most), misses)
        if policy is None:
            break
        best = policy
    return best


def pared(evidence: Sequence[Evidence], policy: Policy, start: Policy) -> Policy:
    """A policy without those of its choices that explain no failure.

    A choice may gain in a sample, where failures weigh more, and lose among all answers.

    Args:
        evidence: all of a target's answers.
        policy: what is nearest to a sample of them.
        start: what the other choices are those of.
    """
    misses = _misses(evidence, policy)
    for name, value in start.choices().items():
        if policy.choices()[name] != value:
            without = policy.replace(**{name: value})
            fewer = _misses(evidence, without)
            if fewer <= misses:
                policy, misses = without, fewer
    return policy


def answers_differ(outcomes: Sequence[Outcome], policy: Policy) -> int:
    """The number of a target's answers that a policy does not give."""
    return _misses([all_of(outcome) for outcome in outcomes], policy)


def _misses(evidence: Sequence[Evidence], policy: Policy, most: int | None = None) -> int:
    """The number of answers that a policy does not give, or so many of them as are too many."""
    return total((one.misses_under(policy) for one in evidence), most)


def other_choices(
    names: Iterable[str], policy: Policy, *, drawn: bool = False
) -> Iterator[dict[str, str]]:
    """Each other member of some choices of a policy.

    Args:
        names: of the choices.
        policy: whose members are left out.
        drawn: whether there are random bits: stochastic roundings read them, and no others.
    """
    for name in names:
        for member in Policy.members(name):
            unfit = name == "rounding" and member.value.startswith("stochastic") is not drawn
            if not unfit and policy.choices()[name] != member.value:
                yield {name: member.value}


def _neighbours(op: str, format: str, policy: Policy) -> Iterator[Policy]:
    names = reads(op, format)
    for choice in other_choices(names, policy, drawn=op == "encode_stochastic"):
        yield policy.replace(**choice)
    if {"block_inf", "scaling"} <= {*names} and policy.scale.block_inf is BlockInf.NAN_BLOCK:
        # The scale FE and what a reciprocal makes of it show together, in blocks with infinities.
        yield policy.replace(block_inf="largest_scale", scaling="reciprocal_flushed")


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
