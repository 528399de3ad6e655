"""The ledger and its bug reports as HTML pages that need nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mxref.reports.drawing import inline
from mxref.reports.extra import extra
from mxref.reports.page import write_page

__all__ = ["write_html"]

#: The folders of docs/ that become pages; links to other files are left out.
_FOLDERS = ("ledger", "reports")


def write_html(docs: Path, folder: Path, pictures: Mapping[str, str]) -> int:
    """Write every page of docs/ledger and docs/reports as HTML; the number of pages.

    Args:
        docs: the folder docs/.
        folder: where to; it gets a folder for each of the two.
        pictures: SVG files by the name of the page that begins with one.
    """
    count = 0
    for name in _FOLDERS:
        for path in sorted((docs / name).glob("*.md")):
            text = path.read_text("utf-8")
            title = text.partition("\n")[0].lstrip("# ")
            key = f"{name}/{path.name}"
            write_page(
                folder / name / _html(path.name),
                "text",
                title=title,
                body=_body(text, name),
                picture=inline(pictures[key], title) if key in pictures else None,
                index=None if path.name == "README.md" else "index.html",
            )
            count += 1
    return count


def _html(name: str) -> str:
    return "index.html" if name == "README.md" else f"{name.removesuffix('.md')}.html"


def _body(text: str, folder: str) -> str:
    """Markdown as HTML: cells know their column, and links lead to pages or nowhere."""
    parser = extra("markdown_it").MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    heads: list[str] = []
    column = 0
    for token, after in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "table_open":
            token.attrSet("class", "stack")
            heads = []
        elif token.type == "th_open" and after is not None:
            heads.append(re.sub("[*`]", "", after.content))
        elif token.type == "tr_open":
            column = 0
        elif token.type == "td_open":
            token.attrSet("data-label", heads[column])
            column += 1
        elif token.type == "inline":
            token.children = _linked(token.children, folder)
    html: str = parser.renderer.render(tokens, parser.options, {})
    html = html.replace("<table", '<div class="scroll"><table').replace(
        "</table>", "</table></div>"
    )
    # A row on a phone is a label and one box, however many words and breaks the cell has.
    return re.sub(r"(<td[^>]*>)(.+?)(</td>)", r"\1<span>\2</span>\3", html, flags=re.DOTALL)


def _linked(children: list[Any], folder: str) -> list[Any]:
    """The parts of a paragraph without links to what has no page."""
    kept, dropped = [], False
    for child in children:
        if child.type == "link_open":
            target = _target(str(child.attrGet("href")), folder)
            dropped = target is None
            if target is not None:
                child.attrSet("href", target)
        if not (dropped and child.type in ("link_open", "link_close")):
            kept.append(child)
    return kept


def _target(link: str, folder: str) -> str | None:
    """Where a link of a page leads to; None if there is no page.

    >>> _target("torch.md", "ledger"), _target("../reports/README.md", "ledger")
    ('torch.html', '../reports/index.html')
    >>> _target("../../SPEC_NOTES.md", "ledger") is None
    True
    """
    if "://" in link or link.startswith("#"):
        return link
    path, _, part = link.partition("#")
    names = path.split("/")
    inside = len(names) == 1 or (len(names) == 3 and names[0] == ".." and names[1] in _FOLDERS)
    if not inside or not path.endswith(".md"):
        return None
    return "/".join([*names[:-1], _html(names[-1])]) + f"#{part}" * bool(part)
