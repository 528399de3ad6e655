"""Arrays of the caller that results are written to: which are taken and which are refused."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import sentence

from mxref.bits.floats import F32
from mxref.bits.out import array_out, codes_out, floats_out

ALONE = (
    "out must share no memory with the input, with its other array or with itself: "
    "give arrays of their own"
)


def test_arrays_that_fit_are_written_to() -> None:
    codes, scales, values = np.zeros((2, 3), np.uint8), np.zeros(2, np.uint8), np.zeros((2, 3))
    found = codes_out((codes, scales), (2, 3), (2,), values)
    assert found[0] is codes
    assert found[1] is scales
    numbers = np.zeros(3, np.float32)
    assert array_out(numbers, np.dtype(np.float32), (3,), values) is numbers
    floats_out(numbers, (3,), F32, values)[1] = 0x3F800000
    assert numbers.tolist() == [0, 1, 0]


def test_memory_of_its_own() -> None:
    memory = np.zeros(64, np.uint8)
    one, other, spare = memory[:32], memory[31:63], np.zeros(32, np.uint8)
    for pair in ((one, other), (other, one), (one, one)):
        assert sentence(ValueError, lambda pair=pair: codes_out(pair, (32,), (32,))) == ALONE
    for pair in ((one, spare), (spare, one)):
        assert sentence(ValueError, lambda pair=pair: codes_out(pair, (32,), (32,), other)) == ALONE
        assert codes_out(pair, (32,), (32,), memory[32:])[0] is pair[0]
    assert sentence(ValueError, lambda: array_out(one, one.dtype, (32,), spare, other)) == ALONE


@pytest.mark.parametrize(
    ("shape", "strides", "overlaps"),
    [
        ((2, 3), (3, 1), False),
        ((2, 3), (2, 1), True),
        ((3, 2), (1, 3), False),
        ((3, 2), (1, 2), True),
        ((2, 3), (4, 1), False),
        ((2,), (0,), True),
        ((1, 3), (0, 1), False),  # one row: its stride is never used
        ((1, 3), (2, 1), False),
        ((2, 0), (0, 1), False),  # empty
        ((2, 2, 2), (4, 2, 1), False),
        ((2, 2, 2), (3, 2, 1), True),
        ((2, 3), (-3, -1), False),
        ((2, 3), (-2, 1), True),
    ],
)
def test_elements_that_share_memory(
    shape: tuple[int, ...], strides: tuple[int, ...], *, overlaps: bool
) -> None:
    array = np.lib.stride_tricks.as_strided(np.zeros(32, np.uint8)[16:], shape, strides)
    out = array, np.zeros(1, np.uint8)
    if overlaps:
        assert sentence(ValueError, lambda: codes_out(out, shape, (1,))) == ALONE
    else:
        assert codes_out(out, shape, (1,))[0] is array
