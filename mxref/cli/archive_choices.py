"""CHOICES.md of an archive of the vectors: what its operations and columns mean."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from mxref.cli.explain_choices import choice_about, integer_choices, integer_member, member_data
from mxref.cli.explain_operations import operation_data
from mxref.cli.spec_notes import clause_of_member, clauses
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy

__all__ = ["choices_page"]

_BEGIN = """\
# Operations, choices and clauses

A column `ocp+CHOICE=MEMBER`, or `CHOICE=MEMBER` of operations that no standard has, makes one
choice; all others are the default, which is the first of each list. `ocp` and `default` are all
defaults. Below them stand the clauses of SPEC_NOTES that the files name.
"""


def choices_page(files: Mapping[str, bytes]) -> str:
    """What the operations of some vectors are, their choices, and the clauses that they name.

    Args:
        files: files of the vectors by their names.
    """
    names = [name for name in files if name.endswith(".jsonl")]
    headers = [json.loads(files[name].partition(b"\n")[0]) for name in names]
    formats: dict[str, list[str]] = {}
    for header in headers:
        formats.setdefault(header["op"], []).append(header["format"])
    lines = [*_operations(formats), *_choices(formats)]
    named = {*re.findall(r"\b[NQ]\d+\b", json.dumps(headers) + "\n".join(lines))}
    some = [clause for name, clause in clauses().items() if name in named]
    texts = [f"## {one.name}: {one.about}\n\n{_without_links(one.text)}" for one in some]
    return "\n".join([_BEGIN, *lines, "", "\n\n".join(texts), ""])


def _operations(formats: Mapping[str, list[str]]) -> Iterator[str]:
    yield "## Operations\n"
    for op in formats:
        about = operation_data(op)["about"] if REGISTRY[op].own_choices else "see README.md"
        choices = ", ".join(_read(op, formats[op]))
        yield f"- `{op}`: {about} Choices: {choices or 'none'}."
    yield ""


def _read(op: str, formats: list[str]) -> list[str]:
    """The choices that an operation reads in these formats."""
    call = CALL_OPERATIONS.get(op)
    some = (call.kinds(one) if call else REGISTRY[op].reads(one) for one in formats)
    return [*dict.fromkeys(choice for one in some for choice in one)]


def _choices(formats: Mapping[str, list[str]]) -> Iterator[str]:
    yield "## Choices\n"
    read: dict[bool, set[str]] = {True: set(), False: set()}
    for op, some in formats.items():
        read[REGISTRY[op].own_choices].update(_read(op, some))
    for name in sorted(read[False]):
        members = Policy.members(name)
        default = Policy().choices()[name]
        yield f"- `{name}`: {choice_about(type(members[0]))}"
        for member in sorted(members, key=lambda one: one.value != default):
            about = member_data(name, member)["about"]
            clause = clause_of_member().get((name, member.value), "")
            yield f"  - `{member.value}`: {about} {clause}".rstrip()
    for name, kind in integer_choices().items():
        if name in read[True]:
            yield f"- `{name}`: {choice_about(kind)}"
            for one in kind:
                yield f"  - `{one.value}`: {integer_member(name, one)['about']}".rstrip(": ")


def _without_links(text: str) -> str:
    """Markdown without links to files that an archive does not have."""
    return re.sub(r"\[([^]]+)\]\((?!http)[^)]*\)", r"\1", text)
