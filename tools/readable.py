"""What a reader could not read of pages: they are opened in headless Chromium, and looked at.

    python tools/readable.py SITE      # each page of a built site; prints what is found, status 1

readable.js says what is looked for: text that is cut, covered or too faint, words that tables
break, tables and pages that are wider than the window. A page of the site is looked at without its
scripts, at the widths of a phone, a tablet and a window, in the light and in the dark.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

PROBE = (Path(__file__).parent / "readable.js").read_text("utf-8")
#: Widths of the site's pages, in CSS pixels, and the names of its colours.
WIDTHS, SCHEMES = "390 768 1280", "default slate"
#: Pages with tables that scroll at every width.
WIDE = {"ledger/products.html", "performance.html", "tools/adapters/NOTES.html"}


def chromium(page: str, *options: str, patience: float = 600) -> str:
    """The output of headless Chromium on a page.

    Raises:
        RuntimeError: Chromium failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page, "utf-8")
        result = subprocess.run(
            [
                "chromium-headless-shell",
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
            timeout=patience,
        )
    if result.returncode != 0:
        raise RuntimeError(result.stderr[-2000:])
    return result.stdout


def problems(frames: Iterable[str], *options: str, patience: float = 600) -> list[str]:
    """What cannot be read in frames, a sentence each.

    Args:
        frames: `<iframe>` elements, each with a title.
        options: further ones for Chromium.
        patience: seconds that Chromium may take.

    Raises:
        RuntimeError: Chromium failed, or did not look at the frames.
    """
    outer = f"<!doctype html><meta charset=utf-8><script>{PROBE}</script>{''.join(frames)}"
    shown = chromium(outer, *options, "--dump-dom", patience=patience)
    match = re.search(r"<body>(\[.*\])</body>", shown, re.DOTALL)
    if not match:
        raise RuntimeError(f"Chromium did not look at the pages: {shown[:500]}")
    return [str(one) for one in json.loads(html.unescape(match[1]))]


def site_problems(site: Path) -> list[str]:
    """What cannot be read of the pages below a folder."""
    frames = [
        f'<iframe title="{page}" src="{(site / page).as_uri()}" data-widths="{WIDTHS}" '
        f'data-schemes="{SCHEMES}" sandbox="allow-same-origin" '
        'style="height:900px;border:0"></iframe>'
        for page in sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
        if not page.startswith("source/")
    ]
    found = problems(frames, "--allow-file-access-from-files")
    return [one for one in found if ": wide table" not in one or one.split(",")[0] not in WIDE]


if __name__ == "__main__":
    found = site_problems(Path(sys.argv[1]).resolve())
    print(*found, f"{len(found)} problems", sep="\n")
    sys.exit(bool(found))
