"""Cases of stochastic rounding: a number, random bits, and their width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.grid import grid
from mxref.cases.records import VectorFile
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat
from mxref.golden.case_inputs import CaseInput
from mxref.golden.layout_cases import file_of

__all__ = ["stochastic_tasks"]

#: Widths of the random bits: of software, and of hardware that shares them between two elements.
_WIDTHS = (8, 16)
_COLUMNS = tuple(f"ocp+rounding=stochastic_{variant}" for variant in "abc")


def stochastic_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of stochastic rounding."""
    for fmt in ELEMENT_FORMATS.values():
        for name in ("f32", "bf16"):
            yield partial(_encode, fmt, LAYOUTS[name])


def _encode(fmt: ElementFormat, layout: FloatLayout) -> VectorFile:
    entries = {}
    for index, (magnitude, eighths, flags) in enumerate(_numbers(fmt, layout)):
        bits = magnitude | layout.sign_bit * (index % 2)
        for width in _WIDTHS:
            top = 1 << width
            first = top - eighths * top // 8  # the smallest random bits that carry
            for draw in sorted({0, first - 1, min(first, top - 1), top - 1}):
                name = f"{bits:0{layout.width // 4}x}_{draw:x}_{width}"
                entries[name] = CaseInput(name, (bits, draw, width), "M15", flags)
    return file_of(
        "encode_stochastic", fmt.name, layout.name, _COLUMNS, (8, 2), list(entries.values()), "N18"
    )


def _numbers(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Magnitudes above some numbers of the format, each with its distance in eighths of a unit."""
    numbers, middles = grid(fmt, layout)
    one = 1 << fmt.mantissa_bits
    for code in sorted({0, 1, one - 1, one, 2 * one - 1, fmt.max_code - 1, fmt.max_code}):
        low, middle = numbers[code], middles[code]
        half = middle - low
        flags: tuple[str, ...] = ()
        if code < one and not fmt.twos_complement:
            flags = ("subnormal",)
        if code == fmt.max_code:
            flags = ("overflow",)
        yield low, 0, flags
        if code == 0:  # patterns are not evenly spaced above zero
            octave = 1 << layout.mantissa_bits
            yield middle - 12 * octave, 0, flags
            points = [(middle - 2 * octave, 1), (middle - octave, 2)]
        else:
            points = [(low + 1, 0), (low + half // 4, 1), (low + half // 2, 2)]
            # Decided by the last random bit.
            points += [(low + (half >> width - 1), 0) for width in _WIDTHS if half >> width - 1]
        yield from ((point, n, flags) for point, n in points)
        yield from ((middle + step, 4, flags) for step in (-1, 0, 1))
