"""Dot products of the slow twin: cases worked out by hand, and the definition in fractions."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import pytest
from tables import codes, rows

from mxref.exact.dot import Row, dot, dot_bounds, exact_in_every_order, row
from mxref.exact.format_table import ELEMENTS, read_code, value

INF, NAN, MINUS = 0x7F800000, 0x7FC00000, 1 << 31


@pytest.mark.parametrize(("types", "sa", "ca", "sb", "cb", "want"), rows("exact", "dots"))
def test_n26_n27_n28_cases_by_hand(
    types: str, sa: str, ca: str, sb: str, cb: str, want: str
) -> None:
    format, float = types.split()
    a, b = (row(codes(s), codes(c), format, 3) for s, c in ((sa, ca), (sb, cb)))
    assert f"{dot(a, b, float):x}" == want


def test_the_definition_in_fractions() -> None:
    draws = random.Random(1)
    for name, fmt in ELEMENTS.items():
        finite = [(c, value(c, name)) for c in range(1 << fmt.bits) if read_code(c, fmt)[1] >= 0]
        sides: list[Row] = []
        numbers: list[list[Fraction]] = []
        for _ in range(2):
            scales = [draws.randrange(100, 150) for _ in range(3)]
            some = draws.choices(finite, k=11)
            sides.append(row(scales, [code for code, _ in some], name, 4))
            numbers.append([x * value(scales[i // 4], "e8m0") for i, (_, x) in enumerate(some)])
        products = [x * y for x, y in zip(*numbers, strict=True)]
        exact, size = sum(products, Fraction()), sum(map(abs, products), Fraction())
        n, k = sum(map(bool, products)), len(products)
        nearest = Fraction(max(n - 1, 0), 2**24) * size + Fraction(n, 2**150)
        other = Fraction(2 * k + 2, 2**23) * size + Fraction(k, 2**149)
        a, b = sides
        assert dot(a, b, "f64") == bits_of(exact)
        for rounding, radius in (("nearest", nearest), ("any", other)):
            units = [Fraction(p.numerator & -p.numerator, p.denominator) for p in products if p]
            if size <= min(units) * 2 ** (24 if rounding == "nearest" else 19):
                radius = Fraction()
            low, high = bits_of(exact - radius), bits_of(exact + radius)
            assert dot_bounds(a, b, "f64", rounding) == (low, high, low)


def bits_of(number: Fraction) -> int:
    """Python divides integers with one rounding to nearest even."""
    packed = struct.pack(">d", number.numerator / number.denominator)
    return int.from_bytes(packed, "big")


def test_n43_the_ends_of_intervals() -> None:
    # 2**16 and 31 times 2**-8: the distance is 31 * 2**-8 and a little more.
    side = row([127], codes("78" + " 18" * 31), "e4m3")
    assert dot(side, side) == 0x47800010  # 2**16 + 31 * 2**-8; the spacing is 2**-7
    assert dot_bounds(side, side) == (0x47800000, 0x4780001F, 0x47800000)
    # 2**-151 and 2**-150 around it: -2**-151, and 0.75 * 2**-149, which is rounded up.
    tiny, one = row([0], codes("18"), "e4m3"), row([107], codes("38"), "e4m3")
    assert dot(tiny, one) == 0
    assert [hex(end) for end in dot_bounds(tiny, one)] == ["0x80000000", "0x1", "0x80000000"]
    assert dot_bounds(tiny, one, "f64")[:2] == (0xB680000000000000, 0x3698000000000000)
    # Special values: one NaN beside what overflows, and infinities, which may meet another.
    one = row([127], codes("3c 3c 3c"), "e5m2")
    assert dot_bounds(row([255], codes("3c 3c 3c"), "e5m2"), one) == (NAN,) * 3
    assert dot_bounds(row([254], codes("7f 7b fb"), "e5m2"), one) == (NAN,) * 3
    assert dot_bounds(row([127], codes("7c 3c 3c"), "e5m2"), one) == (INF,) * 3
    assert dot_bounds(row([254], codes("7c 7b 7b"), "e5m2"), one) == (INF,) * 3
    assert dot_bounds(row([254], codes("7c fb fb"), "e5m2"), one) == (INF, INF, NAN)
    assert dot_bounds(row([254], codes("fc fb fb"), "e5m2"), one) == (INF | MINUS,) * 3
    assert dot_bounds(row([254], codes("fc 7b 7b"), "e5m2"), one)[2] == NAN


@pytest.mark.parametrize(("float", "a", "b", "rounding", "want"), rows("exact", "dots_beyond"))
def test_n43_sums_beyond_float32(float: str, a: str, b: str, rounding: str, want: str) -> None:
    left, right = row([254], codes(a), "e4m3"), row([127], codes(b), "e4m3")
    for one, other in ((left, right), (right, left)):
        assert [*dot_bounds(one, other, float, rounding)] == codes(want)


def test_n43_one_product_just_below_the_end() -> None:
    once = row([254], [0x7F], "int8"), row([127], [0x40], "int8")
    for rounding in ("nearest", "any"):
        assert dot_bounds(*once, "f32", rounding) == (0x7F7E0000,) * 3


@pytest.mark.parametrize(("scales", "a", "b", "format", "free"), rows("exact", "any_order"))
def test_n43_sums_that_no_order_changes(
    scales: str, a: str, b: str, format: str, free: str
) -> None:
    sides = zip(codes(scales), (codes(a), codes(b)), strict=True)
    left, right = (row([scale], some, format) for scale, some in sides)
    assert exact_in_every_order(left, right) is (free == "exact")
    assert exact_in_every_order(right, left) is (free == "exact")
