"""The page of ``mxref quantize --html``: what each way of quantizing costs, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from mxref.reports.drawing import COLOURS, drawing, inline, svg
from mxref.reports.error_plots import spread_plot
from mxref.reports.page import write_page
from mxref.reports.pictures import above
from mxref.support.spread import Spread

__all__ = ["write_quantize_page"]

#: Ways in one plot at most, each with its own colour and mark.
_TOGETHER = 6
_MARKS = "ox+^sv"


def write_quantize_page(
    path: Path,
    file: str,
    *,
    tables: Mapping[str, tuple[Sequence[str], Sequence[Sequence[str]]]],
    ratios: Mapping[str, Sequence[float | None]],
    errors: Mapping[str, Spread],
    skipped: Sequence[str] = (),
    sentence: str = "",
    command: str = "",
) -> None:
    """Write the page of a file that was quantized in one or several ways.

    Args:
        path: the file of the page.
        file: name of the file that was quantized.
        tables: header and rows of each table, by its heading, the most important one first.
        ratios: for each way the SQNR of each tensor in dB; None where it is undefined.
        errors: for each way the relative errors of all elements.
        skipped: sentences on tensors that were not quantized.
        sentence: which way is the best.
        command: the command that makes the page, for its last line.

    Raises:
        OSError: the page cannot be written; nothing is left behind.
        ValueError: jinja2 or matplotlib is not installed, or the path is no regular file.
    """
    title = "relative errors of all elements"
    groups = [{name: errors[name] for name in names} for names in _together(errors)]
    plots = [spread_plot(title, some) for some in groups]
    if max(map(len, ratios.values()), default=0) > 1:
        plots += [_by_tensor({name: ratios[name] for name in names}) for names in _together(ratios)]
    facts: dict[str, object] = {"title": file, "tables": tables, "plots": plots, "skipped": skipped}
    facts["sentence"] = sentence
    write_page(path, "quantize", command=command, **facts)


def _together(names: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Names in groups that a plot can tell apart."""
    every = [*names]
    return [tuple(every[start : start + _TOGETHER]) for start in range(0, len(every), _TOGETHER)]


def _by_tensor(ratios: Mapping[str, Sequence[float | None]]) -> tuple[str, str]:
    """The ratio of each tensor, one series a way."""
    title = "SQNR of each tensor"
    with drawing(360, 215 + 15 * len(ratios)) as figure:
        axes = figure.subplots()
        for (name, some), colour, mark in zip(ratios.items(), COLOURS, _MARKS, strict=False):
            values = [math.nan if one is None else one for one in some]
            axes.plot(range(1, len(values) + 1), values, mark, color=colour, ms=4, label=name)
        axes.set_xlabel("tensor, in the order of the table")
        axes.set_ylabel("SQNR, dB")
        above(axes, 1)
        return title, inline(svg(figure), title)
