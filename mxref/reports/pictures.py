"""Pictures of formats, roundings, errors, scale rules and a block: what ``mxref plot`` draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.blocks.container import Blocks
from mxref.blocks.quantization import quantize
from mxref.formats.catalog import ELEMENT_FORMATS, BlockFormat, ElementFormat, block_format
from mxref.numbers.element import decode, encode
from mxref.reports.drawing import BACK, COLOURS, FAINT, INK, RIGHT, WRONG, drawing, png, svg
from mxref.support.decibels import SumOfSquares, decibels

__all__ = ["BLOCK", "PICTURES", "Picture", "above", "drawn"]

#: The formats of OCP MX v1.0, the widest range first.
_FORMATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
_ROUNDINGS = ("ties_to_even", "ties_to_away", "toward_zero", "toward_positive")
_RULES = ("floor", "ceil", "rceil", "even", "tosa", "nearest")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
#: Numbers like those of a row of weights: many small ones and a few far from zero.
BLOCK = (
    0.0132, -0.0417, 0.0071, 0.0266, -0.0189, 0.0623, -0.0054, 0.0348, -0.0911, 0.0017, 0.0205,
    -0.0302, 0.0479, -0.0126, 0.0093, 0.1406, -0.0238, 0.0561, -0.0035, -0.0714, 0.0158, 0.0387,
    -0.0082, 0.0294, -0.0453, 0.0110, 0.0226, -0.1183, 0.0049, -0.0167, 0.0335, 0.0784,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that ``mxref plot`` draws.

    Args:
        about: what it shows.
        draw: draws it on a figure, for a block format and a block.
        size: width and height in points.
        format: the default block format; None if the picture shows all formats.
    """

    about: str
    draw: Callable[[Any, BlockFormat, NDArray[np.float32]], None]
    size: tuple[float, float]
    format: str | None


def drawn(
    name: str,
    kind: str,
    format: str | None = None,
    block: Sequence[float] | NDArray[np.float32] = BLOCK,
) -> bytes:
    """A picture as a file.

    Args:
        name: one of `PICTURES`.
        kind: ``svg`` or ``png``.
        format: the block format; None for that of the picture.
        block: the numbers of the block, of any length, for the picture that shows one.

    Raises:
        ValueError: matplotlib is not installed, the format is no block format with E8M0 scales, or
            the block has no number other than zero, or one that is infinite or NaN.

    >>> drawn("formats", "svg")[:5]
    b'<?xml'
    """
    picture = PICTURES[name]
    fmt = block_format(format or picture.format or "mxfp4_e2m1")
    if fmt.scale.name != "e8m0":
        got = f"got {fmt.name}, whose scales are {fmt.scale.name}"
        raise ValueError(f"format must be a block format with E8M0 scales, {got}")
    numbers = np.asarray(block, np.float32).reshape(-1)
    if not np.isfinite(numbers).all() or not numbers.any():
        raise ValueError("block must hold finite numbers, not all of them zero")
    with drawing(*picture.size) as figure:
        picture.draw(figure, fmt, numbers)
        return svg(figure).encode("utf-8") if kind == "svg" else png(figure)


def _formats(figure: Any, _: BlockFormat, __: NDArray[np.float32]) -> None:
    """The positive numbers of every format on one axis of powers of two."""
    axes = figure.subplots()
    for row, name in enumerate(_FORMATS[::-1]):
        fmt = ELEMENT_FORMATS[name]
        values = _positive(fmt)
        for some, colour in (
            ([v for v in values if v >= fmt.min_normal], RIGHT),
            ([v for v in values if v < fmt.min_normal], COLOURS[1]),
        ):
            # With NaN as gaps all strokes of a colour are one path.
            x = [each for value in some for each in (*[math.log2(value)] * 2, math.nan)]
            y = [each for _ in some for each in (row - 0.3, row + 0.3, math.nan)]
            axes.plot(x, y, "-", color=colour, lw=0.9, label=_NORMAL[colour] if not row else None)
        largest = f"max {fmt.max_normal:.6g}"
        axes.text(math.log2(values[-1]) + 0.3, row, largest, va="center", fontsize=9)
    axes.set_yticks(range(len(_FORMATS)), [name.upper() for name in _FORMATS[::-1]])
    axes.set_xlim(-17, 20)
    axes.set_xticks(range(-16, 17, 4), [_power(k) for k in range(-16, 17, 4)])
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("positive numbers of each format")
    above(axes)


_NORMAL = {RIGHT: "normal", COLOURS[1]: "subnormal"}


def _positive(fmt: ElementFormat) -> list[float]:
    """The positive numbers of a format in order."""
    values = (fmt.value(code) for code in range(fmt.max_code + 1))
    return [value for value in values if value > 0]


