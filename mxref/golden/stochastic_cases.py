"""Cases of stochastic rounding: a number, random bits, and their width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.grid import grid
from mxref.cases.records import Case, VectorFile
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
    for index, (magnitude, eighths) in enumerate(_numbers(fmt, layout)):
        bits = magnitude | layout.sign_bit * (index % 2)
        for width in _WIDTHS:
            top = 1 << width
            first = top - eighths * top // 8  # the smallest random bits that carry
            for draw in sorted({0, first - 1, min(first, top - 1), top - 1}):
                name = f"{bits:0{layout.width // 4}x}_{draw:x}_{width}"
                entries[name] = CaseInput(name, (bits, draw, width), "M15")
    file = file_of(
        "encode_stochastic", fmt.name, layout.name, _COLUMNS, (8, 2), list(entries.values()), "N18"
    )
    return replace(
        file, cases=tuple(replace(case, flags=_flags(case, fmt, layout)) for case in file.cases)
    )


def _flags(case: Case, fmt: ElementFormat, layout: FloatLayout) -> tuple[str, ...]:
    """Whether the first answer is a subnormal number, and whether it was rounded past the largest.

    There the patterns of the largest number and the midpoint behind it are evenly spaced.
    """
    bits, draw, width = case.inputs
    numbers, middles = grid(fmt, layout)
    beyond, half = (bits & layout.sign_bit - 1) - numbers[-1], middles[-1] - numbers[-1]
    if beyond > 0 and (beyond << width) // (2 * half) + draw >= 1 << width:
        return ("overflow",)
    _, code = fmt.sign_and_magnitude(case.output(0)[0])
    is_subnormal = 0 < code < 1 << fmt.mantissa_bits and not fmt.twos_complement
    return ("subnormal",) if is_subnormal else ()


def _numbers(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[int, int]]:
    """Magnitudes above some numbers of the format, each with its distance in eighths of a unit."""
    numbers, middles = grid(fmt, layout)
    one = 1 << fmt.mantissa_bits
    for code in sorted({0, 1, one - 1, one, 2 * one - 1, fmt.max_code - 1, fmt.max_code}):
        low, middle = numbers[code], middles[code]
        half = middle - low
        yield low, 0
        if code == 0:  # patterns are not evenly spaced above zero
            octave = 1 << layout.mantissa_bits
            yield middle - 12 * octave, 0
            points = [(middle - 2 * octave, 1), (middle - octave, 2)]
        else:
            points = [(low + 1, 0), (low + half // 4, 1), (low + half // 2, 2)]
            # Decided by the last random bit.
            points += [(low + (half >> width - 1), 0) for width in _WIDTHS if half >> width - 1]
        yield from points
        yield from ((middle + step, 4) for step in (-1, 0, 1))
