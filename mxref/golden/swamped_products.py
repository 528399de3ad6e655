"""Dot products whose sums depend on the order, the precision and the range of additions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mxref.bits.floats import FloatLayout
from mxref.formats.catalog import ElementFormat
from mxref.golden.dot_inputs import (
    ONE,
    SIZE,
    Codes,
    Dot,
    drawn_rows,
    drawn_scales,
    exponents_of,
    joined,
    negative,
    power,
)

__all__ = ["beyond", "cancelling", "last_roundings", "narrow_dots", "swamped"]

#: Element codes of E4M3 that tell orders and adders apart.
_ROWS = (
    ("78 18 18 78", "78 18 18 f8"),
    ("10 18 78", "18 18 78"),
    ("78 10 78", "78 18 f8"),
    ("78 10 78", "78 10 f8"),
    ("78 30 78", "78 30 f8"),
    ("78 40 78", "78 48 f8"),
    ("7e 01 7e", "7e 01 fe"),
)


def swamped(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Small products between large ones that cancel, in one block and across blocks."""
    if a.name == b.name == "e4m3":
        for index, row in enumerate(_ROWS):
            x, y = ([int(code, 16) for code in side.split()] for side in row)
            for name, lanes in _places(len(x)):
                sides = ([0] * (max(lanes) + 1), [0] * (max(lanes) + 1))
                for lane, *codes in zip(lanes, x, y, strict=True):
                    sides[0][lane], sides[1][lane] = codes
                yield Dot(f"row_{index}_{name}", *sides, flags=("swamping",))
    low, high = _product_exponents(a, b)
    for distance in (10, 13, 24, 25, 26, 36):
        if distance <= high - low:
            yield from _within(a, b, distance)
    # Each order gives another of these four or three sums: (P + s) + (s - P), P + (s + s) - P.
    flags = ("swamping",)
    for name, exponents, signs in (
        ("four", (24, 0, 0, 24), (1, 1, 1, -1)),
        ("four_odd", (24, 1, -1, 24), (1, 1, 1, -1)),
    ):
        yield from sums_of_powers(f"scaled_{name}", a, b, exponents, signs, flags)
    one, plus = power(a, 0), power(b, 0)
    for name, count in (("pair", 2), ("three", 3)):
        parts: list[tuple[Codes, Codes]] = [
            ((one,), (plus,)),
            ((one,) * count, (plus,) * count),
            ((one,), (negative(b, plus),)),
        ]
        scales = [ONE + 12, ONE, ONE + 12]
        yield joined(f"scaled_{name}", parts, scales, scales, flags)
    for distance in (8, 13, 24, 25, 36):
        yield from _across(a, b, distance)


def _places(count: int) -> Iterator[tuple[str, list[int]]]:
    """Lanes of a few terms: in order, reversed, and 16 apart."""
    order = list(range(count))
    yield "forward", order
    yield "backward", order[::-1]
    yield "apart", [16 * i for i in order]
    yield "apart_backward", [16 * i for i in order[::-1]]


