"""Coverage models: the inputs of the vectors, each as a pure function of formats and float types.

Inputs are bit patterns; `MODELS` in `mxref.cases.words` says why each model exists. Everything is
derived from the formats, nothing is random.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from mxref.bits.floats import BF16, F64, FloatLayout
from mxref.cases.grid import grid, held_grid, pattern
from mxref.formats.catalog import E8M0, CodeFormat, ElementFormat
from mxref.golden.thresholds import tables
from mxref.policy.scale_rule import ScaleRule

__all__ = [
    "around",
    "encode_inputs",
    "encode_scale_inputs",
    "other_encode_inputs",
    "pattern_at",
    "shared_scale_inputs",
    "walking_sticky",
]


def encode_inputs(fmt: ElementFormat, layout: FloatLayout) -> dict[int, str]:
    """Inputs of `encode` in order of their patterns, each with the first model that has it."""
    numbers, middles = grid(fmt, layout)
    found: dict[int, str] = {}
    _add(found, "M1", _special_magnitudes(layout), layout)
    _add(found, "M4", around((numbers[-1], middles[-1]), 3), layout)
    smallest = (middles[0], numbers[1], numbers[1 << fmt.mantissa_bits])
    _add(found, "M5", around(smallest, 3), layout)
    _add(found, "M7", _sides(fmt, layout), layout)
    _add(found, "M6", walking_sticky(fmt, middles, layout), layout)
    _add(found, "M14", _ladder(layout), layout)
    return dict(sorted(found.items()))


def other_encode_inputs(fmt: CodeFormat, layout: FloatLayout) -> dict[int, str]:
    """Inputs of `encode` of a format beside those of MX: fewer than `encode_inputs`.

    Both sides of every step of every rounding, with signs that alternate from point to point (all
    positive for a format without a sign). Specials, and the points next to both ends of the format,
    have both signs.
    """
    numbers, middles = held_grid(fmt, layout)
    found: dict[int, str] = {}
    _add(found, "M1", _special_magnitudes(layout), layout)
    beyond = 2 * middles[-1] - numbers[-1]  # the number that would be next
    _add(found, "M4", around((numbers[-1], middles[-1], beyond), 3), layout)
    smallest = (middles[0], numbers[1], numbers[1 << fmt.mantissa_bits])
    _add(found, "M5", around(smallest, 3), layout)
    for i, bits in enumerate(around((*numbers[1:], *middles), 1)):
        if 0 <= bits < layout.sign_bit:
            found.setdefault(bits | layout.sign_bit * (fmt.signed and i // 3 % 2), "M23")
    return dict(sorted(found.items()))


def encode_scale_inputs(layout: FloatLayout) -> dict[int, str]:
    """Inputs of `encode_scale`, each with its model."""
    found: dict[int, str] = {}
    _add(found, "M1", _special_magnitudes(layout), layout)
    for field in _scale_fields(layout):
        points = (pattern_at(field, 128, layout), pattern_at(field, 192, layout))
        _add(found, "M8", around(points, 1), layout, signs=layout != F64 or field % 16 == 0)
    for field in list(_scale_fields(layout))[::8]:
        _add(found, "M8", around([pattern_at(field, 182, layout)], 1), layout, signs=False)
    powers = _subnormal_powers(layout)
    ties = [3 * n >> 1 for n in powers[1:]]
    _add(found, "M8", around([*powers, *ties], 1), layout, signs=layout != F64)
    return dict(sorted(found.items()))


def shared_scale_inputs(layout: FloatLayout, fmt: ElementFormat) -> dict[int, str]:
    """Inputs of `shared_scale`, each with its model: magnitudes only."""
    found: dict[int, str] = {}
    _add(found, "M1", _special_magnitudes(layout), layout, signs=False)
    fields = list(_scale_fields(layout))
    for field in fields[:: 4 if layout == BF16 else 1]:  # bfloat16 is part of float32
        _add(found, "M8", around([pattern_at(field, 128, layout)], 1), layout, signs=False)
    # Every subnormal float64 is far below the smallest scale.
    powers = _subnormal_powers(layout)[:: 8 if layout == F64 else 1]
    _add(found, "M8", around(powers, 1), layout, signs=False)
    # For each rule the first significand that is too large, where its scale goes up.
    rules = (rule for rule in ScaleRule if not rule.is_quirk)
    firsts = [rule.limit(fmt).threshold(layout.mantissa_bits)[1] for rule in rules]
    for field in fields[:: len(fields) // 12]:
        steps = [(field - 1 << layout.mantissa_bits) + first for first in firsts]
        _add(found, "M8", around(steps, 1), layout, signs=False)
    # 64 significands, in several binades, find steps that no known rule has.
    some = [pattern(64 + i, i * 13 % 29 - 14 - 6, layout) for i in range(64)]
    _add(found, "M8", some, layout, signs=False)
    # The largest number times 2**-127, above which RCEIL leaves the scale 2**-127.
    n, exponent = fmt.magnitude_parts(fmt.max_code)
    with contextlib.suppress(ValueError):  # too small for float16
        lowest = pattern(n, exponent - E8M0.bias, layout)
        _add(found, "M8", around([lowest], 1), layout, signs=False)
    return dict(sorted(found.items()))


def _add(
    found: dict[int, str],
    model: str,
    magnitudes: Iterable[int],
    layout: FloatLayout,
    *,
    signs: bool = True,
) -> None:
    for magnitude in magnitudes:
        if 0 <= magnitude < layout.sign_bit:
            found.setdefault(magnitude, model)
            if signs:
                found.setdefault(magnitude | layout.sign_bit, model)


def _sides(fmt: ElementFormat, layout: FloatLayout) -> set[int]:
    """Both sides of every step of the threshold table."""
    steps = (step for table in tables(fmt, layout) for step, _ in table.all_steps())
    return {pattern for step in steps for pattern in (step - 1, step)}


def around(points: Iterable[int], distance: int) -> Iterator[int]:
    """The patterns up to a distance from each point."""
    for point in points:
        yield from range(point - distance, point + distance + 1)


def _special_magnitudes(layout: FloatLayout) -> list[int]:
    m, inf = layout.mantissa_bits, layout.inf_bits
    top = layout.sign_bit - 1
    # Zero, the ends of the subnormals and normals, infinity, quiet and signalling NaNs.
    return [0, 1, 2, (1 << m) - 1, 1 << m, inf - 1, inf, inf + 1, layout.nan_bits, top]


def walking_sticky(fmt: CodeFormat, middles: list[int], layout: FloatLayout) -> Iterator[int]:
    """Three ties with one lower bit set, for each such bit."""
    one = 1 << fmt.mantissa_bits
    for tie in (middles[one], middles[one + 1], middles[0]):  # even below, odd below, subnormal
        low_bits = layout.mantissa_bits if tie == middles[0] else (tie & -tie).bit_length() - 1
        yield from (tie | 1 << bit for bit in range(low_bits))


def _fields(layout: FloatLayout) -> Iterator[int]:
    """Exponent fields of the ladder: all; of float64 two periods of a 64-bit shift and some."""
    for field in range(1, (1 << layout.exponent_bits) - 1):
        near = layout != F64 or -128 <= field - layout.bias <= 32
        if near or field % 64 == 0 or field in (1, 2, 2045, 2046):
            yield field


def _scale_fields(layout: FloatLayout) -> Iterator[int]:
    """Exponent fields for scales: all; of float64 those in E8M0's range and every 64th."""
    for field in range(1, (1 << layout.exponent_bits) - 1):
        near = layout != F64 or -145 <= field - layout.bias <= 145
        if near or field % 64 == 0 or field in (1, 2, 2045, 2046):
            yield field


def _ladder(layout: FloatLayout) -> Iterator[int]:
    last = (1 << layout.mantissa_bits) - 1
    for field in (0, *_fields(layout)):
        for fraction in (0, last // 2 + 1, last):
            yield field << layout.mantissa_bits | fraction


def pattern_at(field: int, significand_128ths: int, layout: FloatLayout) -> int:
    """Pattern with this exponent field and this significand, in 128ths from 128 to 255."""
    fraction = (significand_128ths - 128) << layout.mantissa_bits >> 7
    return field << layout.mantissa_bits | fraction


def _subnormal_powers(layout: FloatLayout) -> list[int]:
    return [1 << bit for bit in range(layout.mantissa_bits)]
