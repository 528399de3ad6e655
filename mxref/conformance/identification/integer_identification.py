"""Identify the choices that a target makes in integer operations, by few questions."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mxref.conformance.identification.vector_check import (
    TimedTarget,
    VectorCheck,
    ask_vectors,
    compared,
    contradiction,
    files_of,
    vectors_asked,
    vectors_json,
)
from mxref.operands.word_rows import padded, stripped
from mxref.operations.call_operation import CallOperation
from mxref.operations.registry import CALL_OPERATIONS
from mxref.targets.calls import without_cases
from mxref.targets.target import Target

__all__ = ["IntegerChoice", "IntegerFinding", "identify_integers", "integer_json", "integer_lines"]

#: The most questions, and those that tell two policies apart.
_PROBES, _EACH = 64, 6


@dataclass(frozen=True, slots=True)
class IntegerChoice:
    """A choice with the members that give the target's answers, and a question that shows it."""

    name: str
    values: tuple[str, ...]
    shown: str


@dataclass(frozen=True, slots=True)
class IntegerFinding:
    """The result for an operation and format.

    Args:
        op: the operation.
        format: the format.
        probes: how many questions were asked.
        policies: those that give all answers, the simplest first; empty if none does.
        nearest: the one that gives most.
        choices: the choices.
        vectors: the answers to the vectors, compared with the policy that the probes fit; None if
            they fit none.
    """

    op: str
    format: str
    probes: int
    policies: tuple[str, ...]
    nearest: str
    choices: tuple[IntegerChoice, ...]
    vectors: VectorCheck | None = None

    @property
    def contradicted(self) -> bool:
        """Whether answers to the vectors differ from those of the policy that the probes fit."""
        return self.vectors is not None and self.vectors.wrong > 0


def identify_integers(
    target: Target, ops: Collection[str] = CALL_OPERATIONS, formats: Collection[str] = ()
) -> tuple[IntegerFinding, ...]:
    """The choices of a target in every integer operation that it covers.

    Args:
        target: the implementation; an error that it raises counts as an answer.
        ops: the operations to ask about.
        formats: the formats to ask about; all if empty.
    """
    timed = TimedTarget(target)
    return tuple(
        _identified(timed, row, format)
        for op, row in CALL_OPERATIONS.items()
        if op in ops
        for format in row.formats
        if (not formats or format in formats) and row.choices(format)
        if target.covers(op, format, row.slot_of(format))
    )


def _identified(target: TimedTarget, row: CallOperation, format: str) -> IntegerFinding:
    probes, start = _questions(row, format), target.seconds
    asked = target.ask(without_cases(row.name, format, row.slot_of(format)), padded(probes))
    got = [None if i in asked.errors else stripped(w) for i, w in enumerate(asked.words)]
    answers = {policy: _answers(row, format, policy, probes) for policy in _policies(row, format)}
    misses = {p: sum(a != b for a, b in zip(own, got, strict=True)) for p, own in answers.items()}
    nearest = min(misses, key=lambda policy: (misses[policy], policy.count("=")))
    left = tuple(sorted((p for p in misses if not misses[p]), key=lambda p: p.count("=")))
    vectors = None
    if left:
        files = files_of(row.name, format, row.slot_of(format), left[0])
        answered = ask_vectors(target, files, len(probes), target.seconds - start)
        checks = {policy: compared(files, answered, policy) for policy in left}
        left = tuple(policy for policy, check in checks.items() if not check.wrong)
        nearest = next(iter(left or checks))
        vectors = checks[nearest]
    chosen = [row.parse(format, policy) for policy in left or (nearest,)]
    choices = []
    for name, members in row.choices(format).items():
        values = tuple(m for m in members if any(c.get(name, members[0]) == m for c in chosen))
        # A policy that gives no answer at all tells nothing.
        is_near = misses[nearest] < len(probes)
        shown = _shown(row, format, name, nearest, probes, got) if is_near else ""
        choices.append(IntegerChoice(name, values, shown))
    return IntegerFinding(row.name, format, len(probes), left, nearest, tuple(choices), vectors)


def _policies(row: CallOperation, format: str) -> Iterator[str]:
    """Every policy."""
    known = row.choices(format)
    for members in itertools.product(*known.values()):
        policy = row.spell(format, dict(zip(known, members, strict=True)))
        try:
            row.parse(format, policy)
        except ValueError:
            continue
        yield policy


