"""Plots of a row that fails: errors and failures by binade and lane, and around the failure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import fast_answers
from mxref.conformance.verdict.row import VerifyRow
from mxref.formats.catalog import E8M0
from mxref.policy.policy import Policy
from mxref.reports.bit_fields import sides
from mxref.reports.drawing import FAINT, RIGHT, WRONG, drawing, inline, svg
from mxref.reports.points import Points, numbers, points

__all__ = ["row_plots"]

#: Points on the line of right answers around a failure.
_DENSE = 400


def row_plots(row: VerifyRow) -> list[tuple[str, str]]:
    """The plots of a failing row, each with its title, as SVG elements.

    Args:
        row: the row; for operations whose answers are bytes there are no plots.
    """
    found = points(row)
    if found is None or not found.wrong.any():
        return []
    plots = []
    if found.binades.size:
        plots.append(_by_binade(row, found))
    if found.lane.any():
        plots += _by_lane(row, found)
        plots += _one_block(row, found)
    elif not row.operation.from_codes:
        plots += _around(row, found)
    return plots


def _what(row: VerifyRow) -> str:
    """What x is."""
    one = row.operation
    if one.blocks == "numbers":
        return "element over its right scale"
    if one.from_codes:
        return "right number"
    return "amax" if "amax" in one.parameters else "input"


def _by_binade(row: VerifyRow, found: Points) -> tuple[str, str]:
    """Counts of right and wrong answers, and the largest error, over the exponent of x."""
    plain = found.plain
    binades, wrong = found.binades, found.wrong[plain]
    first, last = _shown(found)
    edges = np.arange(first, last + 2) - 0.5
    counts = np.histogram(binades, edges)[0], np.histogram(binades[wrong], edges)[0]
    title = f"{row.op} {row.format}: failures and errors by binade"
    with drawing(360, 300) as figure:
        top, below = figure.subplots(2, sharex=True)
        top.stairs(counts[0], edges, color=FAINT, alpha=0.5, fill=True, label="asked")
        top.stairs(counts[1], edges, color=WRONG, fill=True, label="wrong")
        top.set_ylabel("answers")
        _legend(top)
        scale = sides(row.outcomes[0].file)[1] == (E8M0,)
        for values, colour, line, label in (
            (found.want, RIGHT, "-", "right"),
            (found.got, WRONG, "--", "yours"),
        ):
            error = _errors(found.x[plain], values[plain], scale=scale)
            inside = (binades >= first) & (binades <= last)
            most = _largest(binades[inside] - first, error[inside], last - first + 1)
            below.stairs(most, edges, color=colour, linestyle=line, label=label, baseline=None)
        below.set_ylabel(
            "log2 of largest\nscale / amax" if scale else "log2 of largest\nrelative error"
        )
        below.set_xlabel(f"exponent of the {_what(row)}")
        _legend(below)
        return title, inline(svg(figure), title)


def _shown(found: Points) -> tuple[int, int]:
    """The first and last binade to show: of wrong answers, and where the right one is near x."""
    plain, binades = found.plain, found.binades
    with np.errstate(all="ignore"):  # where nothing is wrong, `want` is what came
        near = np.abs(found.want - found.x)[plain] < np.abs(found.x[plain]) / 2
    some = binades[found.wrong[plain] | near]
    some = some if some.size else binades
    return int(some.min()) - 1, int(some.max()) + 1


def _errors(
    x: NDArray[np.float64], values: NDArray[np.float64], *, scale: bool
) -> NDArray[np.float64]:
    """log2 of relative errors, or of scales over amax; NaN where there is none."""
    with np.errstate(all="ignore"):
        error = np.log2((values if scale else np.abs(values - x)) / np.abs(x))
    return np.where(np.isfinite(error), error, np.nan)


def _largest(
    places: NDArray[np.int64], values: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """The largest value at each place; NaN where there is none."""
    most = np.full(count, -np.inf)
    known = ~np.isnan(values)
    np.maximum.at(most, places[known], values[known])
    return np.where(np.isinf(most), np.nan, most)


def _by_lane(row: VerifyRow, found: Points) -> list[tuple[str, str]]:
    """Counts of wrong answers by the element's place; nothing if all places have the same count."""
    title = f"{row.op} {row.format}: wrong elements by lane"
    lanes = int(found.lane.max()) + 1
    counts = np.bincount(found.lane[found.wrong], minlength=lanes)
    if (counts == counts[0]).all():  # such as where only scales are wrong
        return []
    with drawing(360, 170) as figure:
        axes = figure.subplots()
        axes.stairs(counts, np.arange(lanes + 1) - 0.5, color=WRONG, fill=True)
        axes.set_xlabel("lane (place in the block)")
        axes.set_ylabel("wrong elements")
        return [(title, inline(svg(figure), title))]


