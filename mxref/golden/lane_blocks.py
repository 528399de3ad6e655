"""Blocks that show what each lane does: one special or one largest element in each, and pairs."""

from __future__ import annotations

from collections.abc import Iterator

from mxref.bits.floats import F16, FloatLayout
from mxref.cases.grid import grid, pattern
from mxref.formats.catalog import ElementFormat
from mxref.golden.rounding_blocks import near_ties, scaled, sticky_bits

__all__ = ["lane_blocks", "special_in_lane"]

_SIZE = 32


def lane_blocks(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[str, list[int]]]:
    """Named blocks of 32 float patterns.

    The largest elements have 64 significands and both signs. The elements beside them are near ties
    and sticky bits at least a binade below, so that a lane that amax misses changes the scale.
    Blocks with NaN and infinity stand before others, so that what is left of them shows.
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
    limit = pattern(1, fmt.emax, layout)
    points = [bits for bits in near_ties(fmt, layout) if bits < limit]
    points += [bits for bits in sticky_bits(fmt, layout) if bits < limit]
    block = []
    for i in range(_SIZE):
        bits = scaled(points[(31 * index + i) % len(points)], power, layout)
        block.append(bits | layout.sign_bit * ((i + index // 4) % 2))
    top = pattern(64 + index, fmt.emax - 6 + power, layout)
    block[lane] = top | layout.sign_bit * negative
    return block


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
    full = [bits | sign * (i % 3 == 0) for i, bits in enumerate((numbers[1:] * _SIZE)[:_SIZE])]
    for lane in (0, 3, 7, 12, 16, 21, 26, 31):
        yield f"full_{lane:02}", [*full[lane:], *full[:lane]]
        zeros = [sign * (i % (lane + 2) == 0) for i in range(_SIZE)]
        yield f"zeros_after_{lane:02}", zeros
        alone = list(zeros)
        alone[lane] = middles[one + lane % 2] | sign * (lane % 2)
        yield f"alone_{lane:02}", alone
    for name, bits in (("number", numbers[one + 1]), ("tie", odd), ("negative_tie", even | sign)):
        yield f"constant_{name}", [bits] * _SIZE
    for lane, other in ((0, 1), (9, 8), (15, 16), (31, 0)):
        block = special_in_lane(lane, layout.nan_bits, _SIZE, layout)
        block[other] = inf | sign * (lane % 2)
        yield f"nan_{lane:02}_inf_{other:02}", block
        yield f"after_nan_{lane:02}", [*ramp[lane:], *ramp[:lane]]
