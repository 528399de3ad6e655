"""Names that are near what was typed."""

from __future__ import annotations

import pytest
from tables import rows

from mxref.support.text import suggestion

NAMES = ["to_nan", "nan_to_max", "of_nan_block", "ties_even", "blockwise"]


@pytest.mark.parametrize(
    ("typed", "near"),
    rows("support", "typed"),
)
def test_the_nearest_name(typed: str, near: str) -> None:
    assert suggestion(typed, NAMES) == (f" (did you mean {near!r}?)" if near else "")
