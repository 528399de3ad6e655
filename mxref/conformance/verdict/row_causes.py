"""Why a row of answers is wrong: what is looked for, by the kind of its operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mxref.conformance.verdict.call_dependence import MIXING, CallDependence
from mxref.conformance.verdict.row import VerifyRow
from mxref.operations.registry import PRODUCT_OPERATIONS
from mxref.policy.policy import Policy

if TYPE_CHECKING:
    from mxref.conformance.verdict.cause.cause import Cause
    from mxref.profiles import Profile

__all__ = ["by_claim", "with_causes", "with_mixing_cause", "without_causes"]

#: Operations with so many bugs that it takes seconds to look for them.
_SLOWLY_EXPLAINED = ("quantize", "shared_scale")


def by_claim(row: VerifyRow, claimed: Profile) -> VerifyRow:
    """A row with its cause if that is the profile: it gives all answers, and its policy does not.

    Where known bugs are looked for quickly, they come first, as usual.
    """
    if not row.failures or row.op not in _SLOWLY_EXPLAINED:
        return row
    from mxref.conformance.verdict.cause.cause import Cause
    from mxref.conformance.verdict.cause.evidence import all_of

    whole = [all_of(outcome) for outcome in row.outcomes]
    by_policy = not any(one.misses_under(claimed.policy) for one in whole)
    if by_policy or any(one.misses_of(claimed) for one in whole):
        return row
    total = sum(len(one.answers) for one in whole)
    name, policy = claimed.name, str(claimed.policy)
    cause = Cause("profile", name, "", "", row.op, (), policy, (), total, total)
    return replace(row, causes=(cause,), sought=True)


def without_causes(row: VerifyRow) -> VerifyRow:
    """A row whose causes are not known."""
    return replace(row, causes=(), sought=False)


def with_mixing_cause(row: VerifyRow, policy: Policy, uses: Sequence[CallDependence]) -> VerifyRow:
    """A row of answers that depend on the call, with how blocks of a call are mixed, if known."""
    kinds = {use.kind for use in uses if (use.op, use.format) == (row.op, row.format)}
    if not row.wrong or row.profile is not None or not kinds <= MIXING:
        return without_causes(row)
    if row.causes and row.causes[0].mixes:  # it was looked for before
        return row
    from mxref.conformance.verdict.causes import mixing_cause

    return replace(without_causes(row), causes=mixing_cause(row.op, row.outcomes, policy))


def with_causes(
    row: VerifyRow,
    policy: Policy,
    before: Sequence[VerifyRow],
    like: Sequence[Cause],
    *,
    apart: bool,
) -> VerifyRow:
    """A row with the causes of its failures, unless it has them; errors alone have none."""
    if row.sought or not row.wrong:
        return row
    if all(len(one.errors) == len(one.inputs) for one in row.outcomes):  # nothing to explain
        return replace(row, causes=(), sought=True)
    # The museum of known bugs is imported where something is wrong.
    from mxref.conformance.verdict.cause.diagnose import profile_causes
    from mxref.conformance.verdict.cause.integer_causes import integer_causes
    from mxref.conformance.verdict.cause.product_causes import product_causes
    from mxref.conformance.verdict.causes import find_causes

    if row.operation.own_choices:
        return replace(row, causes=integer_causes(row.outcomes), sought=True)
    if row.op in PRODUCT_OPERATIONS:
        from mxref.conformance.verdict.stages.product_stages import product_stages

        told = product_causes(row.outcomes)
        stages = product_stages(row.outcomes, like) if apart and not told else None
        return replace(row, causes=told if stages is None else (stages,), sought=True)
    known = (other.causes[0] for other in before if other.op == row.op and other.causes)
    hints = dict.fromkeys(cause for cause in known if cause.complete)
    causes = profile_causes(row.op, row.outcomes) if row.profile is not None else ()
    causes = causes or find_causes(row.op, row.outcomes, policy, tuple(hints))
    return replace(row, causes=causes, sought=True)
