"""``mxref explain`` with a clause: its paragraph of SPEC_NOTES, its choices, and their profiles."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from mxref.cli.explain_choices import integer_choices, integer_member, member_data
from mxref.cli.explanation import LINES, WIDTH, Explanation, encodable, few, print_part, print_rows
from mxref.cli.screen import print_heading, print_text
from mxref.cli.spec_notes import Clause, clause_of_member, clauses, sections
from mxref.cli.text_tables import table_lines

#: Profiles shown beside a member; lines shown of a clause that a section names.
_FEW, _LEAST = 2, 1
#: If a clause has more members, or longer names, no profiles are shown beside them.
_MANY, _LONG = 14, 30
#: Strong words, code, and emphasis.
_MARKS = re.compile(r"\*\*([^*\n]+)\*\*|`([^`\n]+)`|(?<![\w*])\*(\w[^*\n]*)\*(?![\w*])")
#: Between two cells of a table, which may be empty.
_BAR = re.compile(r"(?<= )\|(?= )")


def explain_clause(options: argparse.Namespace) -> list[Explanation]:
    """A clause of SPEC_NOTES, or a section of MX v1.0."""
    clause = clauses().get(options.name)
    if clause is None:
        return _explain_section(options.name)
    data = {
        "kind": "clause",
        "name": clause.name,
        "about": clause.about,
        "in": "SPEC_NOTES.md",
        "text": "\n".join(_lines(clause.text)),
        "members": _members(clause),
    }
    return [Explanation(data, _show_clause)]


def _members(clause: Clause) -> list[dict[str, Any]]:
    """The members of all choices of a clause."""
    from mxref.policy.policy import Policy

    found = []
    for (choice, value), name in clause_of_member().items():
        if name == clause.name:
            (member,) = (one for one in Policy.members(choice) if one.value == value)
            found.append(member_data(choice, member))
    for choice, kind in integer_choices().items():
        if f"SPEC_NOTES {clause.name}." in (kind.__doc__ or ""):
            found += [integer_member(choice, one) for one in kind]
    return found


def _show_clause(data: dict[str, Any]) -> None:
    from mxref.profiles.choosing import OWN_STAGE, who_does

    print_heading(f"clause {data['name']}: {data['about']}")
    print(f"in {data['in']}")
    members = data["members"]
    choices = dict.fromkeys(one["choice"] for one in members if "standing" in one)
    alone = len({one["choice"] for one in members}) == 1
    first = members[0]["choice"] if alone else "member"
    names = [one["name"].removeprefix(f"{first}=") for one in members]
    header: tuple[str, ...] = (first, "what it does, and who")
    rows: list[tuple[str, ...]] = [
        (name, one["about"]) for name, one in zip(names, members, strict=True)
    ]
    if choices:
        header = (first, "standing", "what it does", "profiles")
        rows = [
            (name, one["standing"], one["about"], few(one["profiles"], _FEW) or "-")
            for name, one in zip(names, members, strict=True)
        ]
    if len(rows) > _MANY or any(len(row[0]) > _LONG for row in rows):  # then each has a line
        header, rows = header[:3], [row[:3] for row in rows]
    used = sum(map(len, table_lines((header, *rows), WIDTH))) if rows else 0
    stages = {choice: who_does(choice)[OWN_STAGE] for choice in choices}
    some = {choice: few(names, 3) for choice, names in stages.items() if names}
    some = some if len(some) <= 2 else {}
    text = data["text"].splitlines()
    room = max(LINES - used - 2 * len(some) - 6, 6)
    print_text("", *map(encodable, text[:room]))
    if len(text) > room:
        print(f"... {len(text) - room} lines more in SPEC_NOTES.md and in --json")
    if rows:
        print()
        print_rows(header, rows)
    for choice, shown in some.items():
        print_part("by stages", f"{choice}: {shown}")
    if rows:
        print(f"more of one: mxref explain {members[-1]['name']}")


def _explain_section(name: str) -> list[Explanation]:
    """A section of MX v1.0, in the words of the clauses of SPEC_NOTES that name it."""
    from mxref.cases.words import rules

    if not name.startswith("MX-"):
        return []
    number, _, table = name.removeprefix("MX-").partition("-T")
    naming = sections().get(number, ())
    if not (name in rules() or (naming and not table)):
        return []
    if table:
        naming = tuple(c.name for c in clauses().values() if f"MX Table {table}" in c.text)
    found = [clauses()[one] for one in naming]
    data = {
        "kind": "clause",
        "name": name,
        "about": rules().get(name, ""),
        "in": f"OCP MX v1.0, {number}{f', Table {table}' if table else ''}",
        "clauses": [
            {
                "name": one.name,
                "about": one.about,
                "text": "\n".join(_lines(_text_of_the_standard(one))),
                "members": _members(one),
            }
            for one in found
        ],
    }
    return [Explanation(data, _show_section)]


def _show_section(data: dict[str, Any]) -> None:
    about = f": {data['about']}" if data["about"] else ""
    print_heading(f"clause {data['name']}{about}")
    print(f"in {data['in']}")
    print("SPEC_NOTES.md speaks of it in the clauses (each in full: `mxref explain N1`):")
    each = (LINES - 4) // max(len(data["clauses"]), 1)
    for clause in data["clauses"]:
        print_heading(f"{clause['name']}: {clause['about']}")
        members = list(_by_standing(clause["members"]))
        text = [f"  {line}" for line in clause["text"].splitlines()]
        room = max(each - 1 - len(members), _LEAST)
        if len(text) > room:
            text = [*text[: room - 1], f"{text[room - 1][: WIDTH - 4]} ..."]
        print_text(*map(encodable, text), *members)


def _by_standing(members: list[dict[str, Any]]) -> Iterator[str]:
    """A line for the members of each choice, by their standing."""
    found: dict[str, dict[str, list[str]]] = {}
    for one in members:
        of_choice = found.setdefault(one["choice"], {})
        of_choice.setdefault(one.get("standing", "has"), []).append(one["name"].partition("=")[2])
    for choice, standings in found.items():
        texts = [f"{standing} {', '.join(names)}" for standing, names in standings.items()]
        line = f"  {choice}: {'; '.join(texts)}"
        yield line if len(line) <= WIDTH else f"{line[: WIDTH - 4]} ..."


def _text_of_the_standard(clause: Clause) -> str:
    """The part of a clause that says what the standard's text says."""
    return re.split(r"^- (?!\*\*Text)", clause.text, maxsplit=1, flags=re.MULTILINE)[0].strip()


def _lines(markdown: str) -> Iterator[str]:
    """Markdown as lines of plain text: paragraphs, bullets, those below them, and tables."""
    for block in re.split(r"\n\n+|\n(?= *- )", _plain(markdown)):
        margin = " " * (len(block) - len(block.lstrip(" ")))
        rows = [row.strip() for row in block.splitlines()]
        if rows[0].startswith("| "):
            cells = [[cell.strip() for cell in _BAR.split(row[1:-1])] for row in rows]
            head, _, *body = cells
            for lines in table_lines([head, *body], WIDTH - len(margin)):
                yield from (margin + line for line in lines)
        else:
            indent = margin + "  " * rows[0].startswith("- ")
            text = margin + " ".join(" ".join(rows).split())
            yield from textwrap.wrap(text, WIDTH - 2, subsequent_indent=indent)


def _plain(markdown: str) -> str:
    """Markdown without its marks of code and emphasis."""
    return _MARKS.sub(lambda m: m[1] or m[2] or m[3], markdown)
