"""Why a target fails: the policy or the known bug that gives all of its answers."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import choices_read
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.cause.diagnose import closest_policy, pared
from mxref.conformance.verdict.cause.evidence import Evidence, all_of, few_of, sample_of, total
from mxref.conformance.verdict.cause.fillers import filler_cause
from mxref.conformance.verdict.cause.orders import lanes_of
from mxref.conformance.verdict.cause.pairs import pair_of
from mxref.conformance.verdict.cause.shifts import shift_of
from mxref.conformance.verdict.cause.suspects import Suspect, layouts_of_mutants, of_order, suspects
from mxref.conformance.verdict.stages.candidates import named
from mxref.conformance.verdict.stages.classes import class_cause
from mxref.conformance.verdict.stages.stage_cause import stage_cause
from mxref.formats.scale_kinds import has_power_scales
from mxref.policy.choices import Scaling
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule
from mxref.profiles import PROFILES, Profile

__all__ = ["find_causes", "mixing_cause", "policy_cause"]

#: The number of failed and of passed cases that profiles are compared with first.
_FEW = 24
#: A policy or profile that leaves so many times fewer wrong says more than stages do.
_NEAR = 4
#: A scale rule is nearer than another policy if it is wrong at so many times fewer significands.
_FEWER = 4


def find_causes(
    op: str,
    outcomes: Sequence[Outcome],
    start: Policy,
    hints: Sequence[Cause] = (),
    *,
    apart: bool = True,
) -> tuple[Cause, ...]:
    """Policies or known bugs that give all answers of a target to an operation and format.

    Policies are tried first, changed one choice at a time, then the bugs of the museum and their
    like, over the policy compared with and over the nearest one, then profiles, shifts, and pairs
    of bugs.

    Args:
        op: the operation.
        outcomes: the answers to its files, compared; some of them wrong.
        start: the policy that they were compared with.
        hints: what gave all answers on other formats; tried first.
        apart: whether stages are looked for.

    Returns:
        All that do, the plainest first; or else a shift of all scales or values but those at the
        ends of their range; or else the one policy or profile that explains half of the failures or
        more; or nothing.
    """
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    whole = [all_of(outcome) for outcome in outcomes]
    samples = [sample_of(*pair) for pair in zip(outcomes, whole, strict=True)]
    errors = any(failure.got is None for failure in failures)
    for hint in hints:
        policy = Policy.parse(hint.policy)
        again = policy_cause(op, whole, policy)
        if again.complete:
            return (again,)
        if not errors and (found := _bugs(op, policy, samples, whole, hint)):
            return found
        stages = stage_cause(op, whole, (policy,), hint.steps) if hint.steps else None
        if stages is not None and stages.complete:
            return (stages,)
    closest = closest_policy(op, samples, start)
    pared_down = pared(whole, closest, start)
    if not any(one.misses_under(closest) for one in samples):
        # Of several choices that give all of a sample, others tell one.
        pared_down = closest_policy(op, whole, pared_down)
    nearest = policy_cause(op, whole, pared_down)
    # A reciprocal that is 0 for FE, or 1 for 00, is a known bug of the policy that divides.
    parsed = Policy.parse(nearest.policy)
    if op == "quantize" and parsed.scale.scaling is Scaling.RECIPROCAL_FLUSHED and not errors:
        divided = parsed.replace(scaling="divide")
        for policy in dict.fromkeys((divided.replace(scale_underflow="clamp"), divided)):
            if found := _bugs(op, policy, samples, whole):
                return found
    if nearest.complete:
        return (nearest,)
    names = dict.fromkeys((str(start), nearest.policy, *layouts_of_mutants(op)))
    meant = [] if errors else [Policy.parse(name) for name in names]
    for find in (_bugs, _lanes):
        for policy in meant:
            if found := find(op, policy, samples, whole):
                return found
    for policy in meant:
        if filler := filler_cause(op, whole, policy):
            return (filler,)
    profiles = _profiles(op, outcomes, whole)
    if profiles and profiles[0].complete:
        return tuple(one for one in profiles if one.complete)
    shift = None if errors else _shift(op, whole, (start, parsed))
    if shift is not None and shift.complete:
        return (shift,)
    for policy in meant:
        few = _asked(policy, samples, whole)
        if few and (pair := pair_of(op, policy, few[0], whole)):
            return (pair.cause(op, policy, whole),)
    stages = stage_cause(op, whole, meant) if apart else None
    if apart and (stages is None or not stages.complete):
        stages = class_cause(op, whole, meant) or stages
    if stages is not None and stages.complete:
        return (stages,)
    if any(PROFILES[one.profile].stages.blocks for one in outcomes if one.profile):
        return ()  # stages over a policy do not say what differs from another formula
    if shift is not None:
        return (shift,)
    near = max((nearest, *profiles[:1]), key=lambda one: one.same)
    is_near = _NEAR * (near.total - near.same) <= len(failures)
    told = (near,) if 2 * (near.total - near.same) <= len(failures) else ()
    if stages is not None and (stages.same > near.same or (_says_much(stages) and not is_near)):
        return (dataclasses.replace(stages, otherwise=told),)
    rule = None if errors else _nearest_rule(op, whole, nearest, len(failures))
    return told if rule is None else (rule,)


def mixing_cause(op: str, outcomes: Sequence[Outcome], policy: Policy) -> tuple[Cause, ...]:
    """What the stages of a target do in which a block depends on others of its call, if known.

    Args:
        op: the operation.
        outcomes: the answers to its files, compared.
        policy: the policy that they were compared with.
    """
    found = stage_cause(op, [all_of(outcome) for outcome in outcomes], (policy,))
    return (found,) if found is not None and found.mixes else ()


def _says_much(stages: Cause) -> bool:
    """Whether several stages deviate, or one that says what most of its units do."""
    clear = any(one.text and _NEAR * one.left <= one.wrong for one in stages.stages)
    return len(stages.stages) > 1 or clear


def _nearest_rule(
    op: str, whole: Sequence[Evidence], nearest: Cause, failures: int
) -> Cause | None:
    """A policy with another scale rule that is wrong at far fewer significands of amax, if any.

    A limit that is off by one number is wrong in many cases, since the vectors stand at limits, and
    another rule in few that lie between.
    """
    format = whole[0].questions.file.format
    if op not in ("quantize", "shared_scale") or (
        op == "quantize" and not has_power_scales(format)
    ):
        return None
    policies = [Policy.parse(nearest.policy).replace(scale_rule=rule.value) for rule in ScaleRule]
    try:
        wrong = {str(one): _significands(whole, one) for one in policies}
        fewest = len(_significands(whole, Policy.parse(nearest.policy)))
    except ValueError:  # the policy has no answer to some question
        return None
    best = min(wrong, key=lambda name: len(wrong[name]))
    found = policy_cause(op, whole, Policy.parse(best))
    is_far_nearer = _FEWER * len(wrong[best]) <= fewest and found.total - found.same < failures
    return found if is_far_nearer else None


def _significands(whole: Sequence[Evidence], policy: Policy) -> set[int]:
    """The significands of amax in the cases that a policy has other answers to."""
    found: set[int] = set()
    for one in whole:
        wrong = ~(one.gives(one.questions.answers(policy)) & one.answered)
        layout = LAYOUTS[one.questions.file.float]
        magnitudes = one.questions.inputs[wrong] & np.uint64(layout.sign_bit - 1)
        amax = magnitudes.max(axis=1) & np.uint64((1 << layout.mantissa_bits) - 1)
        found |= {*(amax << np.uint64(52 - layout.mantissa_bits)).tolist()}
    return found


def _lanes(
    op: str, policy: Policy, samples: Sequence[Evidence], whole: Sequence[Evidence]
) -> tuple[Cause, ...]:
    """The order of the lanes of blocks that gives all answers, over a policy, if there is one."""
    try:
        order = lanes_of(op, whole, policy)
    except ValueError:  # the policy has no answer to some question
        return ()
    if order is None or not all(of_order(op, order).gives(one, policy) for one in whole):
        return ()
    return (of_order(op, order).cause(op, policy, whole),)


def _shift(op: str, whole: Sequence[Evidence], policies: Sequence[Policy]) -> Cause | None:
    """The shift that all scales or values show, over one of some policies, if there is one."""
    found = shift_of(op, whole, policies)
    if found is None:
        return None
    shift, policy, same = found
    misses = sum(len(one.answers) for one in whole) - same
    beside = "" if policy in policies else f"compared with {_changes(policy, policies[0])}, "
    suspect = Suspect("shift", shift.name, "", beside + shift.text, op, (), shift.answer)
    return suspect.cause(op, policy, whole, misses)


def _changes(policy: Policy, start: Policy) -> str:
    """The choices of a policy that another one has not, in words."""
    own = start.choices()
    return named({name: one for name, one in policy.choices().items() if own[name] != one})


def _profiles(op: str, outcomes: Sequence[Outcome], whole: Sequence[Evidence]) -> list[Cause]:
    """The profiles that give most answers of a sample, with the number that they give of all.

    One that is a policy alone is found as that policy.
    """
    some = [few_of(*pair, _FEW) for pair in zip(outcomes, whole, strict=True)]
    asked, every = (sum(len(one.answers) for one in ones) for ones in (some, whole))
    profiles = [profile for profile in PROFILES.values() if profile.replaced]
    fewest, nearest = asked // 2, list[Profile]()
    for profile in profiles:
        misses = total((one.misses_of(profile) for one in some), fewest + 1)
        if misses < fewest:
            fewest, nearest = misses, []
        if misses == fewest < asked // 2:
            nearest.append(profile)
    causes = []
    for profile in nearest:
        same = every - sum(one.misses_of(profile) for one in whole)
        policy = str(profile.policy)
        causes.append(Cause("profile", profile.name, "", "", op, (), policy, (), same, every))
    return sorted(causes, key=lambda one: -one.same)


def policy_cause(op: str, evidence: Iterable[Evidence], policy: Policy) -> Cause:
    """A policy as a cause, with the number of answers that it gives."""
    evidence = list(evidence)
    every = sum(len(one.answers) for one in evidence)
    misses = sum(one.misses_under(policy) for one in evidence)
    format = evidence[0].questions.file.format if evidence else ""
    name = str(Policy().replace(**choices_read(op, policy, format)))
    return Cause("policy", name, "", "", "", (), name, (), every - misses, every)


def _asked(
    policy: Policy, samples: Sequence[Evidence], whole: Sequence[Evidence]
) -> list[Evidence]:
    """The evidence that a policy does not give, the smallest first: few answers clear most bugs."""
    wrong = [one.misses_under(policy) > 0 for one in whole]
    every = {*itertools.compress(samples, wrong), *itertools.compress(whole, wrong)}
    return sorted(every, key=lambda one: one.answers.size)


def _bugs(
    op: str,
    policy: Policy,
    samples: Sequence[Evidence],
    whole: Sequence[Evidence],
    hint: Cause | None = None,
) -> tuple[Cause, ...]:
    """The known bugs that give all answers of an implementation that otherwise follows a policy.

    With a hint they are searched for only if the hint is one of them.
    """
    asked = _asked(policy, samples, whole)
    passed = [one for one in whole if one not in asked]

    def explains(suspect: Suspect) -> bool:
        return all(suspect.gives(one, policy) for one in asked)

    def cause(suspect: Suspect) -> Cause:
        # One that has the bug from some float types only is right from the others.
        right = [one for one in passed if not suspect.gives(one, policy)]
        floats = tuple(one.questions.file.float for one in whole if one not in right)
        found = suspect.cause(op, policy, whole)
        return dataclasses.replace(found, floats=floats if right else ())

    for some in suspects(op, whole[0].questions.file.format):
        named = [s for s in some if hint is None or (s.name, s.part) == (hint.name, hint.part)]
        if hint is None or any(map(explains, named)):
            found = tuple(cause(suspect) for suspect in some if explains(suspect))
            if found:
                return found
    return ()
