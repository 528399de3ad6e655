"""Words of repeated cases lie in memory in the narrowest type that has all of them."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.conformance.checking.repeated_cases import _narrow
from mxref.operands.word_rows import NO_WORD


@pytest.mark.parametrize(
    ("largest", "bits"),
    [(0, 8), (255, 8), (256, 16), (0xFFFF, 16), (0x10000, 32), (2**32 - 1, 32), (2**32, 64)],
)
def test_the_largest_word_decides(largest: int, bits: int) -> None:
    words = np.array([[1, largest], [0, 7]], np.uint64)
    found = _narrow(words)
    assert found.dtype == f"u{bits // 8}"
    assert found.tolist() == [[1, largest], [0, 7]]


def test_no_word_stays_what_it_is_and_there_may_be_none() -> None:
    assert int(_narrow(np.array([[NO_WORD]], np.uint64))[0, 0]) == NO_WORD
    assert _narrow(np.empty((0, 3), np.uint64)).shape == (0, 3)