def _one_block(row: VerifyRow, found: Points) -> list[tuple[str, str]]:
    """The first wrong block that has a wrong number that can be drawn, element by element."""
    width = int(found.lane.max()) + 1
    shown = found.wrong & found.plain & np.isfinite(found.want) & np.isfinite(found.got)
    if not shown.any():
        return []
    place = int(np.argmax(shown))
    start = place - int(found.lane[place])
    some = slice(start, min(start + width, found.x.size))
    title = f"{row.op} {row.format}: the first wrong block"
    is_scaled = not row.operation.from_codes
    title += ", over the right scale" * is_scaled
    power = _power(np.concatenate([found.want[some], found.got[some]]))
    x, want, got = (_scaled(a[some], power) for a in (found.x, found.want, found.got))
    with drawing(360, 220) as figure:
        axes = figure.subplots()
        lanes = found.lane[some]
        if is_scaled:
            axes.plot(lanes, x, "_", color=FAINT, ms=8, label="input")
        axes.plot(lanes, want, "o", mfc="none", color=RIGHT, ms=5, label="right")
        wrong = found.wrong[some]
        axes.plot(lanes[wrong], got[wrong], "x", color=WRONG, ms=6, label="yours, wrong")
        axes.set_xlabel("lane (place in the block)")
        axes.set_ylabel(f"value{_in_units(power)}")
        _legend(axes, 3)
        return [(title, inline(svg(figure), title))]


def _around(row: VerifyRow, found: Points) -> list[tuple[str, str]]:
    """Codes against inputs in the binades beside the first wrong answer that is a number."""
    good = found.wrong & found.plain & np.isfinite(found.got)
    if not good.any():
        return []
    file = row.outcomes[0].file
    centre = float(found.x[np.argmax(good)])
    low, high = sorted((centre / 2, centre * 2))
    layout = LAYOUTS[file.float]
    near = (found.x >= low) & (found.x <= high)
    across, up = _power(found.x[near]), _power(found.got[near])
    x, got = _scaled(found.x, across), _scaled(found.got, up)
    title = f"{row.op} {row.format}: answers around the input {centre:.6g}"
    with drawing(360, 230) as figure:
        axes = figure.subplots()
        if row.profile is None:
            with np.errstate(over="ignore"):
                inputs = np.linspace(low, high, _DENSE).astype(layout.dtype)
            words = inputs.view(layout.uint).astype(np.uint64)[:, np.newaxis]
            right = fast_answers(row.op, row.format, file.float, words, Policy.parse(row.policy))
            codes = right.astype(np.uint64)[:, :1]
            values = numbers(codes, sides(file)[1][-1])[:, 0]
            axes.plot(
                _scaled(inputs.astype(np.float64), across),
                _scaled(values, up),
                "-",
                color=RIGHT,
                lw=1.2,
                label="right",
            )
        fine = near & ~found.wrong
        axes.plot(x[fine], got[fine], "o", mfc="none", color=FAINT, ms=4, label="yours")
        bad = near & found.wrong
        axes.plot(x[bad], got[bad], "x", color=WRONG, ms=6, label="yours, wrong")
        axes.set_xlabel(f"{_what(row)}{_in_units(across)}")
        axes.set_ylabel(f"value{_in_units(up)}")
        _legend(axes, 3)
        return [(title, inline(svg(figure), title))]


def _power(values: NDArray[np.float64]) -> int:
    """The exponent of the power of two that is the unit of a plot: 0 for ordinary numbers.

    >>> _power(np.array([3.0, np.nan])), _power(np.array([2.0**-80, 0.0]))
    (0, -80)
    """
    most = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return 0 if most == 0 or 0.01 <= most < 1000 else math.frexp(most)[1] - 1


def _scaled(values: NDArray[np.float64], power: int) -> NDArray[np.float64]:
    """Numbers in units of a power of two; those far outside a plot may overflow."""
    with np.errstate(all="ignore"):
        result: NDArray[np.float64] = np.ldexp(values, -power)
    return result


def _in_units(power: int) -> str:
    return f", in units of 2^{power}" if power else ""


def _legend(axes: Any, columns: int = 2) -> None:
    """A legend above the axes, where it hides nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2)
