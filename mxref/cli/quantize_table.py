"""The report of `mxref quantize` in several ways: a row for each, with the best figures marked."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mxref.cli.quantize_ways import LeftOut, Way
from mxref.cli.screen import print_table
from mxref.cli.tensor_arguments import print_skipped
from mxref.support.spread import Spread
from mxref.support.text import printable

__all__ = [
    "as_json",
    "defined_figures",
    "in_short",
    "print_explained",
    "print_page",
    "print_ways",
    "text",
]

#: The description of a tensor, and its figures for each way.
_Tensor = tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]
_ABOUT = ("format", "policy or profile", "bits")
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
    """Print a row for each way, then a row for each tensor, and which way is the best.

    Args:
        ways: the ways of quantizing.
        left_out: ways that are not possible.
        tensors: for each tensor its description, and its figures for each way.
        skipped: names of tensors that were not quantized, with the reason.
        totals: the figures of all tensors, for each way.
    """
    several = len(tensors) > 1
    heading = f"total of {len(tensors)}" if several else _title(tensors[0][0])
    row = totals if several else tensors[0][1]
    rare = tuple(name for name in _RARE if any(one[name] for one in row))
    figures = ("sqnr_db", "largest_error", *_SHARES, *rare)
    rows = []
    for number, (way, one, marks) in enumerate(zip(ways, row, _marks(ways, row), strict=True), 1):
        about = (str(number), way.format.name, printable(way.name), f"{way.bits:g}")
        rows.append((*about, *_cells(figures, one, marks)))
    print_table(("way", *_ABOUT, *figures), rows, {0: f"\n{heading}"})
    shown = [cell for one in rows for cell in one[len(_ABOUT) + 1 :]]
    if several:
        by_tensor = [(_title(about), *cells) for about, cells in _ratios(ways, tensors)]
        print()
        print_table(("sqnr_db by way", *(str(i + 1) for i in range(len(ways)))), by_tensor)
        shown += [cell for one in by_tensor for cell in one[1:]]
    used = {cell[-1] for cell in shown}
    if legend := [f"{mark} {meaning}" for mark, meaning in _LEGEND.items() if mark in used]:
        print("; ".join(legend))
    print_explained()
    for other in left_out:
        name = f"{other.way.format.name} by {other.way.name}"
        print(printable(f"left out {name}: {other.reason}"))
    print_skipped(skipped)
    if sentence := in_short(ways, row):
        print(sentence)


def print_explained() -> None:
    """Print what the shares of a table are."""
    print("saturated: share of elements beyond the largest number of their block")
    print("flushed: share of elements that are not 0 and are read as 0")


def in_short(ways: Sequence[Way], row: Sequence[Mapping[str, Any]]) -> str:
    """Which way is the best, by how much, and what it costs; empty if nothing can be said.

    It is compared with the best one of fewer bits; if it has the fewest, with the best of others.

    >>> from mxref.cli.quantize_ways import ways_of
    >>> ways, _ = ways_of(["mxfp4_e2m1", "nvfp4"], [], [])
    >>> in_short(ways, [{"sqnr_db": 18.0, "not_finite": 0}, {"sqnr_db": 20.94, "not_finite": 0}])
    'nvfp4 is 2.9 dB better than mxfp4_e2m1 for 0.25 bits more'
    """
    if len({one["not_finite"] for one in row}) > 1 or None in (one["sqnr_db"] for one in row):
        return ""  # those that lose elements have no better ratio for it
    best, *others = sorted(range(len(ways)), key=lambda i: (-row[i]["sqnr_db"], ways[i].bits))
    fewer = [i for i in others if ways[i].bits < ways[best].bits]
    if not others:
        return ""
    beside = (fewer or others)[0]
    gain = row[best]["sqnr_db"] - row[beside]["sqnr_db"]
    more = ways[best].bits - ways[beside].bits
    how = "as good as" if f"{gain:.1f}" == "0.0" else f"{gain:.1f} dB better than"
    cost = f"for {more:g} bits more" if more > 0 else f"with {-more:g} bits fewer"
    both = ways[best], ways[beside]
    formats, names = [one.format.name for one in both], [printable(one.name) for one in both]
    last = ""
    if names[0] == names[1]:
        shown, several = formats, len({one.name for one in ways}) > 1
        last = f", both by {names[0]}" if several else ""
    elif len({one.format.name for one in ways}) == 1:
        shown = names
    else:
        shown = [f"{one} by {name}" for one, name in zip(formats, names, strict=True)]
    return f"{shown[0]} is {how} {shown[1]} {cost if more else 'for as many bits'}{last}"


def _title(about: Mapping[str, Any]) -> str:
    return printable(f"{about['name']}  {about['shape']} {about['dtype']}")


def _cells(names: Sequence[str], figures: Mapping[str, Any], marks: Mapping[str, str]) -> list[str]:
    own = defined_figures(figures)
    return [text(own[name]) + marks.get(name, "") for name in names]


def _ratios(
    ways: Sequence[Way], tensors: Sequence[_Tensor]
) -> Iterator[tuple[Mapping[str, Any], list[str]]]:
    """Each tensor with its ratio in each way, in two places."""
    for about, row in tensors:
        ratios = (one["sqnr_db"] for one in row)
        shown = ("-" if one is None else f"{one:.2f}" for one in ratios)
        marks = (one.get("sqnr_db", "") for one in _marks(ways, row))
        yield about, [one + mark for one, mark in zip(shown, marks, strict=True)]


def print_page(
    options: argparse.Namespace,
    ways: Sequence[Way],
    tensors: Sequence[_Tensor],
    skipped: Iterable[Mapping[str, str]],
    totals: Sequence[Mapping[str, Any]],
    errors: Sequence[Spread | None],
) -> None:
    """Write the page: a row for each way, then a row for each tensor.

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

    head = ("", "way", "bits", *columns)
    rows = [
        [str(i), name, f"{way.bits:g}", *_cells(columns, one, marks)]
        for i, (name, way, one, marks) in enumerate(
            zip(names, ways, totals, _marks(ways, totals), strict=True), 1
        )
    ]
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[str]]]] = {"All tensors": (head, rows)}
    rows = [
        [*(str(about[key]) for key in ("name", "shape", "dtype")), *cells]
        for about, cells in _ratios(ways, tensors)
    ]
    numbers = [str(i + 1) for i in range(len(ways))]
    tables["Each tensor: sqnr_db by way"] = (("name", "shape", "dtype", *numbers), rows)
    by_way = zip(*(row for _, row in tensors), strict=True)
    write_quantize_page(
        options.html,
        str(options.file),
        tables=tables,
        ratios={
            name: [one["sqnr_db"] for one in row] for name, row in zip(names, by_way, strict=True)
        },
        sentence=in_short(ways, totals),
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
        "in_short": in_short(ways, totals),
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
