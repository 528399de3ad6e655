"""Names that are near what was typed."""

from __future__ import annotations

import pytest

from mxref.support.text import suggestion

NAMES = ["to_nan", "nan_to_max", "of_nan_block", "ties_even", "blockwise"]


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("nan", "nan_to_max"),  # its beginning counts more than a word inside
        ("NAN_TO", "nan_to_max"),
        ("even", "ties_even"),
        ("block", "blockwise"),
        ("wise", "blockwise"),  # inside a word
        ("tie_even", "ties_even"),
        ("na", "nan_to_max"),
        ("to", "to_nan"),
        ("ma", None),  # two letters count at the beginning only
        ("is", None),
        ("", None),
        ("xyzw", None),
    ],
)
def test_the_nearest_name(typed: str, near: str | None) -> None:
    assert suggestion(typed, NAMES) == (f" (did you mean {near!r}?)" if near else "")
