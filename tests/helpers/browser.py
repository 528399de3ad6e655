"""Pages opened in headless Chromium, and what a reader could not read of them."""

from __future__ import annotations

import html
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import matplotlib
from helpers import PATIENCE, tool
from needs import absent

#: What the pictures of docs/pictures were drawn by; the extra `test` pins it.
DRAWN_BY = "3.11.2"
#: Widths of a phone, of a narrow and of a wide window, in CSS pixels.
WIDTHS = (360, 700, 1200)

_PROBE = (Path(__file__).parent / "data" / "readable.js").read_text("utf-8")


def problems(pages: Mapping[str, str]) -> list[str]:
    """What cannot be read of pages, light and dark, at the widths of a phone and of windows.

    Args:
        pages: HTML by name.
    """
    frames = [
        f'<iframe title="{html.escape(name)}, {scheme}" srcdoc="{html.escape(text)}" '
        f'style="width:{width}px;height:900px;border:0;color-scheme:{scheme}"></iframe>'
        for name, text in pages.items()
        for width in WIDTHS
        for scheme in ("light", "dark")  # which a frame takes over from its element
    ]
    outer = f"<!doctype html><meta charset=utf-8><script>{_PROBE}</script>{''.join(frames)}"
    shown = chromium(outer, "--dump-dom")
    match = re.search(r"<body>(.*)</body>", shown, re.DOTALL)
    assert match, shown[:500]
    found = json.loads(html.unescape(match[1]))
    assert isinstance(found, list)
    return found


def chromium(page: str, *options: str) -> str:
    """The output of headless Chromium on a page."""
    program = tool("chromium-headless-shell")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page, "utf-8")
        result = subprocess.run(
            [
                program,
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--host-resolver-rules=MAP * ~NOTFOUND",
                f"--user-data-dir={folder}/profile",
                "--window-size=1300,900",
                *options,
                path.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout


def refuse_other_drawing() -> None:
    """Skip a test of committed pictures with another matplotlib; in CI that fails."""
    if matplotlib.__version__ != DRAWN_BY:
        absent(f"the committed pictures are of matplotlib {DRAWN_BY}, not {matplotlib.__version__}")
