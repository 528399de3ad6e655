"""SPEC_NOTES.md of a checkout or a wheel: its clauses, and the clause of each choice."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import mxref
from mxref.support.whole_file import read_file

__all__ = ["Clause", "clause_of_member", "clauses", "document", "sections", "source_of_member"]

#: The name of a document, or a section: `§5.3.1`, `§5.3.1 to §5.3.4`.
_NAMED = re.compile(
    r"\b(MX|OFP8|P3109|IEEE 754|TOSA|ONNX|PTX)\b|§(\d[\d.]*\d|\d)(?: to §([\d.]+\d))?"
)


class Clause(NamedTuple):
    """A clause of SPEC_NOTES: its name, what it is about, and its text in Markdown."""

    name: str
    about: str
    text: str


@functools.cache
def clauses() -> Mapping[str, Clause]:
    """Every clause by its name: N1 and so on for MX, Q1 and so on for integers.

    >>> clauses()["N14"].about
    'NaN to a format without NaN'

    Raises:
        ValueError: there is no SPEC_NOTES.md beside the package or in it.
    """
    parts = re.split(r"^### ([NQ]\d+) · (.*)$", _notes(), flags=re.MULTILINE)[1:]
    found = {}
    for name, about, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        body = re.split(r"^##", text, maxsplit=1, flags=re.MULTILINE)[0].strip()
        found[name] = Clause(name, about, body)
    return found


@functools.cache
def clause_of_member() -> Mapping[tuple[str, str], str]:
    """The clause of each member of each choice, by the choice's and the member's spelling.

    >>> clause_of_member()["scale_rule", "rceil"]
    'N1'
    """
    return {(choice, member): clause for choice, member, clause, _ in _choices_table()}


@functools.cache
def source_of_member() -> Mapping[tuple[str, str], str]:
    """The standards and the software that have each member of each choice, as text.

    >>> source_of_member()["scale_rule", "even"]
    'Quark, torchao EVEN'
    """
    return {(choice, member): source for choice, member, _, source in _choices_table()}


def _choices_table() -> list[tuple[str, str, str, str]]:
    """Choice, member, clause and source of each row of the table of choices."""
    table = _notes().partition("\n## Choices\n")[2].partition("\n## ")[0]
    row = r"^\| `(\w+)` \| `([\w-]+)` \| (N\d+) \| [^|]* \| ([^|]*) \|$"
    return [
        (choice, member, clause, source.replace("`", ""))
        for choice, member, clause, source in re.findall(row, table, re.MULTILINE)
    ]


@functools.cache
def sections() -> Mapping[str, tuple[str, ...]]:
    """The sections of MX v1.0 that clauses name, each with the clauses that name it.

    >>> sections()["6.1"]
    ('N26', 'N43')
    """
    found: dict[str, list[str]] = {}
    for clause in clauses().values():
        if clause.name[0] == "N":
            for section in named_sections(clause.text):
                found.setdefault(section, []).append(clause.name)
    return {section: tuple(found[section]) for section in sorted(found)}


def named_sections(text: str) -> list[str]:
    """The sections of MX v1.0 that a text names, each once.

    A section belongs to the document that was named last before it.

    >>> named_sections("MX §5.3.2 to §5.3.4, §6.3; OFP8 §5.2.1")
    ['5.3.2', '5.3.3', '5.3.4', '6.3']
    """
    document, found = "", dict[str, None]()
    for match in _NAMED.finditer(text):
        document = match[1] or document
        if match[2] and document == "MX":
            head, dot, last = match[2].rpartition(".")
            end = int((match[3] or match[2]).rpartition(".")[2])
            found.update(dict.fromkeys(f"{head}{dot}{n}" for n in range(int(last), end + 1)))
    return list(found)


def _notes() -> str:
    return document("SPEC_NOTES.md", "SPEC_NOTES.md")


def document(name: str, of_checkout: str) -> str:
    """The text of a document, which a wheel has under a name, and a checkout at a path.

    Raises:
        ValueError: it is at neither place.
    """
    package = Path(mxref.__file__).parent
    places = (package / "_notes" / name, package.parent / of_checkout)
    for path in places:
        if path.is_file():
            return read_file(path).decode("utf-8")
    wanted = " or ".join(map(str, places))
    raise ValueError(f"{name} must be at {wanted}, got neither: install mxref again")