def _power(exponent: int) -> str:
    """A power of two as text: 2^3, or a number where it is short.

    >>> _power(-4), _power(3)
    ('2^-4', '8')
    """
    return str(2**exponent) if 0 <= exponent <= 4 else f"2^{exponent}"


def _roundings(figure: Any, fmt: BlockFormat, _: NDArray[np.float32]) -> None:
    """Rounded numbers over numbers, with each threshold, under four roundings."""
    element = fmt.element
    values = [0.0, *_positive(element)][:8]
    unit = min(values[1:]) if values[1] < 0.25 else 1.0
    signed = [-value for value in values[:0:-1]] + values
    labels = _spaced(values)
    panels = figure.subplots(2, 2, sharex=True, sharey=True).flat
    for axes, rounding in zip(panels, _ROUNDINGS, strict=True):
        policy = f"ocp+rounding={rounding}"
        for low, high in pairwise(signed):
            edges = [low, (low + high) / 2, high]
            at = _rounded(edges, element, policy)
            for left, right in ((0, 1), (1, 2)):
                inside = _rounded([(edges[left] + edges[right]) / 2], element, policy)[0]
                axes.plot([edges[left], edges[right]], [inside] * 2, "-", color=RIGHT, lw=1.5)
                for end in (left, right):  # whether the end of a step belongs to it
                    if (low < edges[end] < high) != rounding.startswith("toward"):
                        fill = RIGHT if at[end] == inside else BACK
                        above_line = 3 if fill == RIGHT else 2.5
                        axes.plot(
                            edges[end], inside, "o", mfc=fill, color=RIGHT, ms=3, zorder=above_line
                        )
        axes.set_title(rounding, loc="left")
        axes.set_xlim(-values[-1], values[-1])
        axes.set_aspect("equal")
        for set_ticks in (axes.set_xticks, axes.set_yticks):
            set_ticks(signed, [f"{v / unit:g}" if abs(v) in labels else "" for v in signed])
    small = "" if unit == 1 else f", in units of {_power(math.frexp(unit)[1] - 1)}"
    text = f"number{small}; the grid has those of {element.name.upper()}"
    figure.supxlabel(text, fontsize=10)
    figure.supylabel("rounded; a full dot belongs to its step", fontsize=10)


def _rounded(values: Sequence[float], fmt: ElementFormat, policy: str) -> list[float]:
    """Numbers rounded to a format."""
    codes = encode(np.asarray(values, np.float64), fmt, policy)
    return [float(value) for value in decode(codes, fmt, dtype=np.float64)]


def _spaced(values: Sequence[float]) -> list[float]:
    """The ascending numbers without those too near to another for a label of their own.

    >>> _spaced([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    [6, 4, 3, 2, 1, 0]
    """
    found: list[float] = []
    for value in reversed(values):
        if not found or (found[-1] - value) * 7 >= values[-1]:
            found.append(value)
    return found if found[-1] == values[0] else [*found[:-1], values[0]]


def _errors(figure: Any, _: BlockFormat, __: NDArray[np.float32]) -> None:
    """The largest relative error in each binade, for all formats."""
    axes = figure.subplots()
    first, last, dense = -17, 16, 1024
    # These include every midpoint of every format.
    significands = 1 + np.arange(dense) / dense
    for name, colour, dash in zip(_FORMATS, COLOURS, _DASHES, strict=True):
        fmt = ELEMENT_FORMATS[name]
        errors = []
        for exponent in range(first, last):
            x = significands * 2.0**exponent
            x = x[x <= fmt.max_normal]
            got = decode(encode(x, fmt), fmt, dtype=np.float64)
            error = float((np.abs(got - x) / x).max(initial=0.0))
            errors.append(math.log2(error) if error else math.nan)
        edges = range(first, last + 1)
        label = name.upper()
        axes.stairs(errors, edges, baseline=None, color=colour, linestyle=dash, lw=1.4, label=label)
    axes.set_xticks(range(-16, 17, 4), [_power(k) for k in range(-16, 17, 4)])
    axes.set_yticks(range(-8, 1, 2), [_power(k) for k in range(-8, 1, 2)])
    axes.set_ylim(-8.4, 0.4)
    axes.set_xlabel("number, without a scale")
    axes.set_ylabel("largest relative error")
    above(axes, 6)


