"""The results of `identify` as text and as plain data."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mxref.bits.floats import LAYOUTS
from mxref.conformance.identification.accumulation_rows import unnamed_text
from mxref.conformance.identification.identify import ChoiceFinding, Clash, Identified
from mxref.conformance.identification.vector_check import (
    contradiction,
    vectors_asked,
    vectors_json,
)
from mxref.policy.policy import Policy

__all__ = ["common_policy", "disagreements", "identified_json", "lines", "merged", "show_probe"]

#: Combinations of members tried to find a policy that several results share.
_TRIED = 4096
#: Contradicting probes that are shown, and explanations of each.
_CLASHES = 4


def show_probe(found: Identified, number: int, word: int, answer: Sequence[int] | None) -> str:
    """A question and one word of an answer to it.

    Args:
        found: the result with the probe.
        number: the probe's number.
        word: the word's number.
        answer: the answer; None for an error.
    """
    setting, probe, given = found.setting, found.probes[number], answer or ()
    shown = setting.format, setting.float, probe.words, given, word
    if answer is None:
        error = probe.error if probe.answer is None else ""
        came = f"an error ({error})" if error else "an error"
    elif word >= len(answer):
        came = f"{len(answer)} words"
    else:
        came = setting.row.answered(*shown)
    return f"{setting.row.asked(*shown)} -> {came}"


def common_policy(found: Sequence[Identified]) -> Policy | None:
    """The simplest policy that gives all answers of several results, or None."""
    choices = _common(found)
    default = Policy().choices()
    options = [
        sorted(values, key=lambda member: member != default[name])
        for name, values in choices.items()
    ]
    for some in itertools.islice(itertools.product(*options), _TRIED):
        policy = Policy().replace(**dict(zip(choices, some, strict=True)))
        if all(one.contains(policy) for one in found):
            return policy
    return None


def _common(found: Sequence[Identified]) -> dict[str, list[str]]:
    """For every choice the members that remain in all results."""
    choices: dict[str, list[str]] = {}
    for one in found:
        for finding in one.findings:
            before = choices.get(finding.choice, finding.values)
            choices[finding.choice] = [member for member in before if member in finding.values]
    return choices


def disagreements(found: Sequence[Identified]) -> Iterator[str]:
    """Sentences on the choices that differ between results."""
    for name, left in _common(found).items():
        if left:
            continue
        where: dict[str, list[str]] = {}
        for one in found:
            for finding in one.findings:
                if finding.choice == name:
                    where.setdefault(" or ".join(finding.values), []).append(str(one.setting))
        yield f"{name} differs: " + "; ".join(
            f"{values} in {_listed(places)}" for values, places in where.items()
        )


def _listed(places: Sequence[str], most: int = 4) -> str:
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return ", ".join(places[:most]) + more


def merged(found: Iterable[Identified]) -> Iterator[tuple[Identified, ...]]:
    """Results of one operation and format, grouped by float types that share a policy."""
    for _, some in itertools.groupby(found, lambda one: (one.setting.op, one.setting.format)):
        groups: list[list[Identified]] = []
        for one in some:
            for group in groups:
                if one.consistent and common_policy([*group, one]) is not None:
                    group.append(one)
                    break
            else:
                groups.append([one])
        yield from map(tuple, groups)


def lines(group: Sequence[Identified]) -> tuple[str, list[tuple[str, str, str]], list[str]]:
    """A title, rows of choice, value and deciding probe, and further sentences."""
    first = group[0].setting
    floats = ", ".join(one.setting.float for one in group if one.setting.float in LAYOUTS)
    probes = max(len(one.probes) for one in group)
    title = f"{first.op} {first.format}{f' ({floats})' if floats else ''}: {probes} probes"
    common, rows, rest = _common(group), [], []
    for name in first.choices if group[0].answered else ():
        findings = [(one, f) for one in group for f in one.findings if f.choice == name]
        if len(findings[0][1].values) < len(Policy.members(name)) and any(
            finding.shown for _, finding in findings
        ):
            texts = list(dict.fromkeys(_probes_of(findings)))
            for i, text in enumerate(texts[:2]):
                value = " or ".join(common[name]) if i == 0 else ""
                rows.append((name if i == 0 else "", value, text))
        if len(common[name]) > 1:
            why = next(finding.because for _, finding in findings if finding.because)
            word = "unobservable" if group[0].consistent else "not told"
            rest.append(f"{word}: {name}={'|'.join(common[name])}, because {why}")
    for one in group:
        for factor in one.space.factors if one.consistent else ():
            if len(factor.names) > 1 and all(len(common[name]) > 1 for name in factor.names):
                together = (
                    " ".join(f"{n}={m}" for n, m in zip(factor.names, row, strict=True))
                    for row in factor.rows
                )
                rest.append(f"only together: {'; '.join(together)}")
        rest += [f"inconsistent: {show_clash(one, clash)}" for clash in one.clashes[:_CLASHES]]
        if one.clashes and "accumulation" in first.choices:
            answered = [(probe.words, probe.answer[0]) for probe in one.probes if probe.answer]
            rest.append(unnamed_text(first.format, first.float, answered))
        if len(one.clashes) > _CLASHES:
            rest.append(f"inconsistent: {len(one.clashes)} of {len(one.probes)} probes in all")
    checks = [one.vectors for one in group if one.vectors is not None]
    for check in checks if group[0].contradicted else ():
        rest += [f"vectors: {text}" for text in check.first]
    policy = common_policy(group) if group[0].consistent else None
    every = [one.profiles for one in group]
    listed = ", ".join(name for name in every[0] if all(name in names for names in every))
    if policy is not None:
        count = sum(len(one.probes) for one in group)
        on = f"{count} probes{vectors_asked(checks)}"
        rest.append(f"equals on {on}: {policy}; profiles: {listed or 'none'}")
    elif listed:
        rest.append(f"equals no policy; profiles: {listed}; nearest policy: {group[0].policy}")
    elif group[0].contradicted:
        fits = contradiction(len(group[0].probes), group[0].policy, checks[0])
        rest.append(f"equals no policy: {fits}")
    elif not group[0].answered:
        rest.append("equals no policy: nothing was answered")
    else:
        rest.append(f"equals no policy; nearest: {group[0].policy}")
    return title, rows, list(dict.fromkeys(rest))


def _probes_of(findings: Sequence[tuple[Identified, ChoiceFinding]]) -> Iterator[str]:
    """Probes that together rule out all excluded members, as text."""
    out: set[str] = set()
    for one, finding in findings:
        for probe, word in dict.fromkeys(finding.shown.values()):
            ruled = {member for member, by in finding.shown.items() if by == (probe, word)}
            if not ruled <= out:
                out |= ruled
                yield show_probe(one, probe, word, one.probes[probe].answer)


def show_clash(found: Identified, clash: Clash) -> str:
    """A contradicting probe as text."""
    got = found.probes[clash.probe].answer
    more = " or others" if len(clash.otherwise) > _CLASHES else ""
    listed = " or ".join(clash.otherwise[:_CLASHES]) + more
    would = f", as under {listed}" if listed else ""
    want = show_probe(found, clash.probe, clash.word, clash.want).rpartition(" -> ")[2]
    shown = show_probe(found, clash.probe, clash.word, got)
    if not found.answered:
        return shown
    others = len(found.clashes) < len(found.probes)
    by = "the other answers want" if others else "the nearest policy wants"
    return f"{shown}{would}; {by} {want}"


def identified_json(found: Sequence[Identified]) -> list[dict[str, Any]]:
    """The results as plain data, for `--json`."""
    return [_one_json(one) for one in found]


def _one_json(one: Identified) -> dict[str, Any]:
    def shown(finding: ChoiceFinding) -> Mapping[str, str]:
        return {
            member: show_probe(one, probe, word, one.probes[probe].answer)
            for member, (probe, word) in finding.shown.items()
        }

    return {
        "op": one.setting.op,
        "format": one.setting.format,
        "float": one.setting.float,
        "consistent": one.consistent,
        "policy": str(one.policy) if one.consistent else None,
        "nearest": str(one.policy),
        "policies": one.count,
        "profiles": list(one.profiles),
        "choices": {
            finding.choice: {
                "values": list(finding.values),
                "because": finding.because,
                "ruled_out": shown(finding),
            }
            for finding in one.findings
        },
        "inconsistent": [show_clash(one, clash) for clash in one.clashes],
        "vectors": vectors_json(one.vectors),
        "probes": len(one.probes),
    }
