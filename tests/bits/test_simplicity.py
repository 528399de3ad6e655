"""The order of floats by simplicity, against its definition in words, on every 16-bit float."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mxref.bits.floats import BF16, F16, F32, FloatLayout
from mxref.bits.simplicity import number, simpler, simplest_first, simplicity


def digits(bits: int, layout: FloatLayout) -> tuple[str, int]:
    """A finite number's binary digits after the leading one, and that one's exponent."""
    field, fraction = divmod(bits & (layout.sign_bit - 1), 1 << layout.mantissa_bits)
    n = fraction + (bool(field) << layout.mantissa_bits)
    exponent = max(field, 1) - layout.bias - layout.mantissa_bits
    return f"{n:b}"[1:].rstrip("0"), exponent + n.bit_length() - 1


def key(bits: int, layout: FloatLayout) -> Any:
    """`simplicity` as its docstring says it."""
    magnitude, negative = bits & (layout.sign_bit - 1), bool(bits & layout.sign_bit)
    if magnitude == 0:
        return 0, negative
    if magnitude >= layout.inf_bits:
        is_nan = magnitude > layout.inf_bits
        return 2, is_nan, magnitude != layout.nan_bits, negative, magnitude
    text, exponent = digits(bits, layout)
    backwards = int(text[::-1] or "0", 2)
    return 1, len(text), abs(exponent), negative, exponent < 0, backwards


@pytest.mark.parametrize("layout", [F16, BF16], ids=lambda layout: layout.name)
def test_every_key(layout: FloatLayout) -> None:
    for bits in range(0, 1 << 16, 3):
        assert simplicity(bits, layout) == key(bits, layout), hex(bits)


@pytest.mark.parametrize(
    "words",
    [
        (0, 0x80000000, 0x3F800000, 0xBF800000, 0x40000000, 0x3F000000, 0xC0000000),
        (0x3F800000, 0x3FC00000, 0x3FA00000, 0x3FE00000, 0x3F900000, 0x3F800001, 0x7F800000),
        (1, 3, 5, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001),
        (0x3F800000, 0x00800000, 0x00400000, 0x00200000, 1),  # powers of two, subnormal ones too
    ],
)
def test_the_order(words: tuple[int, ...]) -> None:
    assert simplest_first(reversed(words), F32) == list(words)


@pytest.mark.parametrize("layout", [F16, BF16], ids=lambda layout: layout.name)
def test_a_number_of_its_digits(layout: FloatLayout) -> None:
    """Leading one, then the fraction's bits from the lowest to the highest."""
    for exponent in range(layout.emin - layout.mantissa_bits, layout.bias + 1):
        for fraction in range(16):
            n = Fraction(1) + sum(Fraction(fraction >> i & 1, 2 << i) for i in range(4))
            unit = Fraction(2) ** (max(exponent, layout.emin) - layout.mantissa_bits)
            value = n * Fraction(2) ** exponent // unit * unit
            bits = number(layout, fraction, exponent)
            minus = number(layout, fraction, exponent, negative=True)
            assert Fraction(float(np.array(bits, layout.uint).view(layout.dtype))) == value
            assert minus == bits | layout.sign_bit


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("bits", "reach"), [(0x7E01, 200), (0xFC00, 3), (0x6EEF, 7), (0x3555, 200), (1, 200), (0, 200)]
)
def test_what_is_simpler(bits: int, reach: int) -> None:
    layout = F16
    words = set()
    for word in range(1 << 16):
        magnitude = word & 0x7FFF
        if magnitude in (0, layout.inf_bits, layout.nan_bits, layout.inf_bits | 1):
            words.add(word)
        elif magnitude < layout.inf_bits:
            text, exponent = digits(word, layout)
            if len(text) <= 4 and abs(exponent) <= reach:
                words.add(word)
    for keep in range(1, layout.mantissa_bits + 1):
        cut = bits >> keep << keep
        words |= {cut, *(cut | 1 << one for one in range(keep))}
    want = sorted(
        (*key(word, layout), word) for word in words if key(word, layout) < key(bits, layout)
    )
    assert simpler(bits, layout, reach) == [one[-1] for one in want]