def _rules(figure: Any, fmt: BlockFormat, _: NDArray[np.float32]) -> None:
    """The scale that each rule chooses over one binade of amax, and the error that it makes."""
    top, below = figure.subplots(2, sharex=True, height_ratios=(1, 1.2))
    count, blocks = 256, 4
    amax = 1 + (np.arange(count) + 0.5) / count
    within = 32 * blocks
    # Several blocks for each amax: it comes first, the others are spread evenly below it.
    rest = (np.arange(within) * 0.6180339887 % 1.0) * 2 - 1
    shape = np.where(np.arange(within) % 32 == 0, 1.0, rest)
    values = amax[:, np.newaxis] * shape
    for row, (rule, colour, dash) in enumerate(zip(_RULES, COLOURS, _DASHES, strict=True)):
        result = quantize(values, fmt, f"ocp+scale_rule={rule}")
        exponents = result.scale_codes[:, 0].astype(np.int64) - 127 + fmt.element.emax
        place = len(_RULES) - row
        for k in (-1, 0, 1):
            if (some := amax[exponents == k]).size:
                ends = some[0] - 0.5 / count, some[-1] + 0.5 / count
                width, ink = (5.0, colour) if k else (2.0, FAINT)
                top.plot(ends, [place] * 2, color=ink, lw=width, solid_capstyle="butt")
                if ends[1] - ends[0] > 0.08:
                    text = {-1: "2^(k-1)", 0: "2^k", 1: "2^(k+1)"}[k]
                    top.text(
                        sum(ends) / 2, place + 0.12, text, ha="center", va="bottom", fontsize=8
                    )
        error = result.dequantize(np.float64) - values
        noise = (error * error).sum(axis=1) / (values * values).sum(axis=1)
        ratio = [-10 * math.log10(each) for each in noise.tolist()]
        below.plot(amax, ratio, color=colour, linestyle=dash, lw=1.3, label=rule)
    top.set_yticks(range(len(_RULES), 0, -1), _RULES)
    top.set_ylim(0.6, len(_RULES) + 0.8)
    top.grid(visible=False, axis="y")
    top.set_title(f"{fmt.name}: the scale that each rule chooses", loc="left")
    below.set_xlabel(f"amax, in units of 2^(k+{fmt.element.emax})")
    below.set_ylabel("SQNR, dB")
    below.set_xlim(1, 2)
    above(below, 6)


def _block(figure: Any, fmt: BlockFormat, block: NDArray[np.float32]) -> None:
    """A block, and what becomes of it under each rule."""
    results: dict[tuple[bytes, bytes], tuple[list[str], Blocks]] = {}
    for rule in _RULES:
        result = quantize(block, fmt, f"ocp+scale_rule={rule}")
        key = result.scale_codes.tobytes(), result.codes.tobytes()
        results.setdefault(key, ([], result))[0].append(rule)
    panels = figure.subplots(len(results), sharex=True, sharey=True, squeeze=False)[:, 0]
    lanes = np.arange(block.size)
    for axes, (rules, result) in zip(panels, results.values(), strict=True):
        got = result.dequantize(np.float64)
        signal, noise = SumOfSquares(), SumOfSquares()
        signal.add(block.astype(np.float64))
        noise.add(got - block)
        ratio = decibels(signal.total, noise.total)
        axes.vlines(lanes, block, got, color=WRONG, lw=1.6)
        axes.plot(lanes, block, "_", color=INK, ms=7, label="number")
        axes.plot(lanes, got, "o", color=RIGHT, ms=3, label="quantized")
        said = "no error" if ratio is None else f"{ratio:.2f} dB"
        scale = ", ".join(f"2^{code - 127}" for code in result.scale_codes.reshape(-1).tolist()[:2])
        axes.set_title(f"{', '.join(rules)}: scale {scale}, {said}", loc="left")
    panels[-1].set_xlabel(f"lane of the block, {fmt.name}; strokes are errors")
    panels[0].legend(loc="lower right", ncols=2, bbox_to_anchor=(1, 1), borderaxespad=0.2)


def above(axes: Any, columns: int = 3) -> None:
    """Put the legend above the axes, where it hides nothing.

    Args:
        axes: the axes, whose series have labels.
        columns: entries in a line.
    """
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=columns,
        borderaxespad=0.3,
        columnspacing=1.2,
        handlelength=1.8,
    )


#: The pictures by name.
PICTURES: Mapping[str, Picture] = {
    "formats": Picture("number lines of all element formats", _formats, (620, 260), None),
    "roundings": Picture("numbers after four roundings", _roundings, (520, 520), "mxfp4_e2m1"),
    "errors": Picture("relative error over binades, all formats", _errors, (620, 280), None),
    "rules": Picture("scale rules over a binade of amax", _rules, (620, 440), "mxfp4_e2m1"),
    "block": Picture("a block under each scale rule", _block, (620, 520), "mxfp4_e2m1"),
}
