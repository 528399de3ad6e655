"""Pages opened in headless Chromium, and what a reader could not read of them."""

from __future__ import annotations

import html
from collections.abc import Mapping

import matplotlib
import readable
from helpers import PATIENCE, tool
from needs import absent

#: What the pictures of docs/pictures were drawn by; the extra `test` pins it.
DRAWN_BY = "3.11.2"
#: Widths of a phone, of a narrow and of a wide window, in CSS pixels.
WIDTHS = (360, 700, 1200)


def problems(pages: Mapping[str, str]) -> list[str]:
    """What cannot be read of pages, light and dark, at the widths of a phone and of windows.

    Args:
        pages: HTML by name.
    """
    tool("chromium-headless-shell")
    frames = [
        f'<iframe title="{html.escape(name)}, {scheme}" srcdoc="{html.escape(text)}" '
        f'style="width:{width}px;height:900px;border:0;color-scheme:{scheme}"></iframe>'
        for name, text in pages.items()
        for width in WIDTHS
        for scheme in ("light", "dark")  # which a frame takes over from its element
    ]
    return readable.problems(frames, patience=PATIENCE)


def chromium(page: str, *options: str) -> str:
    """The output of headless Chromium on a page."""
    tool("chromium-headless-shell")
    return readable.chromium(page, *options, patience=PATIENCE)


def refuse_other_drawing() -> None:
    """Skip a test of committed pictures with another matplotlib; in CI that fails."""
    if matplotlib.__version__ != DRAWN_BY:
        absent(f"the committed pictures are of matplotlib {DRAWN_BY}, not {matplotlib.__version__}")
