"""The verdict on a target: every case compared, every failure explained as far as it can be."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mxref.conformance.compare import Failure, Outcome, run_file, same_answers
from mxref.conformance.target import Target
from mxref.golden.answers import fast_answers
from mxref.golden.records import VectorFile
from mxref.golden.words import READS
from mxref.policy import Policy

__all__ = ["Report", "Row", "verify"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: an operation on a format, over all float types."""

    op: str
    format: str
    outcomes: tuple[Outcome, ...]
    equals: tuple[str, ...]  #: other policies that give all of the target's answers

    @property
    def policy(self) -> str:
        """The policy compared with, as far as the operation reads it."""
        return self.outcomes[0].policy

    @property
    def compared(self) -> int:
        """Number of cases compared."""
        return sum(len(outcome.file.cases) for outcome in self.outcomes)

    @property
    def failures(self) -> list[tuple[VectorFile, Failure]]:
        """Every case answered otherwise."""
        return [
            (outcome.file, failure) for outcome in self.outcomes for failure in outcome.failures
        ]


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found."""

    target: Target
    policy: Policy
    rows: tuple[Row, ...]
    not_covered: tuple[str, ...]
    known: Mapping[str, str] = field(default_factory=dict)  #: reason by id, from an xfail file

    @property
    def compared(self) -> int:
        """Number of cases compared."""
        return sum(row.compared for row in self.rows)

    @property
    def failures(self) -> list[tuple[VectorFile, Failure]]:
        """Every case answered otherwise, known or not."""
        return [failure for row in self.rows for failure in row.failures]

    @property
    def unexplained(self) -> list[tuple[VectorFile, Failure]]:
        """Failures that the xfail file does not list."""
        return [(file, f) for file, f in self.failures if f.case.id not in self.known]

    @property
    def groups(self) -> dict[tuple[str, ...], list[tuple[VectorFile, Failure]]]:
        """Unexplained failures by operation, format, clause and flags."""
        groups: dict[tuple[str, ...], list[tuple[VectorFile, Failure]]] = {}
        for file, failure in self.unexplained:
            case = failure.case
            key = (file.op, file.format, case.rule, " ".join(case.flags))
            groups.setdefault(key, []).append((file, failure))
        return groups

    @property
    def stale(self) -> list[str]:
        """Cases that the xfail file lists although they pass or were not compared."""
        failed = {failure.case.id for _, failure in self.failures}
        return [id for id in self.known if id not in failed]

    @property
    def passed(self) -> bool:
        """Something was compared, nothing failed unexpectedly, and no known failure passed."""
        return self.compared > 0 and not self.unexplained and not self.stale

    @property
    def verdict(self) -> str:
        """One of the four verdicts, over all failures, known ones included."""
        if self.compared == 0:
            return "nothing compared"
        failing = [row for row in self.rows if row.failures]
        if not failing:
            return "conforms" if self.policy == Policy() else f"conforms under {self.policy}"
        violated = sorted(
            {f.case.rule for row in failing for file, f in row.failures if _violates(file, f)}
        )
        if all(row.equals for row in failing) and not violated:
            names = sorted({row.equals[0] for row in failing})
            return f"conforms under {', '.join(names)}"
        if violated:
            return f"violates {', '.join(violated)}"
        return "legal but unnamed"


def verify(
    target: Target,
    files: Sequence[VectorFile],
    policy: Policy | None = None,
    known: Mapping[str, str] | None = None,
) -> Report:
    """Put vector files to a target and compare its answers bit by bit.

    Args:
        target: the implementation.
        files: what to ask; see `mxref.golden.read_vectors`.
        policy: what to compare with; what the target claims if None.
        known: reasons of known divergences by case id.
    """
    chosen = target.policy if policy is None else policy
    rows: list[Row] = []
    missing: dict[str, list[str]] = {}
    for (op, format), group in _grouped(files):
        covered = [file for file in group if target.covers(op, format, file.float)]
        absent = [file.float for file in group if file not in covered]
        if absent:
            floats = f" ({', '.join(absent)})" if covered else ""
            missing.setdefault(op, []).append(format + floats)
        if covered:
            outcomes = tuple(run_file(target, file, chosen) for file in covered)
            rows.append(Row(op, format, outcomes, _equal_policies(outcomes)))
    compared = {row.op for row in rows}
    not_covered = tuple(
        f"{op} {', '.join(formats)}" if op in compared else op for op, formats in missing.items()
    )
    return Report(target, chosen, tuple(rows), not_covered, known or {})


def _grouped(
    files: Sequence[VectorFile],
) -> Iterable[tuple[tuple[str, str], list[VectorFile]]]:
    groups: dict[tuple[str, str], list[VectorFile]] = {}
    for file in files:
        groups.setdefault((file.op, file.format), []).append(file)
    return groups.items()


def _equal_policies(outcomes: tuple[Outcome, ...]) -> tuple[str, ...]:
    """Policies other than the one compared with that give every answer of the target."""
    if not any(outcome.failures for outcome in outcomes):
        return ()
    if any(failure.got is None for outcome in outcomes for failure in outcome.failures):
        return ()
    return tuple(
        str(policy)
        for policy in _policies(READS[outcomes[0].file.op])
        if all(_gives(policy, outcome) for outcome in outcomes)
    )


def _policies(names: tuple[str, ...]) -> Iterable[Policy]:
    """Every combination of the choices that an operation reads, fewest changes first."""
    default = Policy().choices()
    members = [[kind.value for kind in Policy.members(name)] for name in names]
    combinations = [dict(zip(names, values, strict=True)) for values in itertools.product(*members)]
    combinations.sort(key=lambda c: sum(value != default[name] for name, value in c.items()))
    return (Policy().replace(**choices) for choices in combinations)


def _gives(policy: Policy, outcome: Outcome) -> bool:
    file = outcome.file
    width = max(file.in_digits // 2, 1)
    inputs = np.array([case.inputs for case in file.cases], np.uint64).astype(f"u{width}")
    answers = fast_answers(file.op, file.format, file.float, inputs, policy).astype(np.uint64)
    return bool(same_answers(file, answers, outcome.answers).all())


def _violates(file: VectorFile, failure: Failure) -> bool:
    """Whether the standard requires the answer that the target did not give."""
    if file.op != "quantize":
        return failure.case.required
    # The choice of the scale is free (MX §6.3); elements under an agreed scale are not.
    same_scale = failure.got is None or failure.got[0] == failure.want[0]
    return same_scale and failure.case.rule.startswith("MX-")


def report_json(report: Report) -> dict[str, Any]:
    """The report as plain data, for `--json`."""
    return {
        "target": report.target.name,
        "policy": str(report.policy),
        "verdict": report.verdict,
        "passed": report.passed,
        "compared": report.compared,
        "rows": [
            {
                "op": row.op,
                "format": row.format,
                "policy": row.policy,
                "compared": row.compared,
                "failed": len(row.failures),
                "known": sum(f.case.id in report.known for _, f in row.failures),
                "equals": list(row.equals),
            }
            for row in report.rows
        ],
        "failures": [
            {
                "id": failure.case.id,
                "in": failure.case.inputs,
                "want": failure.want,
                "got": failure.got,
                "error": failure.error,
                "rule": failure.case.rule,
                "flags": failure.case.flags,
                "known": report.known.get(failure.case.id),
            }
            for _, failure in report.failures
        ],
        "stale": report.stale,
        "not_covered": list(report.not_covered),
    }
