"""Blocks that show how elements are rounded: near ties, sticky bits, elements far below."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from mxref.bits.floats import F16, FloatLayout
from mxref.cases.grid import grid, pattern
from mxref.formats.catalog import ElementFormat
from mxref.golden.models import around, walking_sticky

__all__ = ["far_below", "near_ties", "rounding_blocks", "scaled", "sticky_bits"]

#: Powers of two by which the blocks are multiplied in turn; float16 has too few exponents.
_POWERS = (0, -37, 41)
#: The farthest elements are this many binades below the scale.
_FARTHEST = 76
#: Binades below the smallest normal number: shift counts modulo 64 start again at 64 and at 128.
_WRAPPED = (*range(64, 71), *range(128, 141))
#: The scale of those blocks, a power of two: numbers so far below it are normal float32 numbers.
_WRAPPED_POWER = 41


def rounding_blocks(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[str, list[int]]]:
    """Named blocks of 31 elements to be rounded and the largest number, which fixes the scale."""
    ties = near_ties(fmt, layout)
    # If the ties are few, each is there twice with both signs, in different lanes.
    if len(ties) <= 31:
        ties = (*ties, *(bits | layout.sign_bit for bits in ties)) * 2
    yield from _filled("near_ties", ties, fmt, layout)
    yield from _filled("sticky", sticky_bits(fmt, layout), fmt, layout)
    yield from _filled("far", far_below(fmt, layout), fmt, layout)
    if layout != F16:
        largest = scaled(grid(fmt, layout)[0][-1], _WRAPPED_POWER, layout)
        yield from _in_blocks(largest, "wrapped", _wrapped(fmt, layout), layout)
    yield "overflow", _overflow(fmt, layout)


@cache
def near_ties(fmt: ElementFormat, layout: FloatLayout) -> tuple[int, ...]:
    """Both neighbours of every midpoint between two numbers, under the scale 1."""
    _, middles = grid(fmt, layout)
    return tuple(tie + step for tie in middles[:-1] for step in (-1, 1))


@cache
def sticky_bits(fmt: ElementFormat, layout: FloatLayout) -> tuple[int, ...]:
    """The walking sticky bit under the scale 1."""
    _, middles = grid(fmt, layout)
    return tuple(dict.fromkeys(walking_sticky(fmt, middles, layout)))


def scaled(bits: int, k: int, layout: FloatLayout) -> int:
    """The pattern of a positive number times 2**k."""
    field, fraction = divmod(bits, 1 << layout.mantissa_bits)
    n = fraction | (field > 0) << layout.mantissa_bits
    return pattern(n, max(field, 1) - layout.bias - layout.mantissa_bits + k, layout)


def _filled(
    name: str, points: Sequence[int], fmt: ElementFormat, layout: FloatLayout
) -> Iterator[tuple[str, list[int]]]:
    """Blocks of 31 points each and the largest number, under several scales."""
    blocks = _in_blocks(grid(fmt, layout)[0][-1], name, points, layout)
    for index, (title, block) in enumerate(blocks):
        yield title, _times(block, index, name, fmt, layout)


def _in_blocks(
    largest: int, name: str, points: Sequence[int], layout: FloatLayout
) -> Iterator[tuple[str, list[int]]]:
    """Blocks of 31 points each and a largest number, whose lane moves from block to block."""
    sign = layout.sign_bit
    for index, start in enumerate(range(0, len(points), 31)):
        some = points[start : start + 31]
        # Signs of neighbours differ, and those of two blocks in one lane.
        signed = [bits ^ sign * ((i + index) % 2) for i, bits in enumerate(some)]
        signed += [0] * (31 - len(signed))
        signed.insert(index * 5 % 32, largest)
        yield f"{name}_{index:02}", signed


def _times(
    block: list[int], index: int, name: str, fmt: ElementFormat, layout: FloatLayout
) -> list[int]:
    """The block multiplied by a power of two, so that it has another scale."""
    if layout == F16:
        # As large as float16 has, so that there is room below the scale.
        power = F16.bias - fmt.emax if name == "far" else 0
    else:
        power = _POWERS[index % len(_POWERS)] if name != "far" else 0
    sign = layout.sign_bit
    return [scaled(bits & ~sign, power, layout) | bits & sign for bits in block]


def far_below(fmt: ElementFormat, layout: FloatLayout) -> list[int]:
    """Significands 1, 1.5 and all ones from a quarter of the smallest number downwards."""
    m = layout.mantissa_bits
    power = layout.bias - fmt.emax if layout == F16 else 0
    points = []
    for exponent in range(fmt.emin - fmt.mantissa_bits - 2, -_FARTHEST - 1, -1):
        for n in _significands(m):
            with contextlib.suppress(ValueError):  # no number of the float type
                pattern(n, exponent + power - m, layout)
                points.append(pattern(n, exponent - m, layout))
    return points


def _wrapped(fmt: ElementFormat, layout: FloatLayout) -> list[int]:
    """Significands 1, 1.5 and all ones at depths where a shift modulo 64 gives other codes."""
    m = layout.mantissa_bits
    points = []
    for depth in _WRAPPED:
        for n in _significands(m):
            with contextlib.suppress(ValueError):  # no number of the float type
                points.append(pattern(n, fmt.emin - depth + _WRAPPED_POWER - m, layout))
    return points


def _significands(m: int) -> tuple[int, int, int]:
    return 1 << m, 3 << m - 1, (2 << m) - 1


def _overflow(fmt: ElementFormat, layout: FloatLayout) -> list[int]:
    """Numbers around the largest one and the threshold above it; the largest float of the scale."""
    numbers, middles = grid(fmt, layout)
    limit = pattern(1, fmt.emax + 1, layout) if fmt.emax < layout.bias else layout.inf_bits
    points: Iterable[int] = around((numbers[-1], middles[-1], limit), 2)
    inside = [bits for bits in points if bits < limit]
    signed = [bits | layout.sign_bit * negative for bits in inside for negative in (0, 1)]
    block = [*signed, *[numbers[1]] * 32][:31]
    return [*block, limit - 1]
