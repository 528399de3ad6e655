"""Two summaries as pictures: mutants killed by class, and implementations against clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from mxref.conformance.score import Cell
from mxref.reports.drawing import COLOURS, FAINT, RIGHT, WRONG, drawing, png, svg
from mxref.reports.pictures import above
from mxref.support.whole_file import write_file

__all__ = ["matrix_picture", "write_kills_picture"]

#: class of mutants -> the subject of its mistakes.
_CLASSES = {
    "A": "rounding",
    "B": "range, zero, NaN",
    "C": "choice of the scale",
    "D": "scale arithmetic",
    "E": "decoding",
    "F": "INT8",
    "G": "layout in memory",
    "H": "products, layers",
    "I": "integers",
    "L": "one lane alone",
    "P": "pairs of lanes",
    "S": "stochastic rounding",
}


def write_kills_picture(path: Path, cells: Sequence[Cell]) -> None:
    """Write the picture of ``mxref score``: pairs of a mutant and a vector file, by class.

    Args:
        path: the file; it is an SVG file if it ends in ``.svg``, else a PNG file.
        cells: what `mxref.conformance.score.score` found.

    Raises:
        OSError: the file cannot be written; nothing is left behind.
        ValueError: matplotlib is not installed.
    """
    letters = sorted({cell.mutant.group[0] for cell in cells})
    counts = Counter((cell.mutant.group[0], _verdict(cell)) for cell in cells)
    mutants = {(cell.mutant.group[0], cell.mutant.id) for cell in cells}
    known = Counter(letter for letter, _ in mutants)
    with drawing(620, 60 + 24 * len(letters)) as figure:
        axes = figure.subplots()
        rows = range(len(letters), 0, -1)
        start = [0] * len(letters)
        for verdict, colour, hatch in (
            ("killed", RIGHT, ""),
            ("alive", WRONG, "xx"),
            ("equivalent", FAINT, "//"),
        ):
            widths = [counts[letter, verdict] for letter in letters]
            if any(widths):
                axes.barh(
                    rows, widths, 0.7, start, color=colour, hatch=hatch, edgecolor="white",
                    linewidth=0, label=verdict,
                )  # fmt: skip
            start = [a + b for a, b in zip(start, widths, strict=True)]
        for row, letter, end in zip(rows, letters, start, strict=True):
            killed = counts[letter, "killed"]
            share = f"{killed} of {killed + counts[letter, 'alive']}, {known[letter]} mutants"
            beside = {"textcoords": "offset points", "va": "center", "fontsize": 9}
            axes.annotate(share, (end, row), (4, 0), **beside)
        axes.set_yticks(rows, [f"{one}: {_CLASSES.get(one, '')}" for one in letters])
        axes.set_xlim(0, max(start) * 1.3)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("pairs of a mutant and a vector file")
        above(axes)
        content = svg(figure).encode("utf-8") if path.suffix == ".svg" else png(figure)
    write_file(path, content)


def _verdict(cell: Cell) -> str:
    return cell.verdict if cell.verdict in ("killed", "equivalent") else "alive"


def matrix_picture(
    rows: Mapping[str, Collection[str]], columns: Mapping[str, str], bugs: Mapping[str, int]
) -> str:
    """A matrix of implementations and clauses as an SVG file.

    Args:
        rows: for each implementation the clauses in which it differs.
        columns: the clauses in order, each with a few words on what it is about.
        bugs: number of known bugs, of implementations that have some.

    Raises:
        ValueError: matplotlib is not installed.

    >>> matrix_picture({"one": ["N1"]}, {"N1": "scale rule"}, {}).count("scale rule")
    1
    """
    names = [*rows]
    with drawing(200 + 24 * len(columns), 130 + 16 * len(names)) as figure:
        axes = figure.subplots()
        for column, clause in enumerate(columns):
            places = [row for row, name in enumerate(names) if clause in rows[name]]
            axes.plot([column] * len(places), places, "s", color=COLOURS[1], ms=8)
        for row, name in enumerate(names):
            if count := bugs.get(name, 0):
                text = f"{count} bug{'s' * (count != 1)}"
                axes.text(len(columns) - 0.3, row, text, va="center", fontsize=9, color=WRONG)
        labels = [f"{clause}  {text}" for clause, text in columns.items()]
        axes.set_xticks(range(len(columns)), labels, rotation=90)
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(names)), names)
        axes.set_xlabel("a square: some answer differs from ocp, as most choices that are free do")
        axes.set_xlim(-0.6, len(columns) + 1.4)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        return svg(figure)
