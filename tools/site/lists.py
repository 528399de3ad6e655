"""A hook of mkdocs: the site has the lists that GitHub shows.

A list may follow a paragraph at once, and its parts are indented by two spaces. The site's Markdown
wants a blank line, and four spaces.
"""

from __future__ import annotations

import re


def on_page_markdown(markdown: str, **_: object) -> str:
    """A page with a blank line before each list, and twice the indentation; fences stay."""
    fence, paragraph, lines = False, False, [""]
    for line in markdown.splitlines():
        edge = line.lstrip().startswith("```")
        item = not fence and re.match(r" *(?:[-*+]|1\.) ", line)
        if item and paragraph:
            lines.append("")
        indent = "" if fence and not edge else line[: len(line) - len(line.lstrip(" "))]
        paragraph = not item and bool(line) and (paragraph or not lines[-1])
        lines.append(indent + line)
        fence ^= edge
    return "\n".join(lines[1:])
