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

import mxref
from mxref.exact import value
from mxref.exact.adders import accumulation
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.policy.choices import Accumulation
from mxref.products.accumulation import accumulated
from mxref.products.operand import Operand

ADDERS = [how for how in Accumulation if how is not Accumulation.EXACT]
FP8 = ("e5m2", "e4m3")
FORMATS = {
    **dict.fromkeys(ADDERS, tuple(ELEMENT_FORMATS)),
    Accumulation.ALIGNED_25: (*FP8, "e3m2", "e2m3", "e2m1"),
    Accumulation.ALIGNED_35: ("e2m1",),
    Accumulation.ALIGNED_13: FP8,
}
CASES = [
    pytest.param(how, *pair, id=f"{how.value}-{'-'.join(pair)}")
    for how in ADDERS
    for pair in itertools.product(FORMATS[how], repeat=2)
]
LENGTHS = (1, 2, 5, 31, 32, 33, 64, 71, 96, 130)
#: Scales of a and b: ordinary ones, the ends, sums around the exponent that a zero counts with, and
#: sums where float32 overflows.
SCALES = [
    (0x7F, 0x7F),
    (0x00, 0xFE),
    (0xFE, 0xFE),
    (0x00, 0x00),
    (0x3A, 0x3F),
    (0x01, 0x78),
    (0xFE, 0x83),
    (0xB0, 0xC4),
]


