"""Tables of patterns read two codes at a time, or as integers: every pair against the table."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mxref.bits import pairs
from mxref.bits.floats import BF16, F32, F64, FloatLayout
from mxref.bits.pairs import Table

CODES = np.arange(1 << 16, dtype=np.uint16).view(np.uint8)  # every pair


def integers(layout: FloatLayout, exponent: int) -> np.ndarray:
    """Patterns of every code as int8 times a power of two, from integers alone."""
    found = []
    for code in range(256):
        number = code - 256 * (code >= 128)
        power = int(math.log2(abs(number))) if number else 0
        fraction = (abs(Fraction(number)) / 2**power - 1) * 2**layout.mantissa_bits
        field = power + exponent + layout.bias
        pattern = (field << layout.mantissa_bits) + int(fraction) if number else 0
        found.append(pattern | (layout.sign_bit if number < 0 else 0))
    return np.array(found, layout.uint)


@pytest.mark.parametrize("layout", [F32, F64, BF16], ids=lambda one: one.name)
@pytest.mark.parametrize("count", [16, 64, 256])
def test_every_pair_is_read(layout: FloatLayout, count: int) -> None:
    array = np.random.default_rng(count).integers(0, 1 << layout.width, count, layout.uint)
    codes = CODES[CODES.reshape(-1, 2).max(axis=1).repeat(2) < count]
    for some in (codes, codes[:-1], codes[:1], codes[::2], codes[:0]):
        target = np.zeros(some.size, layout.uint)
        Table(array).write(some, target, in_pairs=True)
        assert (target == array[some]).all()


@pytest.mark.parametrize("layout", [F32, F64], ids=lambda one: one.name)
def test_codes_that_are_integers_are_computed(layout: FloatLayout) -> None:
    ends = layout.emin, layout.bias - 7
    for exponent in (-6, 0, *ends):
        table = Table(integers(layout, exponent))
        assert pairs._of_integers(table) is not None
        target = np.zeros(CODES.size, layout.uint)
        table.write(CODES, target, in_pairs=True)
        assert (target == table.array[CODES]).all()


@pytest.mark.parametrize("layout", [F32, F64], ids=lambda one: one.name)
def test_codes_that_are_nearly_integers_are_looked_up(layout: FloatLayout) -> None:
    whole = integers(layout, -6)
    others = [whole.copy() for _ in range(4)]
    others[0][0] = layout.sign_bit  # -0
    others[1][128] = 0
    others[2][255] += 1
    others[3] = np.where(whole == 0, whole, whole + 1)  # no power of two
    for array in (*others, integers(layout, layout.bias - 6), whole[:128]):
        assert pairs._of_integers(Table(array)) is None
    small = integers(layout, layout.emin - 1)  # 1 is a subnormal number
    small[[1, 255]] = 1 << layout.mantissa_bits - 1
    small[255] |= layout.sign_bit
    assert pairs._of_integers(Table(small)) is None
