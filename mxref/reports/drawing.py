"""Figures of matplotlib as SVG and PNG: the same bytes for the same version of matplotlib.

They do not depend on the user's settings, the clock or a display: the style is matplotlib's own
with the lines below, ids are hashed with a fixed salt, and text stays text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from mxref.reports.extra import extra

__all__ = ["BACK", "COLOURS", "FAINT", "INK", "RIGHT", "WRONG", "drawing", "inline", "png", "svg"]

#: Colours with a meaning; pages replace them by variables that follow dark mode.
INK, FAINT, BACK = "#1f2328", "#8b949e", "#ffffff"
RIGHT, WRONG = "#0b5fae", "#c5221f"
#: Colours of series, which also have different dashes.
COLOURS = (RIGHT, "#b35900", "#1a7f37", "#8250df", "#7a5c00", "#0e7c86")
_VARIABLES = {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    BACK: "var(--back)",
    RIGHT: "var(--right)",
    WRONG: "var(--wrong)",
    **{colour: f"var(--c{i})" for i, colour in enumerate(COLOURS) if i},
}
_STYLE: dict[str, object] = {
    "svg.hashsalt": "mxref",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "path.simplify": False,
    "figure.dpi": 72.0,
    "savefig.dpi": 144.0,
    "hatch.linewidth": 0.8,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), BACK),
}


@contextmanager
def drawing(width: float = 360.0, height: float = 200.0) -> Iterator[Any]:
    """A new figure in the style of all pictures; it must be written inside the context.

    Args:
        width: width in points; one is a CSS pixel if the figure is shown at its own size.
        height: height in points.

    Yields:
        The ``matplotlib.figure.Figure``, which lays its axes out itself.

    >>> with drawing() as figure:
    ...     _ = figure.subplots().plot([1, 2])
    ...     svg(figure) == svg(figure)
    True
    """
    matplotlib = extra("matplotlib")
    defaults = {
        name: value
        for name, value in matplotlib.rcParamsDefault.items()
        if name not in ("backend", "backend_fallback", "interactive", "toolbar", "timezone")
    }
    with matplotlib.rc_context({**defaults, **_STYLE}):
        yield extra("matplotlib.figure").Figure((width / 72, height / 72), layout="constrained")


def svg(figure: Any) -> str:
    """A figure as an SVG file."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": "mxref"})
    # Ids of groups are names of matplotlib's classes; nothing refers to them.
    text = re.sub(r'<g id="[^"]*">', "<g>", out.getvalue().decode("utf-8"))
    return re.sub(r"\n +", "\n", text)


def png(figure: Any) -> bytes:
    """A figure as a PNG file."""
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": "mxref"})
    return out.getvalue()


def inline(text: str, label: str) -> str:
    """An SVG file of `svg` as an element of a page, in the colours of its light or dark mode.

    Args:
        text: the file.
        label: a description for those who cannot see it.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    head, body = text.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    named = f'<svg {box[0] if box else ""} role="img" aria-label="{escape(label)}"'
    named += ' xmlns:xlink="http://www.w3.org/1999/xlink">'
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, variable)
    return named + body
