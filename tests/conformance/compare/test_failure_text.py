"""The first word that differs, in words."""

from __future__ import annotations

import pytest

from mxref.cases.records import Case
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import difference
from mxref.targets.calls import without_cases

ONE, MINUS_ONE = 0x3F800000, 0xBF800000
#: 2**0 and its neighbour below as scales, and 1 and 1.5 as elements of E2M1.
SCALE, LOWER = 127, 126


@pytest.mark.parametrize(
    ("op", "inputs", "want", "got", "text"),
    [
        (  # both the scale and elements: the scale is first
            "quantize", (ONE, MINUS_ONE), (SCALE, 2, 10), (LOWER, 4, 12),
            "scale: amax 3f800000 = 0x1p+0 = 1, want 7f = 2^0, got 7e = 2^-1, 1 code away",
        ),
        (
            "quantize", (ONE, MINUS_ONE), (SCALE, 2, 10), (SCALE, 3, 11),
            "element 0: in 3f800000 = 0x1p+0 = 1, scale 7f = 2^0, "
            "want 02 = 1 (0 01 0), got 03 = 1.5 (0 01 1), 1 code away",
        ),
        (
            "quantize", (ONE, MINUS_ONE), (SCALE, 2, 10), (SCALE, 2, 2),
            "element 1: in bf800000 = -0x1p+0 = -1, scale 7f = 2^0, "
            "want 0a = -1 (1 01 0), got 02 = 1 (0 01 0), 4 codes away",
        ),
        (
            "dequantize", (SCALE, 2, 10), (ONE, MINUS_ONE), (ONE, ONE),
            "scale 7f = 2^0, element 1: 0a = -1, "
            "want bf800000 = -0x1p+0 = -1, got 3f800000 = 0x1p+0 = 1",
        ),
    ],
)  # fmt: skip
def test_the_first_word_that_differs(
    op: str, inputs: tuple[int, ...], want: tuple[int, ...], got: tuple[int, ...], text: str
) -> None:
    file = without_cases(op, "mxfp4_e2m1", "f32")
    case = Case("id", inputs, (want,), (), "required", "MX-6.3", "", ())
    assert difference(file, Failure(0, case, want, got)) == text
