"""Every page of docs/reports reproduces: its Python prints what the page says that came.

And other projects' own tests pass on mxref.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from peer_suites import run_suite, suites_of
from report_pages import PAGES, pages_of, reproduce


@pytest.mark.parametrize("page", pages_of("current"), ids=lambda page: page.stem)
def test_a_report_reproduces(page: Path, tmp_path: Path) -> None:
    reproduce(page, tmp_path)


@pytest.mark.parametrize("name", suites_of("current"))
def test_suite(name: str) -> None:
    run_suite(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_report_is_short_and_stands_alone(page: Path) -> None:
    text = page.read_text("utf-8")
    lines = text.splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) < 60
    assert "mxref" not in text  # whoever it is for needs nothing of ours
    headings = [line for line in lines if line.startswith("## ")]
    wanted = "Reproducer, Why it is a bug, Inputs affected, Suggested fix, Consequence"
    assert headings == [f"## {heading}" for heading in wanted.split(", ")]


def test_the_index_has_every_page_once() -> None:
    index = (PAGES[0].with_name("README.md")).read_text("utf-8")
    assert sorted(re.findall(r"^\| \[[^]]+\]\(([\w-]+\.md)\)", index, re.MULTILINE)) == [
        page.name for page in PAGES
    ]
