"""The numbers of a format as float patterns, in Python integers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mxref.bits.floats import BF16, F16, F32, F64, FloatLayout
from mxref.cases.grid import pattern
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import float_reader


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", [F16, BF16], ids=lambda layout: layout.name)
def test_every_number_has_its_pattern(layout: FloatLayout) -> None:
    read = float_reader(FLOATS[layout.name])
    for bits in range(1 << 16):
        sign, n, e = read(bits)
        if n > 0:
            assert pattern(-n if sign else n, e, layout) == bits
            assert pattern(-4 * n if sign else 4 * n, e - 2, layout) == bits
    assert pattern(0, 5, layout) == 0


@pytest.mark.parametrize("layout", [F32, F64], ids=lambda layout: layout.name)
@pytest.mark.parametrize(
    ("n", "e"), [(1, -149), (3, -149), (-(2**24 - 1), 104), (5, -3), (-1, 127)]
)
def test_numbers_of_numpy(layout: FloatLayout, n: int, e: int) -> None:
    number = np.array(n * 2.0**e, layout.dtype)
    assert pattern(n, e, layout) == int(number.view(layout.uint))


@pytest.mark.parametrize(
    ("n", "e", "layout"),
    [
        (2049, 0, F16),  # a bit too many
        (3, -25, F16),  # half a unit among the subnormals
        (1, -25, F16),
        (1, -60, F16),
        (1, 16, F16),  # beyond the largest
        (-(2**12 - 1), 4, F16),
        (1, 128, F32),
        (2**24 + 1, 0, F32),
        (1, -1075, F64),
        (1, 1024, F64),
    ],
)
def test_what_is_no_number_of_the_type_is_refused(n: int, e: int, layout: FloatLayout) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{n} * 2**{e}')} is not exact in "):
        pattern(n, e, layout)
