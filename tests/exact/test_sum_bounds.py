"""Bounds of weight-only layers: what may overflow on the way, by hand."""

from __future__ import annotations

import pytest

from mxref.exact.sum_bounds import linear_bounds

NAN = 0x7FC00000


def power(exponent: int) -> int:
    """The float32 of a power of two."""
    return exponent + 127 << 23


# x, w and the scale, whose product is finite: x * w or w * scale is not.
@pytest.mark.parametrize(
    ("x", "w", "scale", "order", "beyond"),
    [
        (127, 4, -10, "dequantize", False),
        (127, 4, -10, "scale_last", True),
        (127, 4, -10, "offset", True),
        (-10, 4, 127, "dequantize", True),
        (-10, 4, 127, "scale_last", False),
        (-10, 4, 127, "offset", False),
        (10, 4, 117, "dequantize", True),  # the product itself
    ],
)
def test_what_may_overflow_on_the_way(x: int, w: int, scale: int, order: str, beyond: bool) -> None:
    low, high, third = linear_bounds([power(x)], [w], [power(scale)], order)
    assert low <= power(min(x + 2 + scale, 128)) <= high
    assert third == (NAN if beyond else low)
