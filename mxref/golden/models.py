"""Coverage models: the inputs of the vectors, each as a pure function of formats and float types.

Inputs are bit patterns; `MODELS` in `mxref.cases.words` says why each model exists. Everything is
derived from the formats, nothing is random.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import numpy as np

from mxref.bits.floats import BF16, F32, FloatLayout, split
from mxref.cases.grid import grid, pattern
from mxref.formats.catalog import E8M0, CodeFormat, ElementFormat
from mxref.golden.thresholds import tables
from mxref.policy.scale_rule import ScaleRule

__all__ = [
    "block_inputs",
    "encode_inputs",
    "encode_scale_inputs",
    "shared_scale_inputs",
]


def encode_inputs(fmt: ElementFormat, layout: FloatLayout) -> dict[int, str]:
    """Inputs of `encode` in order of their patterns, each with the first model that has it."""
    numbers, middles = grid(fmt, layout)
    found: dict[int, str] = {}
    _add(found, "M1", _special_magnitudes(layout), layout)
    _add(found, "M4", _around((numbers[-1], middles[-1]), 3), layout)
    smallest = (middles[0], numbers[1], numbers[1 << fmt.mantissa_bits])
    _add(found, "M5", _around(smallest, 3), layout)
    _add(found, "M7", _sides(fmt, layout), layout)
    _add(found, "M6", _walking_sticky(fmt, middles, layout), layout)
    _add(found, "M14", _ladder(layout), layout)
    return dict(sorted(found.items()))


def encode_scale_inputs(layout: FloatLayout) -> dict[int, str]:
    """Inputs of `encode_scale`, each with its model."""
    found: dict[int, str] = {}
    _add(found, "M1", _special_magnitudes(layout), layout)
    for field in _scale_fields(layout):
        points = (_at(field, 128, layout), _at(field, 192, layout))
        _add(found, "M8", _around(points, 1), layout, signs=layout.width < 64 or field % 16 == 0)
    for field in list(_scale_fields(layout))[::8]:
        _add(found, "M8", _around([_at(field, 182, layout)], 1), layout, signs=False)
    powers = _subnormal_powers(layout)
    ties = [3 * n >> 1 for n in powers[1:]]
    _add(found, "M8", _around([*powers, *ties], 1), layout, signs=layout.width < 64)
    return dict(sorted(found.items()))


def shared_scale_inputs(layout: FloatLayout, fmt: ElementFormat) -> dict[int, str]:
    """Inputs of `shared_scale`, each with its model: magnitudes only."""
    found: dict[int, str] = {}
    _add(found, "M1", _special_magnitudes(layout), layout, signs=False)
    fields = list(_scale_fields(layout))
    for field in fields[:: 4 if layout == BF16 else 1]:  # bfloat16 is part of float32
        _add(found, "M8", _around([_at(field, 128, layout)], 1), layout, signs=False)
    _add(found, "M8", _around(_subnormal_powers(layout), 1), layout, signs=False)
    # The first significand too large for each rule, at which its scale goes up.
    rules = (rule for rule in ScaleRule if not rule.is_quirk)
    firsts = [rule.limit(fmt).threshold(layout.mantissa_bits)[1] for rule in rules]
    for field in fields[:: len(fields) // 12]:
        steps = [(field - 1 << layout.mantissa_bits) + first for first in firsts]
        _add(found, "M8", _around(steps, 1), layout, signs=False)
    # The largest number times 2**-127, above which RCEIL leaves the scale 2**-127.
    n, exponent = fmt.magnitude_parts(fmt.max_code)
    with contextlib.suppress(ValueError):  # too small for float16
        lowest = pattern(n, exponent - E8M0.bias, layout)
        _add(found, "M8", _around([lowest], 1), layout, signs=False)
    return dict(sorted(found.items()))


def block_inputs(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[str, list[int]]]:
    """Named designed blocks of 32 float patterns."""
    sign, inf, nan = layout.sign_bit, layout.inf_bits, layout.nan_bits

    def number(n: int, exponent: int) -> int:
        return pattern(n, exponent, layout)

    yield "zeros", [0] * 32
    yield "negative_zeros", [sign] * 32
    yield "mixed_zeros", [0, sign] * 16
    one = number(1, 0)
    yield "ones", [one] * 32
    yield "alternating", [one, one | sign] * 16
    ramp = [number((-1) ** i * (i + 1), -6) for i in range(32)]
    for position in range(32) if layout == F32 else (0, 15, 16, 31):
        block = list(ramp)
        block[position] = number(-11 if position % 2 else 11, 0)
        yield f"largest_{position:02}", block
    for position in (0, 15, 16, 31):
        for name, special in (
            ("nan", nan),
            ("negative_nan", nan | sign),
            ("signalling_nan", inf | 1),
            ("inf", inf),
            ("negative_inf", inf | sign),
        ):
            block = list(ramp)
            block[position] = special
            yield f"{name}_{position:02}", block
    yield "nan_and_inf", [nan, inf, *ramp[2:]]
    yield "all_nan", [nan] * 32
    yield "zeros_and_nan", [0] * 31 + [nan]

    numbers, middles = grid(fmt, layout)
    points = [bits for bits in (*numbers, *middles[:-1]) if bits < inf]
    # 31 grid points a block and the largest number, so that the scale is 1; then other scales.
    for k in (0, -37, 41) if layout == F32 else (0,):
        for index in range(0, len(points), 31):
            some = [_scaled(bits, k, layout) for bits in points[index : index + 31]]
            signed = [bits | sign * (i % 2) for i, bits in enumerate(some)]
            top = _scaled(numbers[-1], k, layout)
            yield f"grid_{k}_{index // 31:02}", [top, *signed, *[0] * (31 - len(signed))]
    # The grid in other positions, since a kernel has several lanes; FP4 numbers in every position.
    for first in range(0, len(points), max(1, len(points) // 16)):
        some = [points[(first + i) % len(points)] for i in range(31)]
        signed = [bits | sign * ((i + first) % 2) for i, bits in enumerate(some)]
        yield f"turned_{first:03}", [*signed, numbers[-1]]
    for field in _block_fields(layout):
        edge = _at(field, 128, layout)
        for name, amax in (("below", edge - 1), ("at", edge), ("above", edge + 1)):
            block = [max(amax - (i << layout.mantissa_bits - 1), 0) for i in range(32)]
            block[1::2] = [bits | sign for bits in block[1::2]]
            yield f"edge_{field:04}_{name}", block
    largest, smallest_normal = inf - 1, 1 << layout.mantissa_bits
    yield "largest_floats", [largest, largest | sign] * 16
    yield (
        "subnormal_floats",
        [(1 << i % layout.mantissa_bits) | sign * (i % 3 == 0) for i in range(32)],
    )
    yield "largest_subnormals", [smallest_normal - 1, (smallest_normal - 1) | sign] * 16
    yield "smallest_normals", [smallest_normal, (smallest_normal + 1) | sign] * 16
    yield "smallest_subnormals", [1, 1 | sign] * 16
    yield (
        "wide_spread",
        [_at(i * ((1 << layout.exponent_bits) - 2) // 31, 192, layout) for i in range(32)],
    )


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


def _around(points: Iterable[int], distance: int) -> Iterator[int]:
    for point in points:
        yield from range(point - distance, point + distance + 1)


def _special_magnitudes(layout: FloatLayout) -> list[int]:
    m, inf = layout.mantissa_bits, layout.inf_bits
    top = layout.sign_bit - 1
    # Zero, the ends of the subnormals and normals, infinity, quiet and signalling NaNs.
    return [0, 1, 2, (1 << m) - 1, 1 << m, inf - 1, inf, inf + 1, layout.nan_bits, top]


def _walking_sticky(fmt: CodeFormat, middles: list[int], layout: FloatLayout) -> Iterator[int]:
    one = 1 << fmt.mantissa_bits
    for tie in (middles[one], middles[one + 1], middles[0]):  # even below, odd below, subnormal
        low_bits = layout.mantissa_bits if tie == middles[0] else (tie & -tie).bit_length() - 1
        yield from (tie | 1 << bit for bit in range(low_bits))


def _fields(layout: FloatLayout) -> Iterator[int]:
    """Exponent fields of the ladder: all; of float64 two periods of a 64-bit shift and some."""
    for field in range(1, (1 << layout.exponent_bits) - 1):
        near = layout.width < 64 or -128 <= field - layout.bias <= 32
        if near or field % 64 == 0 or field in (1, 2, 2045, 2046):
            yield field


def _scale_fields(layout: FloatLayout) -> Iterator[int]:
    """Exponent fields for scales: all; of float64 those in E8M0's range and every 64th."""
    for field in range(1, (1 << layout.exponent_bits) - 1):
        near = layout.width < 64 or -145 <= field - layout.bias <= 145
        if near or field % 64 == 0 or field in (1, 2, 2045, 2046):
            yield field


