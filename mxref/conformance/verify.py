"""The verdict on a target: every case compared, every failure explained as far as it can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mxref._bits import LAYOUTS
from mxref.choices import Standing
from mxref.conformance.asked import is_asked
from mxref.conformance.calls import code_format
from mxref.conformance.cause.causes import Cause, find_causes
from mxref.conformance.cause.diagnose import answers_differ
from mxref.conformance.cause.findings import Finding, findings
from mxref.conformance.compare import Failure, Outcome, run_file, same_answers
from mxref.conformance.describe.description import Description, describe_failures
from mxref.conformance.target import Target
from mxref.formats import BLOCK_FORMATS
from mxref.golden.answers import codes_under_scale, reads
from mxref.golden.records import Case, VectorFile
from mxref.golden.words import SECTIONS
from mxref.policy import Policy

__all__ = ["Report", "Row", "covered_files", "verify"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report: an operation on a format, over all float types."""

    op: str
    format: str
    outcomes: tuple[Outcome, ...]
    causes: tuple[Cause, ...] = ()  #: what gives its answers, if some of them are wrong
    description: Description | None = None  #: where it fails, if no cause gives all of them

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

    def by_flag(self, known: Container[str] = ()) -> dict[str, tuple[int, int]]:
        """How many cases of each flag have wrong answers, and how many there are; largest first.

        Errors and known failures are not counted.
        """
        wrong = (failure for _, failure in self.failures if failure.got is not None)
        failing = (failure.case for failure in wrong if failure.case.id not in known)
        failed = Counter(flag for case in failing for flag in case.flags)
        asked = (case for outcome in self.outcomes for case in outcome.file.cases)
        cases = Counter(flag for case in asked for flag in case.flags)
        return {flag: (count, cases[flag]) for flag, count in failed.most_common()}


@dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found."""

    target: Target
    policy: Policy
    rows: tuple[Row, ...]
    not_covered: tuple[str, ...]
    equals: str | None = None  #: the one policy that gives all answers, if it is another
    known: Mapping[str, str] = field(default_factory=dict)  #: reason by id, from an xfail file
    findings: tuple[Finding, ...] = ()  #: causes, each once for all formats that share it

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
        """Unexplained failures by operation, format, clause and flags, or error; largest first."""
        groups: dict[tuple[str, ...], list[tuple[VectorFile, Failure]]] = {}
        for file, failure in self.unexplained:
            case = failure.case
            why = (failure.error,) if failure.got is None else (case.rule, " ".join(case.flags))
            groups.setdefault((file.op, file.format, *why), []).append((file, failure))
        return dict(sorted(groups.items(), key=lambda group: -len(group[1])))

    @property
    def asked(self) -> set[str]:
        """The ids of all cases compared."""
        return {case.id for row in self.rows for one in row.outcomes for case in one.file.cases}

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
            policies = {row.policy for row in self.rows}
            return "conforms" if policies == {"ocp"} else f"conforms under {self.policy}"
        if self.equals is not None and _is_legal(self.equals):
            return f"conforms under {self.equals}"
        clauses = {_violated(file, failure, self.policy) for file, failure in self.failures}
        violated = sorted(clause for clause in clauses if clause)
        if violated:
            return f"violates {', '.join(violated)}"
        if self.equals is not None:  # what it contradicts is required of other formats only
            return f"conforms under {self.equals}"
        if any(failure.got is None for _, failure in self.failures):
            return "fails with errors"
        return "legal but unnamed"

    @property
    def besides(self) -> tuple[str, ...]:
        """What the standard requires to be offered beside the policy that the target conforms to.

        Required roundings and overflow methods (MX §5.3, §6.3), as ``choice=value``.
        """
        under = self.verdict.partition("conforms under ")[2]
        chosen, default = Policy.parse(under or "ocp").choices(), Policy().choices()
        return tuple(
            f"{name}={value}"
            for name, value in default.items()
            if chosen[name] != value
            and _standing(name, value) is Standing.REQUIRED
            and _standing(name, chosen[name]) is not Standing.CONTRADICTS
        )


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
    covered, not_covered = covered_files(target, files, chosen)
    rows: list[Row] = []
    for (op, format), group in _grouped(covered):
        outcomes = tuple(run_file(target, file, chosen) for file in group)
        rows.append(_row(op, format, outcomes, chosen, rows))
    one = _one_policy(rows, chosen)
    return Report(target, chosen, tuple(rows), not_covered, one, known or {}, findings(rows))


def covered_files(
    target: Target, files: Sequence[VectorFile], policy: Policy
) -> tuple[list[VectorFile], tuple[str, ...]]:
    """The files that ask for what a target has; and in words what the others ask for."""
    covered: list[VectorFile] = []
    missing: dict[str, list[str]] = {}
    for (op, format), group in _grouped(files):
        absent = [
            file.float for file in group if not is_asked(target, op, format, file.float, policy)
        ]
        covered += [file for file in group if file.float not in absent]
        if absent:
            floats = f" ({', '.join(absent)})" if len(absent) < len(group) else ""
            missing.setdefault(op, []).append(format + floats)
    compared = {file.op for file in covered}
    text = [f"{op} {', '.join(names)}" if op in compared else op for op, names in missing.items()]
    lacks: Mapping[str, str] = getattr(target, "lacks", {})
    asked = {file.float for file in files}
    return covered, (*text, *(f"{name}: {why}" for name, why in lacks.items() if name in asked))


def _row(
    op: str, format: str, outcomes: tuple[Outcome, ...], policy: Policy, before: Sequence[Row]
) -> Row:
    if not any(outcome.failures for outcome in outcomes):
        return Row(op, format, outcomes)
    known = (row.causes[0] for row in before if row.op == op and row.causes)
    hints = dict.fromkeys(cause for cause in known if cause.complete)
    causes = find_causes(op, outcomes, policy, tuple(hints))
    complete = any(cause.complete for cause in causes)
    return Row(
        op, format, outcomes, causes, None if complete else describe_failures(outcomes, policy)
    )


def _one_policy(rows: Sequence[Row], start: Policy) -> str | None:
    """The policy that gives the answers of every row, from those that explain the failing ones."""
    changed: dict[str, str] = {}
    for row in rows:
        if row.failures:
            if not row.causes or row.causes[0].kind != "policy" or not row.causes[0].complete:
                return None
            found = Policy.parse(row.causes[0].policy).choices()
            changed |= {name: found[name] for name in reads(row.op)}
    if not changed:
        return None
    policy = start.replace(**changed)
    same = all(answers_differ(row.outcomes, policy) == 0 for row in rows)
    return str(policy) if same else None


def _grouped(
    files: Sequence[VectorFile],
) -> Iterable[tuple[tuple[str, str], list[VectorFile]]]:
    groups: dict[tuple[str, str], list[VectorFile]] = {}
    for file in files:
        groups.setdefault((file.op, file.format), []).append(file)
    return groups.items()


def _violated(file: VectorFile, failure: Failure, policy: Policy) -> str | None:
    """The clause that requires another answer than the target's; None if there is none."""
    if failure.got is None:
        return None
    if file.op != "quantize" or file.format not in BLOCK_FORMATS:
        if failure.case.required:
            return failure.case.rule
        return _excluded(file, failure.case, failure.got)
    # The choice of the scale is free (MX §6.3); the elements under the target's own scale are not.
    if "nan_block" in failure.case.flags:
        return None
    if failure.got[0] == 0xFF:  # a NaN block without a reason
        return None if "zero_block" in failure.case.flags else "MX-6.3"
    got = np.array([failure.got], np.uint64)
    for choice in _FREE_IN_BLOCKS:
        codes = codes_under_scale(file, failure.case.inputs, failure.got[0], policy, choice)
        wanted = np.append(got[0, :1], codes.astype(np.uint64))[np.newaxis]
        if same_answers(file, wanted, got).all():
            return None
    return "MX-6.3"


def _excluded(file: VectorFile, case: Case, got: tuple[int, ...]) -> str | None:
    """The clause that rules an answer out where it leaves two others open."""
    match file.op, case.rule:
        case "encode", "MX-5.3.1-T3":  # both overflow methods of FP8
            legal = got in [case.output(column) for column in range(file.plain)]
        case "encode", "N25":  # the sign of a zero
            fmt = code_format(file)
            legal = got[0] < fmt.code_count and fmt.sign_and_magnitude(got[0])[1] == 0
        case "encode", "N15":  # -127/64 or -2
            legal = got[0] in (0x81, 0x80)
        case "decode", "N25":
            legal = got[0] & (LAYOUTS[file.float].sign_bit - 1) == 0
        case _:
            legal = True
    if legal:
        return None
    return case.rule if case.rule.startswith("MX-") else SECTIONS[file.format]


#: Choices about elements that the standard leaves open, tried in turn.
_FREE_IN_BLOCKS: tuple[dict[str, str], ...] = (
    {},
    {"int8_range": "full"},
    {"zero_sign": "dropped"},
    {"underflow_sign": "dropped"},
    {"zero_sign": "dropped", "underflow_sign": "dropped"},
)


def _is_legal(policy: str) -> bool:
    """Whether no choice of a policy contradicts the standard."""
    chosen = Policy.parse(policy).choices().items()
    return all(_standing(*choice) is not Standing.CONTRADICTS for choice in chosen)


def _standing(name: str, value: str) -> Standing:
    return next(m.standing for m in Policy.members(name) if m.value == value)
