"""Blocks that test each lane: one special or one largest element in it, and pairs of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from mxref.bits.floats import F16, FloatLayout
from mxref.cases.grid import grid, pattern
from mxref.formats.catalog import ElementFormat
from mxref.golden.rounding_blocks import near_ties, scaled, sticky_bits

__all__ = ["lane_blocks", "special_in_lane"]

_SIZE = 32


def lane_blocks(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[str, list[int]]]:
    """Named blocks of 32 float patterns.

    The largest elements have 64 significands and both signs. The elements beside them cover each
    way to round and lie in lower binades, so that a lane that is missing from amax changes the
    scale. A block with NaN and infinity precedes others, so that anything left over from it shows.
    """
    for lane in range(_SIZE):
        yield f"lane_{lane:02}_nan", special_in_lane(lane, _nan(lane, layout), _SIZE, layout)
        yield f"lane_{lane:02}_plus", _largest(2 * lane, fmt, layout)
        yield f"lane_{lane:02}_inf", special_in_lane(lane, layout.inf_bits, _SIZE, layout)
        yield f"lane_{lane:02}_minus", _largest(2 * lane + 1, fmt, layout)
        negative = layout.inf_bits | layout.sign_bit
        yield f"lane_{lane:02}_negative_inf", special_in_lane(lane, negative, _SIZE, layout)
    yield from _pairs(fmt, layout)


def special_in_lane(lane: int, special: int, size: int, layout: FloatLayout) -> list[int]:
    """One special beside powers of two of both signs, and zeros."""
    powers = [pattern((-1) ** (i // 3), i % 5 - 3, layout) for i in range(size)]
    block = [bits * (i % 4 != 1) for i, bits in enumerate(powers)]
    block[lane] = special
    return block


def _nan(lane: int, layout: FloatLayout) -> int:
    """Quiet and signalling NaNs of both signs, with and without payload, in turn."""
    inf, sign = layout.inf_bits, layout.sign_bit
    return (layout.nan_bits, inf | 1, layout.nan_bits | sign, sign - 1, inf | 1 | sign)[lane % 5]


def _largest(index: int, fmt: ElementFormat, layout: FloatLayout) -> list[int]:
    """A largest element of the significand 1 + index / 64 in the lane index / 2."""
    lane, negative = divmod(index, 2)
    power = 0 if layout == F16 else index * 11 % 41 - 20
    points = _points(fmt, layout)
    block = []
    for i in range(_SIZE):
        # Over 62 blocks each lane holds each point with both signs, except as the largest.
        bits = scaled(points[(i + index) % len(points)], power, layout)
        block.append(bits | layout.sign_bit * ((i + index // len(points)) % 2))
    top = pattern(64 + index, fmt.emax - 6 + power, layout)
    block[lane] = top | layout.sign_bit * negative
    return block


@cache
def _points(fmt: ElementFormat, layout: FloatLayout) -> tuple[int, ...]:
    """31 magnitudes below the largest element's binade: each way to round, and far below."""
    numbers, middles = grid(fmt, layout)
    one, limit = 1 << fmt.mantissa_bits, pattern(1, fmt.emax, layout)
    # Ties down and up of subnormal and of normal numbers, and those that carry.
    ties = [middles[i] for i in (0, 1, one - 1, one, one + 1, 2 * one - 1)]
    points = [bits for tie in ties for bits in (tie - 1, tie, tie + 1)]
    points += [numbers[1], numbers[1] - 1, numbers[2], numbers[one], numbers[one] - 1]
    far = fmt.emin - fmt.mantissa_bits - 27
    if far - 52 >= layout.emin:  # times 2**-20 the lower one is normal; not in float16
        # A shift count taken modulo 32 or 64 makes these visible again.
        points += [pattern(1, far, layout), pattern(3, far - 32, layout)]
    points += [tie | 1 << bit for bit in (5, 1) for tie in ties if tie & -tie > 2 << bit]
    points += [*sticky_bits(fmt, layout)[::9], *near_ties(fmt, layout)[4::5], *numbers[1:]]
    below = [bits for bits in dict.fromkeys(points) if bits < limit]
    return tuple((below * 31)[:31])


def _pairs(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[str, list[int]]]:
    """Two equal largest elements, pairs of ties, elements alone, specials beside each other."""
    sign, inf = layout.sign_bit, layout.inf_bits
    numbers, middles = grid(fmt, layout)
    top, one = numbers[-1], 1 << fmt.mantissa_bits
    even, odd = middles[one], middles[one + 1]
    ramp = [pattern((-1) ** i * (i + 1), fmt.emax - 7, layout) for i in range(_SIZE)]
    for index, (first, second) in enumerate(
        ((0, 1), (0, 31), (1, 3), (4, 8), (6, 7), (15, 16), (11, 27), (22, 30))
    ):
        block = list(ramp)
        block[first], block[second] = top | sign * (index % 2), top | sign * (index // 2 % 2)
        yield f"equal_{first:02}_{second:02}", block
    for name, (a, b) in (("even", (even, even)), ("odd", (odd, odd)), ("both", (odd, even))):
        pairs = [bits | sign * (i // 2 % 2) for i in range(15) for bits in (a, b)]
        yield f"tie_pairs_{name}", [*pairs, even | sign, top]
    points = _points(fmt, layout)
    for index, lane in enumerate((0, 3, 7, 12, 16, 21, 26, 31)):
        # The points that a lane lacks in the blocks where it holds the largest element.
        full = [points[(3 * i + index % 2) % len(points)] for i in range(_SIZE)]
        full = [bits | sign * ((i + index // 2) % 2) for i, bits in enumerate(full)]
        full[lane] = top
        yield f"full_{lane:02}", full
        zeros = [sign * (i % (lane + 2) == 0) for i in range(_SIZE)]
        yield f"zeros_after_{lane:02}", zeros
        alone = list(zeros)
        alone[lane] = middles[one + lane % 2] | sign * (lane % 2)
        yield f"alone_{lane:02}", alone
    # Around the overflow threshold, each in each lane, with both signs.
    end = pattern(1, fmt.emax + 1, layout) if fmt.emax < layout.bias else inf
    over = (middles[-1] - 1, middles[-1], end - 1)
    for index in range(6):
        block = [over[(i + index) % 3] | sign * ((i + index // 3) % 2) for i in range(_SIZE)]
        yield f"overflow_lanes_{index}", block
    for name, bits in (("number", numbers[one + 1]), ("tie", odd), ("negative_tie", even | sign)):
        yield f"constant_{name}", [bits] * _SIZE
    for lane, other in ((0, 1), (9, 8), (15, 16), (31, 0)):
        block = special_in_lane(lane, layout.nan_bits, _SIZE, layout)
        block[other] = inf | sign * (lane % 2)
        yield f"nan_{lane:02}_inf_{other:02}", block
        yield f"after_nan_{lane:02}", [*ramp[lane:], *ramp[:lane]]
