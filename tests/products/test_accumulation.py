"""Adders against their slow twin, bit for bit, and by bytes that follow from the definitions."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from product_rows import ADDERS, FORMATS, LAST_PLACES, LENGTHS, difference_of_powers, drawn, side
from shares import Share

import mxref
from mxref.exact import dot as exact_dot
from mxref.exact import value
from mxref.exact.adders import accumulation
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.policy.choices import Accumulation
from mxref.products.accumulation import accumulated
from mxref.products.operand import Operand

CASES = [
    pytest.param(how, *pair, id=f"{how.value}-{'-'.join(pair)}")
    for how in ADDERS
    for pair in itertools.product(FORMATS[how], repeat=2)
]


def differences(a: Operand, b: Operand, how: Accumulation) -> list[str]:
    """Where the fast path and the slow twin differ."""
    found = accumulated(a, b, how).view(np.uint32)
    formats = (a.format.name, b.format.name, how.value, a.run)
    codes = [operand.codes[:, : operand.length].tolist() for operand in (a, b)]
    scales = [operand.scales.tolist() for operand in (a, b)]
    return [
        f"{x} {s} {y} {t}: {found[i, j]:08x}, {bits:08x}"
        for i, (x, s) in enumerate(zip(codes[0], scales[0], strict=True))
        for j, (y, t) in enumerate(zip(codes[1], scales[1], strict=True))
        if found[i, j] != (bits := accumulation(x, y, s, t, *formats))
    ]


@pytest.mark.sampled(28)
@pytest.mark.parametrize(("how", "format_a", "format_b"), CASES)
def test_all_pairs_equal_the_slow_twin(how: Accumulation, format_a: str, format_b: str) -> None:
    state = np.random.default_rng([ADDERS.index(how), *format_a.encode(), *format_b.encode()])
    for length in LENGTHS:
        a, b = drawn((format_a, format_b), length, 2, state)
        assert differences(a, b, how) == []


@pytest.mark.parametrize("how", [h for h in ADDERS if not h.value.startswith("aligned")])
@pytest.mark.parametrize("run", [1, 3, 16])
def test_short_runs(how: Accumulation, run: int) -> None:
    a, b = drawn(("e4m3", "int8"), 19, 3, np.random.default_rng(run), run)
    assert differences(a, b, how) == []


@pytest.mark.parametrize(("how", "first", "apart", "last", "kept", "lost"), LAST_PLACES)
def test_the_last_place_that_counts(
    how: Accumulation, first: int, apart: int, last: int, kept: int, lost: int
) -> None:
    for second, bits in ((last, kept), (last - 1, lost)):
        sides = difference_of_powers(how, first, apart, second)
        assert accumulated(*sides, how).view(np.uint32).tolist() == [[bits]]


#: E4M3 rows that tell adders apart, and their sums: exact, sequential, pairwise, by additions that
#: truncate, aligned_25, aligned_13, and by bfloat16 additions.
TELLING = [
    ("78181878", "781818f8", 0x3C000000, 0, 0x3B800000, 0, 0x3C000000, 0, 0),
    ("101878", "181878", 0x47800001, 0x47800001, 0x47800001, *[0x47800000] * 4),
    ("781078", "7818f8", 0x3B000000, 0, 0, 0, 0x3B000000, 0, 0),
    ("781078", "7810f8", 0x3A800000, 0, 0, 0, 0, 0, 0),
    ("783078", "7830f8", *[0x3E800000] * 5, 0, 0),
    ("784078", "7848f8", *[0x41000000] * 6, 0),
]


def rounded(number: Fraction, bits: int, toward_zero: bool) -> Fraction:
    """To so many significant bits: toward zero, or to nearest even; exponents have no end."""
    if number == 0:
        return number
    above = number.numerator.bit_length() - number.denominator.bit_length()
    above += abs(number) >= Fraction(2) ** above  # of the leading bit
    unit = Fraction(2) ** (above - bits)
    return (math.trunc if toward_zero else round)(number / unit) * unit


def found(
    a: str,
    b: str,
    how: Accumulation,
    formats: tuple[str, str] = ("e4m3", "e4m3"),
    scales: str = "7f7f",
) -> int:
    """The bits that rows in hexadecimal give, each one block with a scale."""
    sides = (
        side(format, np.frombuffer(bytes.fromhex(x), np.uint8)[None], np.full((1, 1), s, np.uint8))
        for format, x, s in zip(formats, (a, b), bytes.fromhex(scales), strict=True)
    )
    return int(accumulated(*sides, how).view(np.uint32)[0, 0])


@pytest.mark.parametrize("row", TELLING, ids=lambda row: "_".join(row[:2]))
def test_rows_that_tell_adders_apart(row: tuple[Any, ...]) -> None:
    a, b, exact, sequential, pairwise, truncating, aligned_25, aligned_13, bfloat16 = row
    products = [
        value(x, "e4m3") * value(y, "e4m3")
        for x, y in zip(bytes.fromhex(a), bytes.fromhex(b), strict=True)
    ]
    by_truncation = functools.reduce(lambda x, y: rounded(x + y, 24, toward_zero=True), products)
    in_bfloat16 = functools.reduce(lambda x, y: rounded(x + y, 8, toward_zero=False), products)
    numbers = np.array([sum(products), by_truncation, in_bfloat16], np.float32)
    assert numbers.view(np.uint32).tolist() == [exact, truncating, bfloat16]
    for how in ("sequential", "by_block", "scales_last"):
        assert found(a, b, Accumulation(how)) == sequential
    assert found(a, b, Accumulation.PAIRWISE) == pairwise
    assert found(a, b, Accumulation.ALIGNED_25) == aligned_25
    assert found(a, b, Accumulation.ALIGNED_13) == aligned_13


@pytest.mark.parametrize(
    ("a", "b", "exact", "aligned_25"),
    [
        ("740c", "0108", 0x45000001, 0x45000000),
        ("78" + "13" * 31, "01" + "09" * 31, 0x4580003D, 0x45800000),
    ],
)
def test_a_subnormal_counts_with_the_exponent_of_its_field(
    a: str, b: str, exact: int, aligned_25: int
) -> None:
    codes = zip(bytes.fromhex(a), bytes.fromhex(b), strict=True)
    total = sum(value(x, "e5m2") * value(y, "e2m3") for x, y in codes)
    assert np.float32(total).view(np.uint32) == exact
    assert found(a, b, Accumulation.ALIGNED_25, ("e5m2", "e2m3")) == aligned_25


def test_a_group_that_cancels_keeps_its_exponent() -> None:
    """1 - 1 in one group and 2**-36 in another of the step is 0, but 0 * 1 and 2**-36 is 2**-36."""
    codes = np.zeros((1, 64), np.uint8)
    codes[0, [0, 1, 32]] = 2, 0xA, 2
    a = side("e2m1", codes, np.array([[127, 127 - 36]], np.uint8))
    for second, bits in ((2, 0), (0, 0x2D800000)):
        other = np.where(np.arange(64) == 1, second, np.array([[2, *[0] * 31, 2, *[0] * 31]]))
        other[0, 0] = second
        b = side("e2m1", other.astype(np.uint8), np.full((1, 2), 127, np.uint8))
        assert accumulated(a, b, Accumulation.ALIGNED_35).view(np.uint32)[0, 0] == bits


@pytest.mark.parametrize(
    ("a", "b", "scales", "sequential", "scales_last"),
    [
        ("01", "30", "fe83", 0x7C000000, 0x7F800000),  # scales multiplied first are infinite
        ("64", "64", "0061", 0x00001000, 0x00000000),  # and here zero
        ("7e", "7e", "fe01", 0x48C40000, 0x48C40000),
        ("00", "38", "fefe", 0x00000000, 0x7FC00000),  # zero times infinite scales
        ("7e", "fe", "fe81", 0xFF800000, 0xFF800000),  # larger than float32 holds
    ],
)
def test_products_of_scales(a: str, b: str, scales: str, sequential: int, scales_last: int) -> None:
    formats = ("e5m2", "e5m2") if a == "64" else ("e4m3", "e4m3")
    assert found(a, b, Accumulation.SEQUENTIAL, formats, scales) == sequential
    assert found(a, b, Accumulation.SCALES_LAST, formats, scales) == scales_last


def test_signs_of_zero_overflow_and_nothing_to_add() -> None:
    minus_zero, one = np.full((1, 3), 0x80, np.uint8), np.full((1, 3), 0x38, np.uint8)
    plain, top = np.full((1, 1), 127, np.uint8), np.full((1, 1), 254, np.uint8)
    big = np.array([[0x7E, 0x7E, 0xFE]], np.uint8)
    for how in (Accumulation.SEQUENTIAL, Accumulation.ALIGNED_25, Accumulation.ALIGNED_13):
        zero = accumulated(side("e4m3", minus_zero, plain), side("e4m3", one, plain), how)
        large = accumulated(side("e4m3", big, top), side("e4m3", one, top), how)
        assert zero.view(np.uint32)[0, 0] == 0
        in_order = how is Accumulation.SEQUENTIAL
        assert large.view(np.uint32)[0, 0] == (0x7FC00000 if in_order else 0x7F800000)
        nothing = side("e4m3", one[:, :0], plain[:, :0])
        assert accumulated(nothing, nothing, how).view(np.uint32).tolist() == [[0]]
        assert accumulated(side("e4m3", one[:0], plain[:0]), nothing, how).shape == (0, 1)


REFUSED = [
    ("exact", "e4m3 e4m3", 32, "accumulation must name an adder of float32 sums, got exact"),
    ("aligned_25", "e4m3 int8", 32, "elements of e5m2 e4m3 e3m2 e2m3 e2m1, got int8"),
    ("aligned_35", "e2m1 e2m3", 32, "accumulation=aligned_35 .* elements of e2m1, got e2m3"),
    ("aligned_13", "e3m2 e4m3", 32, "elements of e5m2 e4m3, got e3m2: name another"),
    ("aligned_25", "e4m3 e4m3", 16, "must have blocks of 32, got 16: name another"),
]


@pytest.mark.parametrize(("how", "formats", "run", "message"), REFUSED)
def test_what_adders_refuse(how: str, formats: str, run: int, message: str) -> None:
    codes, scales = np.zeros((1, 32), np.uint8), np.zeros((1, 32 // run), np.uint8)
    sides = [side(format, codes, scales, run) for format in formats.split()]
    with pytest.raises(ValueError, match=message):
        accumulated(*sides, Accumulation(how))


def test_many_rows_are_done_in_chunks() -> None:
    """More columns than a chunk, and rows that do not fill the last one."""
    state = np.random.default_rng(1)
    a, b = drawn(("e4m3", "e2m1"), 5, 1, state)
    codes, scales = (np.tile(part, (20000, 1)) for part in (b.codes, b.scales))
    many = dataclasses.replace(b, codes=codes, scales=scales)
    for sides, few, count in (((a, many), (a, b), (1, 20000)), ((many, a), (b, a), (20000, 1))):
        for how in (Accumulation.ALIGNED_25, Accumulation.PAIRWISE):
            want = np.tile(accumulated(*few, how).view(np.uint32), count)
            assert np.array_equal(accumulated(*sides, how).view(np.uint32), want)


def test_the_exponent_of_a_group_is_that_of_the_scales() -> None:
    """16 - 2**-35 keeps its last place, though 16 has the exponent 4."""
    codes = np.zeros((2, 64), np.uint8)
    codes[:, 0], codes[:, 32], codes[1, 32] = 6, 2, 0xA
    scales = np.array([[127, 127 - 35], [127, 127]], np.uint8)
    a, b = (side("e2m1", codes[i : i + 1], scales[i : i + 1]) for i in (0, 1))
    assert accumulated(a, b, Accumulation.ALIGNED_35).view(np.uint32)[0, 0] == 0x417FFFFF


def largest_loss(formats: tuple[str, str]) -> list[np.ndarray]:
    """Codes whose product counts with too large an exponent, and those of the largest one cut off.

    Of all pairs of products of two formats, that which loses the most of the first product.
    """
    codes = [np.arange(1, ELEMENT_FORMATS[format].max_code + 1) for format in formats]
    values = [mxref.decode(c, f, np.float64) for c, f in zip(codes, formats, strict=True)]
    least = [ELEMENT_FORMATS[format].emin for format in formats]
    fields = [np.maximum(np.frexp(v)[1] - 1, e) for v, e in zip(values, least, strict=True)]
    products = np.outer(*values).ravel()
    order = np.argsort(products)
    unit = np.ldexp(1.0, np.add.outer(*fields).ravel() - 25)
    cut = np.searchsorted(products[order], unit) - 1
    lost = np.where(cut < 0, 0, products[order[cut]]) / products
    first, second = int(np.argmax(lost)), order[cut[np.argmax(lost)]]
    pairs = np.array([np.unravel_index(i, (len(codes[0]), len(codes[1]))) for i in (first, second)])
    return [(pairs[:, side] + 1).astype(np.uint8) for side in (0, 1)]


def outside(a: Operand, b: Operand, how: Accumulation) -> list[tuple[int, int]]:
    """Outputs outside the interval of all adders, and others where every order gives one sum."""
    sums = accumulated(a, b, how)
    rows = [
        [
            exact_dot.row(scales, codes[: one.length], one.format.name)
            for codes, scales in zip(one.codes.tolist(), one.scales.tolist(), strict=True)
        ]
        for one in (a, b)
    ]
    places = []
    for (i, x), (j, y) in itertools.product(enumerate(rows[0]), enumerate(rows[1])):
        ends = exact_dot.dot_bounds(x, y, "f32", "any")
        low, high, overflow = np.array(ends, np.uint32).view(np.float32)
        beside = not np.isfinite(sums[i, j]) if np.isnan(overflow) else sums[i, j] == overflow
        if not (low <= sums[i, j] <= high or beside):
            places.append((i, j))
    return places


ALIGNED = [case for case in CASES if case.values[0].value in ("aligned_25", "aligned_35")]


@pytest.mark.parametrize(("how", "format_a", "format_b"), ALIGNED)
def test_aligned_sums_stay_in_the_interval_of_all_adders(
    how: Accumulation, format_a: str, format_b: str, share: Share
) -> None:
    state = np.random.default_rng([*format_a.encode(), *format_b.encode()])
    worst = largest_loss((format_a, format_b))
    for length in (2, 32, 64, 96):
        one = np.full((1, -(-length // 32)), 127, np.uint8)
        sides = []
        for format, codes in zip((format_a, format_b), worst, strict=True):
            where = np.arange(length) % 32 > 0
            sides.append(side(format, codes[where.astype(int)][None], one))
        assert outside(*sides, how) == []
    for length in LENGTHS if share.complete else (2, 5, 96):
        a, b = drawn((format_a, format_b), length, 10 if share.complete else 2, state)
        assert outside(a, b, how) == []


def test_matmul_gives_the_sums_of_adders_in_each_type_and_sets_special_values() -> None:
    x, w = np.zeros((2, 40), np.float32), np.zeros((1, 40), np.float32)
    x[0, :3], w[0, :3] = [2.0**-5, 2.0**-4, 2.0**8], [2.0**-4, 2.0**-4, 2.0**8]
    x[1, 39], w[0, 39] = 2.0**-5, 0.0
    a = mxref.quantize(x, "mxfp8_e5m2", overflow="nonsaturating", axis=1)
    b = mxref.quantize(w, "mxfp8_e5m2", axis=1)
    for how, bits in (("sequential", 0x47800001), ("aligned_25", 0x47800000)):
        sums = mxref.matmul(a, b.T, accumulation=how)
        assert sums.view(np.uint32).tolist() == [[bits], [0]]
        wide = mxref.matmul(a, b.T, np.float64, accumulation=how)
        assert np.array_equal(wide, sums)
        halves = mxref.matmul(a, b.T, np.float16, accumulation=how)
        assert np.array_equal(halves.ravel(), np.float16([np.inf, 0]))
        special = dataclasses.replace(a, codes=np.where(a.codes, np.uint8(0x7C), np.uint8(0)))
        results = mxref.matmul(special, b.T, accumulation=how).ravel()
        assert results.view(np.uint32).tolist() == [0x7F800000, 0x7FC00000]  # Inf, and Inf times 0
    with pytest.raises(ValueError, match="aligned_35 must have elements of e2m1, got e5m2"):
        mxref.matmul(a, b.T, accumulation="aligned_35")


@pytest.mark.parametrize("how", [how for how in ADDERS if "e4m3" in FORMATS[how]])
def test_sums_that_float32_loses_or_that_overflow_on_the_way(how: Accumulation) -> None:
    """200704 + 2**-18 - 200704, and 2**127 + 2**127 - 2**127 in three blocks."""
    assert found("7e017e", "7e01fe", how) == 0
    codes = np.zeros((2, 96), np.uint8)
    codes[:, ::32] = 0x38
    codes[1, 64] = 0xB8
    scales = np.array([[0xFE] * 3, [0x7F] * 3], np.uint8)
    a, b = (side("e4m3", codes[i : i + 1], scales[i : i + 1]) for i in (0, 1))
    assert accumulated(a, b, how).view(np.uint32)[0, 0] == 0x7F800000
