"""Histograms of errors, one for each way of quantizing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mxref.reports.drawing import COLOURS, drawing, inline, svg
from mxref.reports.pictures import above
from mxref.support.spread import LARGEST, SMALLEST, Spread

__all__ = ["spread_plot"]

_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


def spread_plot(title: str, ways: Mapping[str, Spread]) -> tuple[str, str]:
    """Shares of elements by the binade of their relative error, with the title, as an SVG element.

    Args:
        title: what it shows.
        ways: at most six ways of quantizing by name.
    """
    edges = np.arange(SMALLEST, LARGEST + 2)
    with drawing(360, 215 + 15 * len(ways)) as figure:
        axes = figure.subplots()
        for (name, one), colour, dash in zip(ways.items(), COLOURS, _DASHES, strict=False):
            total = max(one.exact + int(one.counts.sum()), 1)
            label = f"{name}: {100 * one.exact / total:.3g} % exact"
            shares = 100 * one.counts / total
            axes.stairs(shares, edges, color=colour, linestyle=dash, lw=1.4, label=label)
        axes.set_xlabel("log2 of the relative error")
        axes.set_ylabel("elements, %")
        axes.set_ylim(bottom=0)
        above(axes, 1)
        return title, inline(svg(figure), title)
