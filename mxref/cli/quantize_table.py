"""The report of `mxref quantize` in several ways: a row for each, with the best figures marked."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mxref.cli.quantize_ways import LeftOut, Way
from mxref.cli.screen import print_table
from mxref.cli.tensor_arguments import print_skipped
from mxref.support.spread import Spread
from mxref.support.text import printable

__all__ = ["as_json", "defined_figures", "print_page", "print_ways", "text"]

#: The description of a tensor, and its figures for each way.
_Tensor = tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]
_COLUMNS = ("format", "policy or profile", "bits", "sqnr_db", "largest_error")
_SHARES = ("saturated", "flushed")
#: Columns that are shown only if one of their figures is not 0.
_RARE = ("not_finite", "nan_blocks")
_RANKED = ("sqnr_db", "largest_error")
_LEGEND = {
    "*": "the best of all",
    "+": "the best of those whose elements have as many bits",
    "^": "the best of its format",
}


def print_ways(
    ways: Sequence[Way],
    left_out: Sequence[LeftOut],
    tensors: Sequence[_Tensor],
    skipped: Iterable[Mapping[str, str]],
    totals: Sequence[Mapping[str, Any]],
) -> None:
    """Print a row for each way: for all tensors first, then for each tensor.

    Args:
        ways: the ways of quantizing.
        left_out: ways that are not possible.
        tensors: for each tensor its description, and its figures for each way.
        skipped: names of tensors that were not quantized, with the reason.
        totals: the figures of all tensors, for each way.
    """
    parts = [(f"total of {len(tensors)}", totals)] if len(tensors) > 1 else []
    for about, row in tensors:
        parts.append((printable(f"{about['name']}  {about['shape']} {about['dtype']}"), row))
    rare = tuple(name for name in _RARE if any(one[name] for _, row in parts for one in row))
    columns = (*_COLUMNS, *_SHARES, *rare)
    rows: list[list[str]] = []
    headings = {}
    for heading, row in parts:
        headings[len(rows)] = f"\n{heading}"
        for way, figures, marks in zip(ways, row, _marks(ways, row), strict=True):
            own = defined_figures(figures)
            cells = [text(own[name]) + marks.get(name, "") for name in columns[3:]]
            rows.append([way.format.name, printable(way.name), f"{way.bits:g}", *cells])
    print_table(columns, rows, headings)
    used = {cell[-1] for row in rows for cell in row[3:]}
    if legend := [f"{mark} {meaning}" for mark, meaning in _LEGEND.items() if mark in used]:
        print("; ".join(legend))
    for one in left_out:
        name = f"{one.way.format.name} by {one.way.name}"
        print(printable(f"left out {name}: {one.reason}"))
    print_skipped(skipped)


def print_page(
    options: argparse.Namespace,
    ways: Sequence[Way],
    tensors: Sequence[_Tensor],
    skipped: Iterable[Mapping[str, str]],
    totals: Sequence[Mapping[str, Any]],
    errors: Sequence[Spread | None],
) -> None:
    """Write the page: for all tensors and for each tensor a row for each way.

    Args:
        options: the command's options: the page, the file that was quantized, the whole command.
        ways: the ways.
        tensors: for each tensor its description, and its figures for each way.
        skipped: names of tensors that were not quantized, with the reason.
        totals: the figures of all tensors, for each way.
        errors: the relative errors of all elements, for each way.
    """
    from mxref.reports.quantize_page import write_quantize_page

    names = [f"{way.format.name} by {way.name}" for way in ways]
    columns = ("sqnr_db", "largest_error", *_SHARES, *_RARE)

    def cells(figures: Mapping[str, Any], marks: Mapping[str, str]) -> list[str]:
        return [text(defined_figures(figures)[name]) + marks.get(name, "") for name in columns]

    head = ("way", "bits", *columns)
    rows = [
        [name, f"{way.bits:g}", *cells(one, marks)]
        for name, way, one, marks in zip(names, ways, totals, _marks(ways, totals), strict=True)
    ]
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = {"All tensors": (head, rows)}
    rows = [
        [str(about["name"]), str(about["shape"]), str(about["dtype"]), name, *cells(one, marks)]
        for about, row in tensors
        for name, one, marks in zip(names, row, _marks(ways, row), strict=True)
    ]
    tables["Each tensor"] = (("name", "shape", "dtype", "way", *columns), rows)
    by_way = zip(*(row for _, row in tensors), strict=True)
    write_quantize_page(
        options.html,
        str(options.file),
        tables=tables,
        ratios={
            name: [one["sqnr_db"] for one in row] for name, row in zip(names, by_way, strict=True)
        },
        errors={name: one for name, one in zip(names, errors, strict=True) if one is not None},
        skipped=[f"{one['name']}: {one['reason']}" for one in skipped],
        command=options.typed,
    )


def as_json(
    ways: Sequence[Way],
    left_out: Sequence[LeftOut],
    tensors: Sequence[_Tensor],
    skipped: Sequence[Mapping[str, str]],
    totals: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """The same report as JSON values; lists of figures are in the order of the ways."""
    return {
        "ways": [{**way.about, "bits": way.bits} for way in ways],
        "left_out": [{**one.way.about, "reason": one.reason} for one in left_out],
        "tensors": [{**about, "ways": list(row)} for about, row in tensors],
        "skipped": list(skipped),
        "total": {
            "tensors": len(tensors),
            "ways": [{name: v for name, v in one.items() if name != "tensors"} for one in totals],
        },
    }


def defined_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures for a reader, without those that are undefined, such as a mean of no elements."""
    nothing: tuple[str, ...] = ()
    if not figures["blocks"]:
        nothing = ("saturated", "flushed", "largest_error", "not_finite")
    elif figures["not_finite"] == 1:
        nothing = ("largest_error",)
    return {**figures, **dict.fromkeys(nothing)}


def text(value: object) -> str:
    """A figure or a word as text."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value))


def _marks(ways: Sequence[Way], row: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """For each way its marks by figure; of several marks the one that says most."""
    marks: list[dict[str, str]] = [{} for _ in ways]
    formats = [way.format.name for way in ways]
    widths = [way.format.element.bits for way in ways]
    alike: dict[str, Sequence[object]] = {"^": formats, "+": widths, "*": [0] * len(ways)}
    for name in _RANKED:
        for mark, keys in alike.items():
            for key in {*keys}:
                same = [i for i, one in enumerate(keys) if one == key]
                for i in _best(name, row, same):
                    marks[i][name] = mark
    return marks


def _best(name: str, row: Sequence[Mapping[str, Any]], among: Sequence[int]) -> list[int]:
    """The ways, among some, with the best figure; none if all are equally good."""
    rank = {i: _rank(name, row[i]) for i in among}
    best = max(rank.values())
    found = [i for i in among if rank[i] == best]
    return found if len(found) < len(rank) else []


def _rank(name: str, figures: Mapping[str, Any]) -> tuple[float, float]:
    """A key that is larger for better figures; those with fewer non-finite elements come first."""
    error = figures["largest_error"]
    if name == "largest_error":
        return -figures["not_finite"], -error
    ratio = figures["sqnr_db"]
    if ratio is None:
        ratio = -math.inf if error else math.inf  # no signal; no noise
    return -figures["not_finite"], ratio