def side(format: str, codes: np.ndarray, scales: np.ndarray, run: int = 32) -> Operand:
    """Rows of codes, filled with code 00 to whole runs."""
    rows, length = codes.shape
    filled = np.zeros((rows, -(-length // run) * run), np.uint8)
    filled[:, :length] = codes
    return Operand(ELEMENT_FORMATS[format], filled, scales, run, length)


def finite(format: str) -> np.ndarray:
    fmt = ELEMENT_FORMATS[format]
    specials = (*fmt.nan_codes, *({fmt.inf_code, (fmt.inf_code or 0) | fmt.sign_bit}))
    return np.array([code for code in range(fmt.code_count) if code not in specials], np.uint8)


def ends(format: str) -> np.ndarray:
    """Both zeros, ends of the subnormals and of the normals, and 1, with both signs."""
    fmt = ELEMENT_FORMATS[format]
    one = fmt.bias << fmt.mantissa_bits
    normal = 1 << fmt.mantissa_bits
    magnitudes = np.array([0, 1, normal - 1, normal, one, fmt.max_code, fmt.max_code], np.uint8)
    return np.concatenate([magnitudes, magnitudes | fmt.sign_bit]) & np.uint8(fmt.code_count - 1)


def drawn(
    formats: tuple[str, str], length: int, rows: int, state: np.random.Generator, run: int = 32
) -> tuple[Operand, Operand]:
    """Rows of random codes, of codes at the ends, and few among zeros; the scales of SCALES."""
    sides: list[list[np.ndarray]] = [[], []]
    runs = -(-length // run)
    pairs = np.array(SCALES)[state.integers(len(SCALES), size=(2 * rows, runs))]
    pairs[:rows] = np.array(SCALES)[state.integers(len(SCALES), size=(rows, 1))]
    near = pairs + state.integers(-9, 10, pairs.shape)
    scales = np.clip(np.where(state.random(pairs.shape) < 0.5, pairs, near), 0, 254)
    for codes, format in zip(sides, formats, strict=True):
        for pool in (finite(format), ends(format)):
            some = state.choice(pool, (rows, length))
            codes.append(np.where(state.random((rows, 1)) < 0.8, some, 0).astype(np.uint8))
        few = state.random((rows, length)) < 4 / length
        codes[1] = np.where(few | (state.random((rows, 1)) < 0.5), codes[1], 0).astype(np.uint8)
    a, b = (
        side(format, np.concatenate(codes), scales[..., place].astype(np.uint8), run)
        for place, (format, codes) in enumerate(zip(formats, sides, strict=True))
    )
    return a, b


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


@pytest.mark.parametrize("how", ADDERS)
def test_every_adder_equals_the_slow_twin(how: Accumulation) -> None:
    state = np.random.default_rng(ADDERS.index(how))
    formats = FORMATS[how][0], FORMATS[how][-1]
    for length in (3, 96, 130):
        a, b = drawn(formats, length, 4, state)
        assert differences(a, b, how) == []


@pytest.mark.parametrize("how", [h for h in ADDERS if not h.value.startswith("aligned")])
@pytest.mark.parametrize("run", [1, 3, 16])
def test_short_runs(how: Accumulation, run: int) -> None:
    a, b = drawn(("e4m3", "int8"), 19, 3, np.random.default_rng(run), run)
    assert differences(a, b, how) == []


def two(how: Accumulation, first: int, apart: int, second: int) -> int:
    """The bits of 2**first - 2**second, with zeros between and after them.

    Within a block the codes have the difference, between blocks the scales.
    """
    codes = np.zeros((2, apart // 64 * 64 + 64), np.uint8)
    format = "e2m1" if how is Accumulation.ALIGNED_35 else "e5m2"
    one = mxref.encode([1.0], format)[0].view(np.uint8)
    codes[:, 0] = codes[:, apart] = one
    if apart < 32:
        half = (second - first) // 2
        codes[:, apart] = mxref.encode(2.0 ** np.array([half, second - first - half]), format)
    codes[1, apart] |= ELEMENT_FORMATS[format].sign_bit
    powers = [first, *[first if apart < 32 else second] * (codes.shape[1] // 32 - 1)]
    scales = np.array(
        [[power // 2 + 127 for power in powers], [-(-power // 2) + 127 for power in powers]]
    )
    a, b = (side(format, codes[i : i + 1], scales[i : i + 1].astype(np.uint8)) for i in (0, 1))
    return int(accumulated(a, b, how).view(np.uint32)[0, 0])


@pytest.mark.parametrize(
    ("how", "first", "apart", "last", "kept", "lost"),
    [
        (Accumulation.ALIGNED_25, 0, 1, -25, 0x3F7FFFFF, 0x3F800000),
        (Accumulation.ALIGNED_25, 0, 32, -25, 0x3F7FFFFF, 0x3F800000),
        (Accumulation.ALIGNED_25, -149, 1, -133 - 25, 0, 1),  # zeros have the largest exponent
        (Accumulation.ALIGNED_25, -149, 32, -126 - 25, 0, 1),  # and here the subnormal sum so far
        (Accumulation.ALIGNED_35, 0, 32, -35, 0x3F7FFFFF, 0x3F800000),
        (Accumulation.ALIGNED_35, 0, 64, -35, 0x3F7FFFFF, 0x3F800000),
        (Accumulation.ALIGNED_35, -149, 32, -139 - 35, 0, 1),
        (Accumulation.ALIGNED_35, -149, 64, -126 - 35, 0, 1),
        (Accumulation.ALIGNED_13, 0, 1, -13, 0x3F7FF800, 0x3F800000),
    ],
)
def test_the_last_place_that_counts(
    how: Accumulation, first: int, apart: int, last: int, kept: int, lost: int
) -> None:
    assert two(how, first, apart, last) == kept
    assert two(how, first, apart, last - 1) == lost


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


def found(a: str, b: str, how: Accumulation, format_a: str = "e4m3", format_b: str = "e4m3") -> int:
    """The bits that a row in hexadecimal gives, with scales of 1."""
    codes = [np.frombuffer(bytes.fromhex(text), np.uint8)[None] for text in (a, b)]
    one = np.full((1, 1), 127, np.uint8)
    sides = (side(format, x, one) for format, x in zip((format_a, format_b), codes, strict=True))
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
    assert found(a, b, Accumulation.ALIGNED_25, "e5m2", "e2m3") == aligned_25


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
    format = "e5m2" if a == "64" else "e4m3"
    operands = [
        side(
            format,
            np.frombuffer(bytes.fromhex(text), np.uint8)[None],
            np.array([[scale]], np.uint8),
        )
        for text, scale in zip((a, b), bytes.fromhex(scales), strict=True)
    ]
    for how, bits in (
        (Accumulation.SEQUENTIAL, sequential),
        (Accumulation.SCALES_LAST, scales_last),
    ):
        assert accumulated(*operands, how).view(np.uint32)[0, 0] == bits


def test_signs_of_zero_overflow_and_nothing_to_add() -> None:
    minus_zero, one = np.full((1, 3), 0x80, np.uint8), np.full((1, 3), 0x38, np.uint8)
    plain, top = np.full((1, 1), 127, np.uint8), np.full((1, 1), 254, np.uint8)
    big = np.array([[0x7E, 0x7E, 0xFE]], np.uint8)
    for how in (Accumulation.SEQUENTIAL, Accumulation.ALIGNED_25, Accumulation.ALIGNED_13):
        zero = accumulated(side("e4m3", minus_zero, plain), side("e4m3", one, plain), how)
        large = accumulated(side("e4m3", big, top), side("e4m3", one, top), how)
        in_order = how is Accumulation.SEQUENTIAL
        assert zero.view(np.uint32)[0, 0] == (0x80000000 if in_order else 0)
        assert large.view(np.uint32)[0, 0] == (0x7FC00000 if in_order else 0x7F800000)
        nothing = side("e4m3", one[:, :0], plain[:, :0])
        assert accumulated(nothing, nothing, how).view(np.uint32).tolist() == [[0]]
        assert accumulated(side("e4m3", one[:0], plain[:0]), nothing, how).shape == (0, 1)


@pytest.mark.parametrize(
    ("how", "formats", "run", "message"),
    [
        (
            "exact",
            ("e4m3", "e4m3"),
            32,
            "accumulation must name an adder of float32 sums, got exact",
        ),
        ("aligned_25", ("e4m3", "int8"), 32, "elements of e5m2 e4m3 e3m2 e2m3 e2m1, got int8"),
        (
            "aligned_35",
            ("e2m1", "e2m3"),
            32,
            "accumulation=aligned_35 .* elements of e2m1, got e2m3",
        ),
        ("aligned_13", ("e3m2", "e4m3"), 32, "elements of e5m2 e4m3, got e3m2: name another"),
        ("aligned_25", ("e4m3", "e4m3"), 16, "must have blocks of 32, got 16: name another"),
    ],
)
def test_what_adders_refuse(how: str, formats: tuple[str, str], run: int, message: str) -> None:
    codes, scales = np.zeros((1, 32), np.uint8), np.zeros((1, 32 // run), np.uint8)
    sides = [side(format, codes, scales, run) for format in formats]
    with pytest.raises(ValueError, match=message):
        accumulated(*sides, Accumulation(how))


def test_many_rows_are_done_in_chunks() -> None:
    """More columns than a chunk, and rows that do not fill the last one."""
    state = np.random.default_rng(1)
    a, b = drawn(("e4m3", "e2m1"), 5, 1, state)
    many = dataclasses.replace(
        b, codes=np.tile(b.codes, (20000, 1)), scales=np.tile(b.scales, (20000, 1))
    )
    few = accumulated(a, b, Accumulation.ALIGNED_25).view(np.uint32)
    assert np.array_equal(
        accumulated(a, many, Accumulation.ALIGNED_25).view(np.uint32), np.tile(few, (1, 20000))
    )
    other = accumulated(many, a, Accumulation.PAIRWISE).view(np.uint32)
    assert np.array_equal(
        other, np.tile(accumulated(b, a, Accumulation.PAIRWISE).view(np.uint32), (20000, 1))
    )


def test_the_exponent_of_a_group_is_that_of_the_scales() -> None:
    """16 - 2**-35 keeps its last place, though 16 has the exponent 4."""
    codes = np.zeros((2, 64), np.uint8)
    codes[:, 0], codes[:, 32], codes[1, 32] = 6, 2, 0xA
    scales = np.array([[127, 127 - 35], [127, 127]], np.uint8)
    a, b = (side("e2m1", codes[i : i + 1], scales[i : i + 1]) for i in (0, 1))
    assert accumulated(a, b, Accumulation.ALIGNED_35).view(np.uint32)[0, 0] == 0x417FFFFF
