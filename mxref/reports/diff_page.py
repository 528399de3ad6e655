"""The page of ``mxref diff --html``: each kind of difference in bits, and how often it matters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mxref.bits.floats import F32
from mxref.blocks.two_level import TensorScale
from mxref.conformance.differing.cast_difference import CastDifference
from mxref.conformance.differing.difference import BlockBytes, Difference, Example
from mxref.conformance.differing.figures import DataFigures
from mxref.conformance.differing.sides import numbers_of_words
from mxref.reports.bit_fields import Word, of_code, of_float
from mxref.reports.drawing import COLOURS, FAINT, RIGHT, drawing, inline, svg
from mxref.reports.error_plots import spread_plot
from mxref.reports.page import write_page
from mxref.reports.pictures import above

__all__ = ["DifferenceKind", "write_diff_page", "write_parts"]

#: Lanes of a block whose bits are shown.
_LANES = 2


@dataclass(frozen=True, slots=True)
class DifferenceKind:
    """A kind of difference.

    Args:
        title: what it is.
        groups: its words, by what they belong to.
        plots: pictures of it, each with its title.
    """

    title: str
    groups: tuple[tuple[str, tuple[Word, ...]], ...]
    plots: tuple[tuple[str, str], ...] = ()


def write_diff_page(
    path: Path,
    found: Difference,
    figures: Sequence[DataFigures],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    command: str = "",
) -> None:
    """Write the page of a difference.

    Args:
        path: the file.
        found: the difference.
        figures: those whose errors are drawn.
        header: the heading of the rows' labels, then the names of the data that have figures.
        rows: the figures in words.
        command: the command that makes the page, for its last line.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: jinja2 or matplotlib is not installed, or the path is no regular file.
    """
    parts = [_example(found, one) for one in found.examples]
    fmt = found.format
    for pair in found.readings:
        code = of_code("code", pair.code, fmt.element)
        bytes_ = (*_tensor(pair.tensor), of_code("scale", pair.scale, fmt.scale), code)
        reads = (
            of_float(f"{found.a} reads", pair.a, found.layout),
            of_float(f"{found.b} reads", pair.b, found.layout, pair.a),
        )
        title = f"reading, {pair.kind}: {pair.count} pairs of a scale and a code"
        parts.append(DifferenceKind(title, (("", bytes_), ("", reads))))
    histograms = [
        spread_plot(f"errors on {one.data}", {found.a: one.errors[0], found.b: one.errors[1]})
        for one in figures
    ]
    tried = f"{found.tried} blocks from {found.layout.name}" if found.tried else ""
    write_parts(
        path,
        found,
        parts,
        what=fmt.name,
        tried=tried,
        header=header,
        rows=rows,
        plots=histograms,
        command=command,
    )


def write_parts(
    path: Path,
    found: Difference | CastDifference,
    parts: Sequence[DifferenceKind],
    *,
    what: str,
    tried: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    plots: Sequence[tuple[str, str]] = (),
    command: str = "",
) -> None:
    """Write the page of the kinds of a difference, in blocks or in casts.

    Args:
        path: the file.
        found: the difference.
        parts: its kinds.
        what: what the two profiles did.
        tried: how many inputs were tried, in words; empty if none were.
        header: as in `write_diff_page`.
        rows: as in `write_diff_page`.
        plots: pictures of the figures on data.
        command: the command that makes the page, for its last line.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: jinja2 is not installed, or the path is no regular file.
    """
    count = len(parts)
    verdict = f"{count} kind{'s' * (count != 1)} of difference" if count else "no difference"
    if not count and found.found:
        verdict = "the same on every input that was tried, and different on the data"
    write_page(
        path,
        "diff",
        command=command,
        title=f"{found.a} and {found.b}, {what}",
        verdict=verdict,
        same=not found.found,
        tried=tried,
        notes=found.notes,
        parts=parts,
        header=header,
        rows=rows,
        plots=plots,
    )


def _example(found: Difference, one: Example) -> DifferenceKind:
    """An example in bits: the lanes in which the two differ, else the first ones."""
    width = len(one.words)
    codes = [side.codes or (0,) * width for side in (one.a, one.b)]
    reads = [side.own or (0,) * width for side in (one.a, one.b)]
    differ = [i for i in range(width) if len({*_at(codes, i)}) > 1 or len({*_at(reads, i)}) > 1]
    lanes = (differ or [*range(width)])[:_LANES]
    layout = found.layout
    inputs = tuple(of_float(f"input, lane {i}", one.words[i], layout) for i in lanes)
    if one.elsewhere is not None:
        inputs += (of_float("elsewhere in the tensor", one.elsewhere, layout),)
    other = one.a if one.a.scale is not None else None
    groups = [
        ("", inputs),
        (found.a, _side(found, one.a, lanes)),
        (found.b, _side(found, one.b, lanes, other)),
    ]
    title = f"quantizing, {one.kind}: {one.count} blocks"
    return DifferenceKind(title, tuple(groups), tuple(_plots(found, one)))


def _at(rows: Sequence[Sequence[int]], lane: int) -> tuple[int, ...]:
    return tuple(row[lane] for row in rows)


def _side(
    found: Difference, made: BlockBytes, lanes: Sequence[int], other: BlockBytes | None = None
) -> tuple[Word, ...]:
    """The words that a side makes of a block; none where that is an error."""
    if made.scale is None:
        return (Word("answer", "an error", ()),)
    fmt = found.format
    scale = of_code("scale", made.scale, fmt.scale, None if other is None else other.scale)
    shown = [*_tensor(made.tensor, None if other is None else other.tensor), scale]
    for lane in lanes:
        wanted = None if other is None else other.codes[lane]
        shown.append(of_code(f"code, lane {lane}", made.codes[lane], fmt.element, wanted))
    return tuple(shown)


def _tensor(scale: TensorScale | None, other: TensorScale | None = None) -> tuple[Word, ...]:
    """The word of a tensor's scale, where there is one; compared with another of its kind."""
    if scale is None:
        return ()
    wanted = other.bits if other is not None and other.kind is scale.kind else None
    return (of_float(f"tensor scale ({scale.kind.value})", scale.bits, F32, wanted),)


def _plots(found: Difference, one: Example) -> list[tuple[str, str]]:
    """Plots of the block and of what each side reads in its own bytes, if these differ."""
    values = np.array(numbers_of_words(one.words, found.layout))
    finite = np.abs(values[np.isfinite(values)])
    if not finite.any() or one.a.scale is None or one.b.scale is None:
        return []
    first, second = (np.array(numbers_of_words(s.own, found.layout)) for s in (one.a, one.b))
    if np.array_equal(first, second, equal_nan=True):
        return []
    exponent = math.frexp(float(finite.max()))[1] - 1
    title = f"{one.kind}: the block and what is read, in units of 2^{exponent}"
    with drawing(360, 230) as figure:
        axes = figure.subplots()
        lanes = np.arange(values.size)
        axes.plot(lanes, np.ldexp(values, -exponent), "_", color=FAINT, ms=10, label="input")
        marks = (found.a, "o", RIGHT, 7), (found.b, "x", COLOURS[1], 5)
        for (name, mark, colour, size), read in zip(marks, (first, second), strict=True):
            drawn = np.ldexp(read, -exponent)
            axes.plot(lanes, drawn, mark, mfc="none", color=colour, ms=size, label=name)
        axes.set_xlabel("lane (place in the block)")
        above(axes, 1)
        return [(title, inline(svg(figure), title))]
