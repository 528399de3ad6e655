"""A hook of mkdocs: pages and files of the repository that lie outside docs/, and links to them.

The documents link to each other as files of the repository, so that they can be read there. In the
site docs/ is the root; a page from elsewhere keeps its path, and any other file that is linked
becomes a file below source/. A folder has no page: its link becomes plain text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
#: Pages outside docs/, as files of the repository, and what they are in the site.
PAGES = {
    "README.md": "readme.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "SPEC_NOTES.md": "SPEC_NOTES.md",
    "vectors/README.md": "vectors/README.md",
    "tools/adapters/NOTES.md": "tools/adapters/NOTES.md",
    "tools/fastpath/cuda/README.md": "tools/fastpath/cuda/README.md",
    "tools/fastpath/triton/README.md": "tools/fastpath/triton/README.md",
    "tools/fastpath/torch/README.md": "tools/fastpath/torch/README.md",
    **{
        f"tools/adopt/{name}.md": f"tools/adopt/{name}.md"
        for name in ("README", "gfloat", "ml_dtypes", "onnx", "torchao")
    },
}
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages, and every other file that one of all pages links."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    linked = set()
    for file in files.documentation_pages():
        source = _source(file.src_uri)
        for _, target, _ in _LINK.findall((ROOT / source).read_text("utf-8")):
            path = _resolved(source, target)
            if _place(path).startswith("source/") and (ROOT / path).is_file():
                linked.add(path)
    for path in sorted(linked):
        files.append(File.generated(config, f"source/{path}", content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links of a page lead to where their targets are in the site."""
    here = page.file.src_uri
    source = _source(here)

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found.groups()
        path = _resolved(source, target)
        if (ROOT / path).is_dir():
            return str(text)
        to = os.path.relpath(_place(path), PurePosixPath(here).parent)
        return f"[{text}]({to}{anchor or ''})"

    return _LINK.sub(link, markdown)


def _source(page: str) -> str:
    """The file of the repository that a page of the site is."""
    return {site: source for source, site in PAGES.items()}.get(page, f"docs/{page}")


def _resolved(source: str, target: str) -> str:
    """The path in the repository that a link in a file leads to."""
    return os.path.normpath(PurePosixPath(source).parent / target)


def _place(path: str) -> str:
    """Where a file of the repository is in the site."""
    return PAGES.get(path) or (
        path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}"
    )
