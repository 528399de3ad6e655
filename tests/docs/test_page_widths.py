"""Pages and modules can be read: short lines, paragraphs and files, and no more long sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "vectors" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
#: Characters of a line, lines of a paragraph, words of a sentence that is long.
LINE, PARAGRAPH, WORDS = 120, 5, 35
#: Sentences of more words: the number may fall, and this line with it, but not rise.
LONG_SENTENCES = 63
#: Words that no sentence of a clause has, which names everybody who does one thing.
CLAUSE_WORDS = 60
#: Lines of a module, and those of the page that says what is where.
MODULE, ARCHITECTURE = 350, 180
#: A line that has no place to break, such as a heading or a link with a long address.
_UNBROKEN = re.compile(r"\s*(?:#|\||>|<|!?\[)|\S+$")


def parts(path: Path) -> Iterator[list[str]]:
    """The paragraphs and items of lists of a page, without tables, headings and code."""
    some: list[str] = []
    fence = False
    for line in [*path.read_text("utf-8").splitlines(), ""]:
        if re.match(r"\s*(```|~~~)", line):
            fence = not fence
        apart = fence or not line.strip() or re.match(r"\s*(?:```|~~~|#+ |\||<)", line)
        if some and (apart or re.match(r"\s*(?:[-*+]|\d+\.) ", line)):
            yield some
            some = []
        if not apart:
            some.append(line)


def sentences(path: Path) -> Iterator[str]:
    for some in parts(path):
        text = re.sub(r"`[^`]*`", "code", " ".join(line.strip() for line in some))
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z\[*])", text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_and_paragraphs_are_short(path: Path) -> None:
    every = [*parts(path)]
    assert sum(map(len, every)) > 3 or path.name == "api.md"
    lines = [line for some in every for line in some if not _UNBROKEN.match(line)]
    assert [line for line in lines if len(line) > LINE] == []
    assert [some[0] for some in every if len(some) > PARAGRAPH] == []


def test_long_sentences_do_not_become_more() -> None:
    found = [one for path in PAGES for one in sentences(path) if len(one.split()) > WORDS]
    assert len(found) <= LONG_SENTENCES, "\n".join(found)


def test_no_sentence_of_a_clause_is_a_list() -> None:
    found = [one for one in sentences(ROOT / "SPEC_NOTES.md") if len(one.split()) > CLAUSE_WORDS]
    assert found == []


def test_modules_and_the_page_about_them_are_short() -> None:
    lines = {
        str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n")
        for path in ROOT.glob("mxref/**/*.py")
    }
    assert len(lines) > 600
    assert {path: n for path, n in lines.items() if n > MODULE} == {}
    assert (ROOT / "docs" / "architecture.md").read_text("utf-8").count("\n") <= ARCHITECTURE


def test_a_long_line_and_a_long_paragraph_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    long, words = "word " * 30, "w " * 40
    some = ["# A page", "", long, "", *["line"] * 6, "", "- item", f"- {words}end. A b."]
    page.write_text("\n".join([*some, ""]))
    with pytest.raises(AssertionError, match="word word"):
        test_lines_and_paragraphs_are_short(page)
    assert [len(some) for some in parts(page)] == [1, 6, 1, 1]
    assert [len(one.split()) > WORDS for one in sentences(page)][-2:] == [True, False]