def _questions(row: CallOperation, format: str) -> list[tuple[int, ...]]:
    """Some cases that tell the first policy from each neighbour, and others evenly."""
    every = [case.inputs for case in row.designed(format)]
    first = row.first_policy(format)
    own = _answers(row, format, first, every)
    found: dict[tuple[int, ...], None] = {}
    for policy in row.neighbours(format, first):
        other = _answers(row, format, policy, every)
        some = [w for w, a, b in zip(every, own, other, strict=True) if a != b]
        found |= dict.fromkeys(some[:: max(1, len(some) // _EACH)][:_EACH])
    rest = [words for words in every if words not in found]
    found |= dict.fromkeys(rest[:: max(1, len(rest) * 2 // _PROBES)])
    return list(found)[:_PROBES]


def _answers(
    row: CallOperation, format: str, policy: str, probes: Sequence[tuple[int, ...]]
) -> list[tuple[int, ...] | None]:
    found: list[tuple[int, ...] | None] = []
    for words in probes:
        try:
            found.append(row.answer(format, words, policy))
        except ValueError:
            found.append(None)
    return found


def _shown(
    row: CallOperation,
    format: str,
    name: str,
    nearest: str,
    probes: Sequence[tuple[int, ...]],
    got: Sequence[tuple[int, ...] | None],
) -> str:
    """The shortest question whose answer most other members of a choice do not give."""
    own = row.parse(format, nearest)
    others = [
        _answers(row, format, policy, probes)
        for policy in row.neighbours(format, nearest)
        if row.parse(format, policy).get(name) != own.get(name)
    ]
    counts = [sum(other[i] != got[i] for other in others) for i in range(len(probes))]
    best = max(range(len(probes)), key=lambda i: (counts[i], -len(probes[i])), default=None)
    if best is None or not counts[best]:
        return ""
    answer = got[best]
    mine = [other[best] for other in others if other[best] != answer]
    if answer is not None and mine[0] is not None:
        pairs = enumerate(zip(answer, mine[0], strict=True))
        index = next(i for i, (a, b) in pairs if a != b)
    else:  # one of them is an error
        index = row.refused_at(format, probes[best])
    digits = without_cases(row.name, format, row.slot_of(format)).out_digits
    came = "an error" if answer is None else f"{answer[index]:0{digits}x}"
    return f"{row.probe_shown(format, probes[best], index)} -> {came}"


def integer_lines(found: IntegerFinding) -> tuple[str, list[tuple[str, str, str]], list[str]]:
    """A title, rows of choice, value and deciding question, and further sentences."""
    title = f"{found.op} {found.format}: {found.probes} probes"
    rows = [(one.name, " or ".join(one.values), one.shown) for one in found.choices if one.shown]
    hidden = [f"{one.name}={'|'.join(one.values)}" for one in found.choices if len(one.values) > 1]
    rest = [f"unobservable: {one}" for one in hidden]
    if found.vectors is None:
        near = f"nearest: {found.nearest}" if rows else "no choice is seen in an answer"
        return title, rows, [*rest, f"equals no policy; {near}"]
    if not found.policies:
        fits = contradiction(found.probes, found.nearest, found.vectors)
        first = [f"vectors: {text}" for text in found.vectors.first]
        return title, rows, [*rest, *first, f"equals no policy: {fits}"]
    on = f"{found.probes} probes{vectors_asked([found.vectors])}"
    return title, rows, [*rest, f"equals on {on}: {found.policies[0]}"]


def integer_json(found: Sequence[IntegerFinding]) -> list[dict[str, Any]]:
    """The results as plain data, for `--json`."""
    return [
        {
            "op": one.op,
            "format": one.format,
            "float": CALL_OPERATIONS[one.op].slot,
            "consistent": bool(one.policies),
            "policy": one.policies[0] if one.policies else None,
            "nearest": one.nearest,
            "policies": len(one.policies),
            "choices": {c.name: {"values": list(c.values), "shown": c.shown} for c in one.choices},
            "vectors": vectors_json(one.vectors),
            "probes": one.probes,
        }
        for one in found
    ]
