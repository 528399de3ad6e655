"""Distinct numbers and rows, as NumPy's slower function finds them."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.support.distinct import distinct, distinct_rows


@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (1, 3), (200, 1), (300, 2), (300, 3)])
def test_rows_and_numbers_are_sorted_and_told_once(shape: tuple[int, int]) -> None:
    for dtype in (np.uint64, np.int8):
        rows = np.random.default_rng(0).integers(0, 5, shape).astype(dtype)
        rows -= np.array(2, dtype)  # negative, or beyond int64
        found = distinct_rows(rows)
        assert found.dtype == dtype
        assert np.array_equal(found, np.unique(rows, axis=0))
        assert np.array_equal(distinct(rows), np.unique(rows))