def _ladder(layout: FloatLayout) -> Iterator[int]:
    last = (1 << layout.mantissa_bits) - 1
    for field in (0, *_fields(layout)):
        for fraction in (0, last // 2 + 1, last):
            yield field << layout.mantissa_bits | fraction


def _at(field: int, significand_128ths: int, layout: FloatLayout) -> int:
    """Pattern with this exponent field and this significand, in 128ths from 128 to 255."""
    fraction = (significand_128ths - 128) << layout.mantissa_bits >> 7
    return field << layout.mantissa_bits | fraction


def _subnormal_powers(layout: FloatLayout) -> list[int]:
    return [1 << bit for bit in range(layout.mantissa_bits)]


def _block_fields(layout: FloatLayout) -> list[int]:
    last = (1 << layout.exponent_bits) - 2
    if layout != F32:
        near_one = [layout.bias + k for k in (-9, -1, 0, 1, 8)]
        return [1, 2, *near_one, last - 1, last]
    near_one = [layout.bias + k for k in (-9, -2, -1, 0, 1, 2, 3, 8)]
    return sorted({1, 2, 3, 9, 17, last // 3, *near_one, 2 * last // 3, last - 1, last})


def _scaled(bits: int, k: int, layout: FloatLayout) -> int:
    """Pattern of a number times 2**k."""
    parts = split(np.array([bits]), layout)
    return pattern(int(parts.significand[0]), int(parts.exponent[0]) + k, layout)
