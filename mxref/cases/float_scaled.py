"""Blocks under float32 scales: largest magnitudes where the choices part, elements at thresholds.

M is the largest element, a the largest magnitude of a block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, FloatLayout, Parts, compose, split
from mxref.cases.grid import grid
from mxref.formats.catalog import BlockFormat
from mxref.operands.draws import Draws, Ints, Words

__all__ = ["FLOAT_SCALES", "drawn_float_scaled", "largest_magnitudes", "under_largest"]

#: The floors of a; 1/512 of it is where a floor of the scale begins.
_FLOORS = {"1e_4": 1e-4, "1e_10": 1e-10, "1e_12": 1e-12, "512th": 2.0**-9}
#: Ulps above a power of two: logarithms in float32 do not see the last of them, or see the first.
_ULPS = {"below": -1, "at": 0, "above": 1, "12_above": 12, "40_above": 40}
#: Numbers by which quotient, reciprocal and product with the reciprocal differ.
_PLAIN = (1.0, 1.1, 1.3, 1.7, 1.9, 3.3, 7.0, 13.0, 93.1, 1000.0)
#: Scales that are asked with every code: ends of float32, of its powers, and any.
FLOAT_SCALES = (
    *(0x00000000, 0x00000001, 0x00000003, 0x007FFFFF, 0x00800000, 0x0D800001, 0x33800000),
    *(0x3C924925, 0x3B124925, 0x3E4CCCCD, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x40490FDB),
    *(0x43800000, 0x477FE000, 0x6F7FFFFF, 0x7E800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000),
)
#: Steps of the turns through the thresholds: by block, and by element.
_BY_BLOCK, _BY_ELEMENT = 37, 5
#: Bits of a quotient beyond those of its numerator.
_MORE = 20


def largest_magnitudes(fmt: BlockFormat, layout: FloatLayout) -> Iterator[tuple[str, int]]:
    """Names and patterns of finite largest magnitudes, each once.

    >>> from mxref.bits.floats import F32
    >>> from mxref.formats.catalog import block_format
    >>> hex(dict(largest_magnitudes(block_format("fp8_e4m3_f32"), F32))["m_at"])
    '0x43e00000'
    """
    m = fmt.element.max_normal
    named: list[tuple[str, float, int]] = [("zero", 0.0, 0)]
    for name, floor in _FLOORS.items():
        named += [(f"floor_{name}_{side}", floor, _ULPS[side]) for side in ("below", "at", "above")]
    named.append(("floor_1e_4_half", 5e-5, 0))
    for number, sides in ((m, [*_ULPS]), (math.ldexp(m, -9), ["below", "at", "above"])):
        part = "m" if number == m else "m_512th"
        named += [(f"{part}_{side}", number, _ULPS[side]) for side in sides]
    named += [(f"plain_{i:02}", number, 0) for i, number in enumerate(_PLAIN)]
    named += [(f"small_{i}", number * 2.0**-23, i % 2) for i, number in enumerate(_PLAIN[:4])]
    top = layout.inf_bits - 1
    seen: set[int] = set()
    for name, number, step in named:
        bits = int(_patterns(np.array([number], np.float64), layout)[0]) + step
        if 0 <= bits <= top and bits not in seen:
            seen.add(bits)
            yield name, bits
    ends = {"least": 1, "subnormal": 77, "last_subnormal": (1 << layout.mantissa_bits) - 1}
    ends |= {"least_normal": 1 << layout.mantissa_bits, "largest": top}
    yield from ((name, bits) for name, bits in ends.items() if bits not in seen)


def under_largest(
    fmt: BlockFormat,
    layout: FloatLayout,
    largest: Sequence[int] | Ints,
    lanes: Sequence[int] | Ints,
    turns: Sequence[int] | Ints,
) -> Words:
    """Blocks with these largest magnitudes, the other elements at thresholds or a float beside.

    Args:
        fmt: the format.
        layout: the float type.
        largest: the patterns of the largest magnitudes; specials as they are.
        lanes: where they are.
        turns: a number for each block, by which thresholds, signs and sides go on.
    """
    size, m = fmt.elements_per_block, fmt.element.max_normal
    sign = np.uint64(layout.sign_bit)
    whole, turn = np.asarray(largest, np.uint64)[:, np.newaxis], np.asarray(turns)[:, np.newaxis]
    top = (whole & (sign - np.uint64(1))).astype(np.int64)
    numbers, middles = grid(fmt.element, F64)
    points = np.array([*middles[:-1], *numbers[1:-1]], np.uint64).view(np.float64)
    finite = top < layout.inf_bits
    element = np.arange(size)
    some = points[(turn * _BY_BLOCK + element * _BY_ELEMENT) % len(points)]
    usual = _patterns(np.array([m], np.float64), layout).astype(np.int64)
    bits = _shares(np.where(finite, top, usual), layout, some, fmt)
    bits = np.where(bits > 0, np.maximum(bits + (turn + element) % 3 - 1, 0), 0)
    words = np.minimum(bits, np.where(finite, top, layout.inf_bits - 1)).astype(np.uint64)
    words[:, -1] = 0
    at = np.asarray(lanes)[:, np.newaxis]
    np.put_along_axis(words, at, whole, axis=1)
    negative = (turn + element * 3 // 2) % 2 == 1
    np.put_along_axis(negative, at, turn // 2 % 2 == 1, axis=1)
    return np.asarray(words ^ np.where(negative, sign, np.uint64(0)), np.uint64)


def drawn_float_scaled(draws: Draws, fmt: BlockFormat, layout: FloatLayout, count: int) -> Words:
    """Blocks whose largest magnitude is designed, near one that is, of any size, or special."""
    some = np.array([bits for _, bits in largest_magnitudes(fmt, layout)])
    near = some[draws.below((count,), len(some))] + draws.below((count,), 5) - 2
    any_at_all = draws.below((count,), layout.inf_bits)
    usual = (layout.bias - 8 + draws.below((count,), 16) << layout.mantissa_bits) | draws.below(
        (count,), 1 << layout.mantissa_bits
    )
    kind = draws.below((count,), 16)
    largest = np.select([kind < 4, kind < 6], [near, any_at_all], usual)
    largest = np.clip(largest, 0, layout.inf_bits - 1)
    special = np.where(draws.one_in((count,), 2), layout.inf_bits, layout.nan_bits)
    largest = np.where(kind == 15, special, largest)
    lanes = draws.below((count,), fmt.elements_per_block)
    words = under_largest(fmt, layout, largest, lanes, draws.below((count,), 1 << 20))
    zeros = draws.one_in((count, fmt.elements_per_block), 16) & (draws.below((count, 1), 8) == 0)
    return np.where(zeros, np.uint64(0), words)


def _shares(
    top: NDArray[np.int64], layout: FloatLayout, points: NDArray[np.float64], fmt: BlockFormat
) -> NDArray[np.int64]:
    """Patterns of a point times a / M, by integers alone: of 24 bits of a, rounded once."""
    parts, down = split(top.astype(layout.uint), layout), max(layout.mantissa_bits - 23, 0)
    fraction, exponent = np.frexp(points)
    width, m = fmt.element.mantissa_bits + 2, int(fmt.element.max_normal)
    count, power = np.ldexp(fraction, width).astype(np.int64), m & -m
    whole, rest = np.divmod((parts.significand >> down) * count << _MORE, m // power)
    unit = parts.exponent + down + exponent - width - _MORE - power.bit_length()
    found = Parts.finite(np.zeros(whole.shape, bool), whole << 1 | (rest != 0), unit)
    return compose(found, layout).astype(np.int64)


def _patterns(numbers: NDArray[np.float64], layout: FloatLayout) -> NDArray[np.uint64]:
    """Patterns of numbers, rounded to the type by integers alone."""
    parts = split(np.ascontiguousarray(numbers).view(np.uint64), F64)
    return compose(parts, layout).astype(np.uint64)
