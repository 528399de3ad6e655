"""The verdict on rows: what the standard and the museum of known bugs say of all their answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mxref.cases.answers import choices_read
from mxref.conformance.compare.clauses import (
    CONTRADICTED,
    contradicting,
    lacking,
)
from mxref.conformance.verdict.findings import Finding, findings
from mxref.conformance.verdict.integer_verdict import integer_verdict
from mxref.conformance.verdict.row import VerifyRow
from mxref.conformance.verdict.unknown_verdict import nearest, unknown_verdict, violations
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.policy.policy import Policy

__all__ = ["causes_of", "judge_rows"]

#: Choices of layouts of bytes.
_LAYOUTS = ("fp4_packing", "fp6_packing", "scale_place", "scale_byte", "scale_layout")


def judge_rows(rows: Sequence[VerifyRow], policy: Policy, equals: str | None = None) -> str:
    """The verdict on some rows compared with a policy.

    Args:
        rows: the rows, with causes.
        policy: what they were compared with.
        equals: the one policy that gives the answers of all rows, if it is another.
    """
    failing = [row for row in rows if row.failures]
    if not failing:
        others = [row for row in rows if not row.operation.own_choices]
        if {row.policy for row in others} <= {"ocp"}:
            return "conforms" + integer_verdict(rows)
        against = contradicting(str(policy), [(row.op, row.format) for row in others])
        text = f"gives {policy}, of which {_against(against)}"
        return (text if against else f"conforms under {policy}") + integer_verdict(rows)
    claiming = [row for row in failing if not row.bug and _claimed(row, policy)]
    if claiming:
        rest = [row for row in rows if row not in claiming]
        parts = ["; ".join(_beside_claims(claiming, policy))]
        if any(row.failures for row in rest):
            parts.append(judge_rows(rest, policy, equals))
        return "; elsewhere ".join(parts)
    if equals is not None:
        return _under(equals, [(row.op, row.format) for row in rows], policy)
    buggy = [row for row in failing if row.bug]
    others = [row for row in failing if not row.bug]
    unknown = [row for row in others if not _given(row)]
    parts = []
    if buggy:
        parts.append("; ".join([*_bugs_of(buggy), *violations(buggy, policy)]))
    if unknown:
        parts.append(unknown_verdict(unknown, policy))
    if len(unknown) < len(others):
        parts.append("; ".join(_by_cause(others, policy)))
    return "; elsewhere ".join(parts)


def _bugs_of(rows: Iterable[VerifyRow]) -> list[str]:
    """The known bugs that give all answers of rows, each with its sentence."""
    some = [row for row in rows if row.bug]
    found = findings(some)
    guesses = [all(row.is_guess for row in some if one.is_of(row)) for one in found]
    pairs = zip(found, guesses, strict=True)
    return list(dict.fromkeys(_bug(finding, guess=guess) for finding, guess in pairs))


def _claimed(row: VerifyRow, policy: Policy) -> dict[str, str]:
    """The layouts that a target claims and that a row is wrong in: choices that `ocp` has not.

    A layout is open in the standard; one that is claimed is not.
    """
    if row.op not in LAYOUT_OPERATIONS or any(f.got is None for _, f in row.failures):
        return {}
    changed = choices_read(row.op, policy, row.format)
    return {name: changed[name] for name in _LAYOUTS if name in changed}


def _beside_claims(rows: Iterable[VerifyRow], policy: Policy) -> Iterator[str]:
    """What rows give in place of the layouts that they claim."""
    where: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        claimed = _claimed(row, policy)
        text = f"does not give {', '.join(claimed.values())}, which it claims,"
        if row.causes and row.causes[0].complete and row.causes[0].kind == "policy":
            given, meant = Policy.parse(row.causes[0].policy).choices(), policy.choices()
            other = [name for name in _LAYOUTS if given[name] != meant[name]]
            gives, claims = (", ".join(some[name] for name in other) for some in (given, meant))
            text = f"gives {gives}, claims {claims}"
        where.setdefault(text, []).append((row.op, row.format))
    yield from (f"has bug: {text} {_in(some)}" for text, some in where.items())


def _bug(finding: Finding, *, guess: bool) -> str:
    """A known bug, by the names under which the museum has it."""
    has = "may have" if guess else "has"
    cause = finding.cause
    over = "" if cause.policy == "ocp" else f" over {cause.policy}"
    if cause.floats:
        over += f" in {', '.join(finding.formats)} with {' and '.join(cause.floats)} only"
    if cause.kind == "stages":
        return f"has bug{'s' * ('; and ' in cause.text)}{over}: {cause.text}"
    besides = "" if cause.complete else " (and some answers are wrong otherwise)"
    return f"{has} bug {' or '.join((cause.name, *finding.also))}{over}: {cause.text}{besides}"


def causes_of(rows: Sequence[VerifyRow]) -> Iterator[str]:
    """What gives the answers of rows: known bugs, then policies and profiles; last what is near."""
    yield from _bugs_of(rows)
    where: dict[str, list[tuple[str, str]]] = {}
    for row in (row for row in rows if not row.bug and _given(row)):
        where.setdefault(_given(row), []).append((row.op, row.format))
    yield from (f"gives {name} {_in(some)}" for name, some in where.items())
    if unknown := [row for row in rows if not row.bug and not _given(row)]:
        yield nearest(unknown)


def _given(row: VerifyRow) -> str:
    """The policy or the profile that gives all answers of a row; empty if there is none."""
    cause = row.causes[0] if row.causes and row.causes[0].complete else None
    if cause is None:
        return ""
    return f"profile {cause.name}" if cause.kind == "profile" else cause.policy


def _by_cause(rows: Iterable[VerifyRow], policy: Policy) -> Iterator[str]:
    """The verdict on each policy and profile that gives all answers of some rows.

    What a choice of a policy contradicts is said by its name; a profile does more than its policy,
    so that the clauses are those that its answers violate.
    """
    given: dict[str, list[VerifyRow]] = {}
    for row in rows:
        given.setdefault(_given(row), []).append(row)
    for name, some in given.items():
        if name:
            asked = [(row.op, row.format) for row in some]
            clauses = "".join(violations(some, policy)) if name.startswith("profile ") else ""
            yield _under(name, asked, policy, _in(asked), clauses)


def _in(asked: Iterable[tuple[str, str]]) -> str:
    """Operations and formats in words.

    >>> _in([("encode", "e2m1"), ("quantize", "mxint8"), ("encode", "e4m3")])
    'in encode e2m1, e4m3 and quantize mxint8'
    """
    formats: dict[str, list[str]] = {}
    for op, format in asked:
        formats.setdefault(op, []).append(format)
    return "in " + " and ".join(f"{op} {', '.join(some)}" for op, some in formats.items())


def _under(
    name: str,
    asked: Sequence[tuple[str, str]],
    meant: Policy,
    where: str = "",
    violates: str = "",
) -> str:
    """The verdict on answers that a policy or a profile gives.

    Args:
        name: the policy, or the profile.
        asked: operations and formats.
        meant: the policy that they were compared with. What is required and it has not itself was
            not asked for.
        where: these in words, if they are not all that were asked.
        violates: what a profile violates beside the choices of its policy, if it does.
    """
    if name.startswith("profile "):
        from mxref.profiles import PROFILES

        against = contradicting(str(PROFILES[name.removeprefix("profile ")].policy), asked)
        does = "gives" if against or violates else "conforms under"
        of_these = f", of which {_against(against)}" if against else ""
        besides = f", {'and' if against else 'which'} {violates}" if violates else ""
        return f"{does} {name}{of_these} {where}".rstrip() + besides
    lacks, against = lacking(name, asked), contradicting(name, asked)
    if not lacks and not against:
        return f"conforms under {name} {where}".rstrip()
    parts, chosen, default = [], Policy.parse(name), Policy().choices()
    changed = [*lacks, *against]
    wanted = {
        choice: own for choice in lacks if (own := meant.choices()[choice]) != default[choice]
    }
    if wanted:
        given = ", ".join(f"{choice}={lacks.pop(choice)[1]}" for choice in wanted)
        not_given = ", ".join(wanted.values())
        parts.append(f"gives {given} {where or 'everywhere'}, not {not_given}, which was asked for")
    if lacks:
        required = ", ".join(f"{choice}={wanted}" for choice, (wanted, _) in lacks.items())
        own = ", ".join(value for _, value in lacks.values())
        parts.append(f"lacks {required} (required); gives {own} {where or 'everywhere'}")
    if against:
        given = ", ".join(f"{choice}={value}" for choice, value in against.items())
        clauses = ", ".join(dict.fromkeys(CONTRADICTED[choice] for choice in against))
        parts.append(f"gives {given} {where or 'everywhere'}, which contradicts {clauses}")
    rest = chosen.replace(**{choice: default[choice] for choice in changed})
    text = "; ".join(parts)
    return text if rest == Policy() else f"{text}; else conforms under {rest}"


def _against(choices: Mapping[str, str]) -> str:
    """Choices that contradict the standard, each with its clause."""
    return ", ".join(
        f"{name}={value} contradicts {CONTRADICTED[name]}" for name, value in choices.items()
    )
