"""Blocks for scales that are small floats: midpoints of scales and elements, specials, lanes.

A tensor's scale multiplies the numbers; those that the float type does not hold are cut off, so
that they are just below a midpoint, and the next number of the type is above it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mxref.bits.floats import BF16, F16, F32, F64, FloatLayout
from mxref.cases.grid import pattern
from mxref.formats.catalog import E2M1, UE4M3, ScaleFormat
from mxref.golden.four_over_six_blocks import four_over_six_blocks
from mxref.golden.lane_blocks import special_in_lane
from mxref.golden.rounding_blocks import far_below, sticky_bits

__all__ = ["Block", "Under", "blocks", "scale_ties", "ties_under", "under_tensor"]

#: Midpoints of E2M1 in quarters.
_TIES = (1, 3, 5, 7, 10, 14, 20)
_SIZE = 16
#: The tensor scale of 1, and that of 3, under which infinities are asked.
_ONE, _THREE = 0x3F800000, 0x40400000

#: A name, the numbers, and the case's flags.
Block = tuple[str, list[int], tuple[str, ...]]


class Under(NamedTuple):
    """What blocks are under, and the float type of their numbers.

    Args:
        layout: the float type.
        tensor: the float32 scale of their tensor; None if there is none.
        scale: the format of their scales.
    """

    layout: FloatLayout = F32
    tensor: int | None = None
    scale: ScaleFormat = UE4M3

    @property
    def one(self) -> int:
        """The code of the scale 1."""
        return self.scale.bias << self.scale.mantissa_bits

    @property
    def some_codes(self) -> list[int]:
        """Subnormal scales, those around 1, and the largest."""
        top = self.scale.max_code
        return [*range(9), self.one - 1, self.one, self.one + 1, top - 1, top]

    @property
    def is_whole(self) -> bool:
        """Whether there are blocks of every kind: of float32 and UE4M3."""
        return self.layout == F32 and self.scale == UE4M3

    def product(self, n: int, exponent: int) -> int:
        """The pattern of n * 2**exponent times the tensor's scale, toward zero.

        Raises:
            ValueError: it is beyond the float type.

        >>> hex(Under(tensor=0x3EAAAAAB).product(3, 0))
        '0x3f800000'
        """
        magnitude, power = self._exact(abs(n), exponent)
        over = self._over(magnitude, power)
        bits = pattern(magnitude >> over, power + over, self.layout)
        return bits | self.layout.sign_bit * (n < 0)

    def is_exact(self, n: int, exponent: int) -> bool:
        """Whether the float type holds the number that `product` cuts off.

        >>> Under(tensor=0x3EAAAAAB).is_exact(3, 0), Under(F64, 0x3EAAAAAB).is_exact(3, 0)
        (False, True)
        """
        magnitude, power = self._exact(abs(n), exponent)
        return magnitude % (1 << self._over(magnitude, power)) == 0

    def _exact(self, n: int, exponent: int) -> tuple[int, int]:
        if self.tensor is None:
            return n, exponent
        field, fraction = divmod(self.tensor, 1 << F32.mantissa_bits)
        significand = fraction | (field > 0) << F32.mantissa_bits
        return n * significand, exponent + max(field, 1) - 150

    def _over(self, n: int, exponent: int) -> int:
        """How many low bits of n * 2**exponent are beyond the float type."""
        bits = self.layout.mantissa_bits
        return max(n.bit_length() - bits - 1, self.layout.emin - bits - exponent, 0)

    def flags(self, code: int) -> tuple[str, ...]:
        """What cases under a scale are marked with."""
        return ("scale_subnormal",) if code < 1 << self.scale.mantissa_bits else ()

    def middle(self, code: int) -> tuple[int, int]:
        """6 times the midpoint above a scale, as n * 2**exponent.

        Codes past the largest continue its spacing.
        """
        (n, e), (m, f) = self.scale.magnitude_parts(code), self.scale.magnitude_parts(code + 1)
        unit = min(e, f)
        return 3 * ((n << e - unit) + (m << f - unit)), unit


def blocks(under: Under) -> Iterator[Block]:
    """Blocks without a tensor scale; fewer of other float types and scales than of float32."""
    layout, near = under.layout, under.some_codes
    yield from _specials(under)
    for code in range(under.scale.max_code + 1) if under.is_whole else near:
        middle = under.middle(code)
        with contextlib.suppress(ValueError):  # float16 ends below some scales of UE5M3
            block = _ramp(*middle, under)
            yield f"scale_tie_{code:02x}", block, ("tie", *under.flags(code))
            if code in near and layout != BF16:
                for side, step in (("below", -1), ("above", 1)):
                    moved = [block[0] + step, *block[1:]]
                    flags = ("near_tie", *under.flags(code))
                    yield f"scale_{side}_tie_{code:02x}", moved, flags
    for code in (0x01, 0x03, 0x06, *range(under.one, under.one + 8)):
        for side, step in (("at", 0), ("below", -1), ("above", 1)):
            block = _element_ties(code, step, under)
            flags = ("near_tie" if step else "tie", *under.flags(code))
            yield f"{side}_ties_under_{code:02x}", block, flags
    yield from _under_one(layout)
    if under.is_whole:
        for name, block in four_over_six_blocks(
            lambda eighths: pattern(eighths, -3, F32), F32.sign_bit
        ):
            yield name, block, ("near_tie",)
    with contextlib.suppress(ValueError):
        yield from _infinite(under)
    if under.scale == UE4M3 and layout in (F32, BF16):
        yield from _lanes(under)
    else:  # where no lane has a negative largest element
        block = [bits ^ layout.sign_bit for bits in _element_ties(under.one, 0, under)]
        yield f"minus_ties_under_{under.one:02x}", block, ("tie", *under.flags(under.one))


def under_tensor(under: Under) -> Iterator[Block]:
    """Blocks of near ties of elements under scales times a tensor scale, specials, and lanes."""
    layout, one = under.layout, under.one
    some = range(one, one + 8) if under.is_whole else (one, one + 5)
    yield from ties_under(under, (0x03, *some))
    if not under.is_whole:  # where no lane has a negative largest element
        for name, block, flags in ties_under(under, (one,)):
            yield f"minus_{name}", [bits ^ layout.sign_bit for bits in block], flags
    least = layout.emin - layout.mantissa_bits + (9 if layout == F32 else 1)
    yield "zeros", [0] * _SIZE, ("zero",)
    yield "far_below", [pattern(1, least, layout)] * _SIZE, ("source_subnormal",)
    yield "far_above", [pattern(1, layout.bias - 7, layout)] * _SIZE, ()
    yield "nan", [layout.nan_bits, *[pattern(1, 0, layout)] * 15], ("nan",)
    if under.tensor == _ONE:
        yield from _under_one(layout)
        # The scale is at its largest, and quotients lie beyond the largest element.
        beyond = pattern(15 * 448, -1, layout)
        yield "beyond", [beyond, beyond | layout.sign_bit] * (_SIZE // 2), ()
        negative_zeros = [layout.sign_bit, 0] * (_SIZE // 2 - 1)
        yield "mixed_zeros", [pattern(6, 0, layout), *negative_zeros, layout.sign_bit], ()
    if under.tensor == _THREE:
        yield from _infinite(under)
        yield from _lanes(under) if under.is_whole else ()


def ties_under(under: Under, codes: Iterable[int], *, zero: bool = True) -> Iterator[Block]:
    """Midpoints of elements and their neighbours under scales times a tensor scale.

    Args:
        under: the tensor scale.
        codes: the scales.
        zero: whether the last number is a zero, and not the largest.
    """
    sign = under.layout.sign_bit
    for code in codes:
        n, e = under.scale.magnitude_parts(code)
        top = under.product(6 * n, e)
        # The flags of float32 are of the midpoints before they are cut off.
        is_exact = under.layout == F32 or all(under.is_exact(n * tie, e - 2) for tie in _TIES)
        for name, step in (("", 0), ("above_", 1), ("below_", -1)):
            words = [under.product(n * tie, e - 2) + step for tie in (*_TIES, *_TIES)]
            signed = [word | sign * (i > 6) for i, word in enumerate(words)]
            flags = ("tie" if is_exact and not step else "near_tie", *under.flags(code))
            yield f"{name}ties_under_{code:02x}", [top, *signed, 0 if zero else top], flags


def scale_ties(under: Under, codes: Iterable[int]) -> Iterator[Block]:
    """Largest magnitudes at and beside midpoints of scales times a tensor scale."""
    for code in codes:
        middle, unit = under.middle(code)
        top, small = under.product(middle, unit), middle & -middle
        rest = [under.product(small * (3 - i % 2 * 2), unit - i // 2 - 2) or 1 for i in range(15)]
        signed = [word | under.layout.sign_bit * (i % 2) for i, word in enumerate(rest)]
        is_exact = under.is_exact(middle, unit)
        for side, step in (("at", 0), ("below", -1), ("above", 1)):
            flags = ("tie" if is_exact and not step else "near_tie", *under.flags(code))
            yield f"{side}_scale_tie_{code:02x}", [top + step, *signed], flags


def _infinite(under: Under) -> Iterator[Block]:
    """Infinities beside numbers, midpoints and their neighbours under the largest scale."""
    layout = under.layout
    inf, minus = layout.inf_bits, layout.inf_bits | layout.sign_bit
    top = under.scale.max_code
    n, exponent = under.scale.magnitude_parts(top)
    for phase, (name, lanes) in enumerate(
        (
            ("first", {0: inf}),
            ("last", {_SIZE - 1: minus}),
            ("several", {3: minus, 8: inf, 14: minus}),
            ("alone", dict.fromkeys(range(_SIZE), inf)),
        )
    ):
        ties = [under.product(n * tie, exponent - 2) for tie in (*_TIES, 2, 8, 12)]
        near = [tie + step for tie in ties for step in (0, -1, 1)][phase % 2 :: 2]
        signed = [bits | layout.sign_bit * ((i + phase) % 2) for i, bits in enumerate(near)]
        signed += [pattern(1, layout.bias, layout), layout.sign_bit]
        block = [lanes.get(lane, signed[lane]) for lane in range(_SIZE)]
        yield f"inf_{top:02x}_{name}", block, ("inf",)


def _under_one(layout: FloatLayout) -> Iterator[Block]:
    """The walking sticky bit and elements far below, under the scale 1."""
    for name, points in (
        ("sticky", sticky_bits(E2M1, layout)),
        ("far", far_below(E2M1, layout)[::4]),
    ):
        for index, start in enumerate(range(0, len(points), _SIZE - 1)):
            some = [*points[start : start + _SIZE - 1], *[0] * _SIZE][: _SIZE - 1]
            signed = [bits | layout.sign_bit * ((i + index) % 2) for i, bits in enumerate(some)]
            yield f"{name}_{index:02}", [*signed, pattern(6, 0, layout)], ()


def _lanes(under: Under) -> Iterator[Block]:
    """One special and one largest element in each lane, beside ties and near ties."""
    layout = under.layout
    inf, sign = layout.inf_bits, layout.sign_bit
    for lane in range(_SIZE):
        for index, (name, special) in enumerate(
            (
                ("nan", layout.nan_bits | sign * (lane % 2)),
                ("inf", inf),
                ("negative_inf", inf | sign),
            )
        ):
            block = special_in_lane(lane, special, _SIZE, layout)
            yield f"lane_{lane:02}_{name}", block, ("nan" if name == "nan" else "inf",)
            if index < 2:
                block = _largest(2 * lane + index, under)
                yield f"lane_{lane:02}_{('plus', 'minus')[index]}", block, ("position", "near_tie")


def _largest(index: int, under: Under) -> list[int]:
    """A largest element in the lane index / 2; the others are midpoints and their neighbours."""
    lane, negative = divmod(index, 2)
    sign = under.layout.sign_bit
    n, exponent = under.scale.magnitude_parts(under.one - 8 + index % 16)
    block = []
    for i in range(_SIZE):
        step, tie = divmod(i + index, len(_TIES))
        bits = under.product(n * _TIES[tie], exponent - 2) + step % 3 - 1
        block.append(bits | sign * ((i + index // 16) % 2))
    block[lane] = under.product(6 * n, exponent) | sign * negative
    return block


def _ramp(n: int, exponent: int, under: Under) -> list[int]:
    """A block of this largest magnitude and fifteen smaller numbers."""
    small = n & -n
    rest = [((-1) ** i * small * (3 - i % 2 * 2), exponent - i // 2 - 2) for i in range(15)]
    return [under.product(n, exponent), *(under.product(m, e) for m, e in rest)]


def _element_ties(code: int, step: int, under: Under) -> list[int]:
    """The largest element and every midpoint of E2M1 under a scale, both signs."""
    n, exponent = under.scale.magnitude_parts(code)
    ties = [under.product(n * tie, exponent - 2) + step for tie in _TIES]
    negative = [bits | under.layout.sign_bit for bits in ties]
    return [under.product(6 * n, exponent), *ties, *negative, under.layout.sign_bit]


def _specials(under: Under) -> Iterator[Block]:
    layout = under.layout
    sign, inf, nan = layout.sign_bit, layout.inf_bits, layout.nan_bits
    ramp = _element_ties(under.one, 0, under)
    yield "zeros", [0] * _SIZE, ("zero",)
    yield "negative_zeros", [sign] * _SIZE, ("zero", "negative_zero")
    for place in (0, 15):
        for name, bits in (("nan", nan), ("inf", inf), ("negative_inf", inf | sign)):
            block = list(ramp)
            block[place] = bits
            yield f"{name}_{place:02}", block, ("nan" if bits == nan else "inf",)
    # Float64 goes beyond float32, and float16 has little room.
    reach = {F16: (("far_below", -18),), F64: (("below_float32", -160), ("above_float32", 160))}
    far = reach.get(layout, (("far_below", -40), ("far_above", 60)))
    for name, exponent in (*far, ("largest_binade", layout.bias)):
        yield name, [pattern((-1) ** i * (16 - i), exponent - 4, layout) for i in range(_SIZE)], ()
    yield "subnormal_floats", [i | sign * (i % 2) for i in range(_SIZE)], ("source_subnormal",)