def _split(a: ElementFormat, b: ElementFormat, exponent: int) -> tuple[int, int]:
    """Codes of two powers of two with the product 2**exponent."""
    (low, high), (least, _) = exponents_of(a), exponents_of(b)
    first = min(max(low, exponent // 2), high)
    first = max(first, exponent - exponents_of(b)[1])
    first = min(first, exponent - least)
    return power(a, first), power(b, exponent - first)


def _product_exponents(a: ElementFormat, b: ElementFormat) -> tuple[int, int]:
    """The exponents of the smallest and of the largest product of powers of two."""
    (low, high), (least, most) = exponents_of(a), exponents_of(b)
    return low + least, high + most


def _within(a: ElementFormat, b: ElementFormat, distance: int) -> Iterator[Dot]:
    """One block: a large product, 30 small ones, and the large one with the other sign."""
    low, high = _product_exponents(a, b)
    top = min(high, low + distance + (high - low - distance) // 2)
    large, small = _split(a, b, top), _split(a, b, top - distance)
    places = {"ends": (0, 31), "front": (0, 1), "back": (30, 31), "middle": (15, 16)}
    for name, (first, last) in places.items():
        x, y = [small[0]] * SIZE, [small[1]] * SIZE
        x[first] = x[last] = large[0]
        y[first], y[last] = large[1], negative(b, large[1])
        yield Dot(f"within_{distance}_{name}", x, y, flags=("swamping",))


def _across(a: ElementFormat, b: ElementFormat, distance: int) -> Iterator[Dot]:
    """Three blocks: two with a large product that cancels, and one of small numbers."""
    x, y = power(a, 0), power(b, 0)
    small = drawn_rows(a, b, 3, 400 + distance, 2)
    large = ONE + -(-distance // 2), ONE
    blocks: dict[str, tuple[Codes, Codes]] = {
        "plus": ((x,), (y,)),
        "small": small,
        "minus": ((x,), (negative(b, y),)),
    }
    scales = {"plus": large, "small": (ONE, ONE - distance // 2), "minus": large}
    orders = {"between": ("plus", "small", "minus"), "before": ("small", "plus", "minus")}
    if distance in (24, 25, 36):
        orders["behind"] = ("plus", "minus", "small")
    for name, order in orders.items():
        parts = [blocks[part] for part in order]
        left, right = ([scales[part][side] for part in order] for side in (0, 1))
        yield joined(f"across_{distance}_{name}", parts, left, right, ("swamping",))


def cancelling(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Sums that cancel: to zero, to one unit, and to subnormal numbers of float32."""
    x, y = drawn_rows(a, b, 16, 500)
    minus = [negative(b, code) for code in y]
    flags = ("cancellation",)
    yield Dot("cancels_neighbours", _woven(x, x), _woven(y, minus), flags=flags)
    yield Dot("cancels_halves", [*x, *x], [*y, *minus], flags=flags)
    yield Dot("cancels_mirrored", [*x, *x[::-1]], [*y, *minus[::-1]], flags=flags)
    yield Dot("cancels_blocks", [*x, *[0] * 16, *x], [*y, *[0] * 16, *minus], flags=flags)
    yield Dot("negative_zeros", [negative(a, 0)] * 2, [power(b, 0)] * 2, flags=("zero",))
    one, two = power(a, 0), power(a, 1 if a.value(a.max_code) >= 2 else 0)
    for left, right in ((0x00, 0x61), (0x00, 0x6C), (0x01, 0x68), (0x3F, 0x2B), (0x00, 0x00)):
        name = f"{left:02x}_{right:02x}"
        x, y = drawn_rows(a, b, 8, 510)
        yield Dot(f"subnormal_{name}", x, y, (left,), (right,), ("scale_pair",))
        z = [negative(b, code) for code in y]
        row, column = [*x, one, *x], [*y, power(b, 0), *z]
        yield Dot(f"cancels_to_{name}", row, column, (left,), (right,), flags)
    column = [power(b, 0), power(b, 0), negative(b, power(b, 0))]
    yield Dot("large_to_small", [two, one, two], column, flags=flags)


def _woven(x: Sequence[int], y: Sequence[int]) -> list[int]:
    return [code for pair in zip(x, y, strict=True) for code in pair]


def beyond(a: ElementFormat, b: ElementFormat) -> Iterator[Dot]:
    """Sums whose parts are beyond float32, or just below that."""
    one, minus = power(a, 0), negative(b, power(b, 0))
    plus = power(b, 0)
    flags = ("sum_overflow",)
    for name, factors in (
        ("then_back", (plus, plus, minus)),
        ("and_stays", (plus, plus)),
        ("negative", (minus, minus)),
    ):
        parts = [((one,), (factor,)) for factor in factors]
        for low in (0xFE, 0xFD):
            scales = [low] * len(parts)
            ones = [ONE] * len(parts)
            yield joined(f"beyond_{name}_{low:02x}", parts, scales, ones, flags)
    # In one block: downwards and back, and in both directions.
    yield Dot("beyond_in_block", (one,) * 3, (minus, minus, plus), (0xFE,), (ONE,), flags)
    yield Dot("beyond_both", (one,) * 4, (plus, plus, minus, minus), (0xFE,), (ONE,), flags)
    x, y = drawn_rows(a, b, SIZE, 700)
    for left in (0xF0, 0xF8, 0xFE):
        yield Dot(f"beyond_random_{left:02x}", x, y, (left,), (ONE,), flags)
    # The largest float32 number, the tie above it, and just below that.
    for end, exponents, signs in (
        ("largest", (127, 127, 104), (1, 1, -1)),
        ("beyond_tie", (127, 127, 103), (1, 1, -1)),
        ("below_beyond_tie", (127, 127, 103, 60), (1, 1, -1, -1)),
    ):
        yield from sums_of_powers(end, a, b, exponents, signs, flags)


# The last rounding.


def last_roundings(a: ElementFormat, b: ElementFormat, bits: int) -> Iterator[Dot]:
    """Ties of results with some number of significant bits, and their neighbours.

    Sums of few powers of two, one in each block, so that every format has them.
    """
    for sign in (1, -1):
        word = "plus" if sign > 0 else "minus"
        ulp = 1 - bits
        for name, exponents, signs in (
            ("tie_even", (0, ulp - 1), (1, 1)),
            ("tie_odd", (0, ulp, ulp - 1), (1, 1, 1)),
            ("above_tie", (0, ulp - 1, -60), (1, 1, 1)),
            ("below_tie", (0, ulp - 1, -60), (1, 1, -1)),
            ("just_above", (0, ulp - 1, -30), (1, 1, 1)),
            ("just_below", (0, ulp - 1, -30), (1, 1, -1)),
            ("below_power", (0, ulp - 2), (1, -1)),
            ("below_power_tie", (0, ulp - 3), (1, -1)),
            ("sticky_alone", (0, -100), (1, 1)),
        ):
            yield from sums_of_powers(
                f"{name}_{word}", a, b, exponents, [sign * s for s in signs], ("tie",)
            )


def sums_of_powers(
    name: str,
    a: ElementFormat,
    b: ElementFormat,
    exponents: Sequence[int],
    signs: Sequence[int],
    flags: tuple[str, ...],
) -> Iterator[Dot]:
    """The sum of powers of two, one in each block."""
    halves = [(e - e // 2, e // 2) for e in exponents]
    one = power(b, 0)
    parts = [((power(a, 0),), (one if sign > 0 else negative(b, one),)) for sign in signs]
    left, right = ([ONE + half[i] for half in halves] for i in (0, 1))
    yield joined(name, parts, left, right, flags)


def narrow_dots(a: ElementFormat, b: ElementFormat, layout: FloatLayout) -> Iterator[Dot]:
    """Sums at the ends of a narrow float type, and some of many products."""
    p = layout.mantissa_bits
    top, low = layout.bias, layout.emin - p
    if layout.name == "f16":
        for name, exponents, signs in (
            ("largest", (top + 1, top - p), (1, -1)),
            ("beyond_tie", (top + 1, top - p - 1), (1, -1)),
            ("below_beyond_tie", (top + 1, top - p - 1, top - 40), (1, -1, -1)),
            ("smallest", (low,), (1,)),
            ("half_smallest", (low - 1,), (1,)),
            ("above_half_smallest", (low - 1, low - 40), (1, 1)),
            ("subnormal_tie", (low + 1, low - 1), (1, 1)),
            ("subnormal_odd_tie", (low + 1, low, low - 1), (1, 1, 1)),
            ("below_normal", (low + p, low - 1), (1, -1)),
        ):
            for sign, word in ((1, "plus"), (-1, "minus")):
                some = [sign * s for s in signs]
                yield from sums_of_powers(f"{name}_{word}", a, b, exponents, some, ())
    for index, count in enumerate((32, 32, 32, 64, 96, 40)):
        rows = drawn_rows(a, b, count, 800 + 2 * index, 6)
        yield Dot(f"random_{index}_{count}", *rows, *drawn_scales(count, 70 + index, 2))
    x, y = [power(a, 0)] * 3, [power(b, 0)] * 3
    yield Dot("nan", x, y, (0xFF,), (ONE,), ("nan",))
