"""Every figure of README.md, docs/score.md and docs/performance.md is computed, or is dated.

What is neither is listed here, with what it is.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import figures
import pytest
import triton_counts
from helpers import ROOT
from ordinary import HEADER
from sass_counts import COUNTS
from sass_table import table

PAGES = ("README.md", "docs/score.md", "docs/performance.md")
#: A machine and a date: what stands beside them is measured.
MEASURED = re.compile(r"(?:EPYC|Xeon|H100)[^\n]*?\b20\d\d-\d\d-\d\d\b")
#: Words of a time or a speed.
TIME = re.compile(r"\b(?:ns|seconds|minutes?|hours?|MB|MiB|GB/s|times as (?:fast|long))\b")
#: Figures of pages that are neither, and what they are.
FIXED = json.loads((Path(__file__).parent / "data" / "fixed_figures.json").read_text("utf-8"))


def text_of(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


@pytest.mark.parametrize("page", dict.fromkeys(one.page for one in figures.SENTENCES))
def test_the_figures_are_those_of_today(page: str) -> None:
    text = text_of(page)
    assert figures.with_figures(page, text) == text, "python tools/figures.py writes them"


def test_a_wrong_figure_is_written_anew_and_a_sentence_that_is_gone_is_told() -> None:
    text = text_of("README.md")
    wrong = re.sub(r"\d+ public threads", "7 public\nthreads", text)
    assert wrong != text
    assert figures.with_figures("README.md", wrong) == text.replace(
        "public threads", "public\nthreads"
    )
    with pytest.raises(ValueError, match=r"^README.md must have once, and has 0 times: .*threads"):
        figures.with_figures("README.md", text.replace("public threads", "threads"))


def left(page: str) -> list[str]:
    """The figures of a page, with words beside them, that are neither computed nor dated."""
    text = text_of(page).replace(table(json.loads(COUNTS.read_text())), "")
    triton = triton_counts.table(json.loads(triton_counts.COUNTS.read_text()))
    text = text.replace(triton, "")
    before, header, after = text.partition(HEADER)
    text = before + after.partition("\n\n")[2] if header else text  # tools/ordinary.py writes it
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for sentence in figures.SENTENCES:
        if sentence.page == page:
            text = sentence.pattern.sub("", text)
    text = re.sub(r"`[^`]*`|\]\([^)]*\)|\b2\^-?\d+", "", text)
    found = []
    for part in re.split(r"\n(?=## |- )", text):
        if not MEASURED.search(part):
            part = " ".join(part.split())
            for fixed in FIXED[page]:
                part = part.replace(fixed, "")
            numbers = re.finditer(r".{,30}(?<![\w.-])\d[\w.,]*.{,20}", part)
            found += [one[0] for one in (*numbers, *TIME.finditer(part))]
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_other_figure_is_dated_or_is_listed(page: str) -> None:
    assert left(page) == []
    together = " ".join(text_of(page).split())
    assert [fixed for fixed in FIXED[page] if fixed not in together] == []
