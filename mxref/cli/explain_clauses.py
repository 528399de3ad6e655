"""``mxref explain`` with a clause: its paragraph of SPEC_NOTES, and who makes which choice."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterator

from mxref.cli.explain_members import print_member, print_part
from mxref.cli.folding import table_lines
from mxref.cli.screen import print_heading, print_text
from mxref.cli.spec_notes import Clause, clause_of_member, clauses, sections

#: Width of the text in columns.
_WIDTH = 100


def explain_clause(options: argparse.Namespace) -> bool:
    """Explain a clause; False if there is none of that name."""
    from mxref.profiles.choosing import OWN_STAGE, who_does

    clause = clauses().get(options.name)
    if clause is None:
        return _explain_section(options.name)
    print_heading(f"clause {clause.name}: {clause.about}")
    print("in SPEC_NOTES.md")
    print_text("", *_lines(clause.text))
    of_clause = [member for member, name in clause_of_member().items() if name == clause.name]
    for choice in dict.fromkeys(choice for choice, _ in of_clause):
        print_heading(f"\nchoice {choice}")
        for name, member in of_clause:
            if name == choice:
                print_member(choice, member)
        print_part("by stages", ", ".join(who_does(choice)[OWN_STAGE]))
    return True


def _explain_section(name: str) -> bool:
    """Explain a section of MX v1.0, by what SPEC_NOTES says of it."""
    from mxref.cases.words import RULES

    number, _, table = name.removeprefix("MX-").partition("-T")
    naming = sections().get(number, ())
    if not name.startswith("MX-") or not (name in RULES or (naming and not table)):
        return False
    about = f": {RULES[name]}" if name in RULES else ""
    print_heading(f"clause {name}{about}")
    print(f"in OCP MX v1.0, {number}{f', Table {table}' if table else ''}")
    if table:
        naming = tuple(c.name for c in clauses().values() if f"MX Table {table}" in c.text)
    print("SPEC_NOTES.md speaks of it in the clauses:")
    for clause in map(clauses().__getitem__, naming):
        print_heading(f"\n{clause.name}: {clause.about}")
        print_text(*_lines(_text_of_the_standard(clause)))
    return True


def _text_of_the_standard(clause: Clause) -> str:
    """What a clause says that the text says."""
    return re.split(r"^- (?!\*\*Text)", clause.text, maxsplit=1, flags=re.MULTILINE)[0].strip()


def _lines(markdown: str) -> Iterator[str]:
    """Markdown as lines of plain text: paragraphs, bullets and tables."""
    for block in re.split(r"\n\n+|\n(?=- )", _plain(markdown)):
        rows = block.splitlines()
        if rows[0].startswith("| "):
            cells = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]
            head, _, *body = cells
            for lines in table_lines([head, *body], _WIDTH):
                yield from lines
        else:
            indent = "  " * rows[0].startswith("- ")
            yield from textwrap.wrap(" ".join(block.split()), _WIDTH, subsequent_indent=indent)


def _plain(markdown: str) -> str:
    """Markdown without its marks of code and emphasis, and what stdout cannot encode as `?`."""
    text = re.sub(r"\*\*([^*\n]+)\*\*|`([^`\n]+)`", lambda m: m[1] or m[2], markdown)
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)
