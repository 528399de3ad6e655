"""What rests on one case, one call or one size says that it is a guess; what does not, does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_reports import report_on
from tables import rows

import mxref
from mxref.conformance.checking.call_rules import Sized, rule_of, size_rule

#: The largest float32 that E2M1 rounds to 2, a tie; the vectors have it once.
TIE = 2.5


def wrong_where(is_wrong: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda values, format: mxref.encode(values, format) ^ is_wrong(values)


@pytest.mark.parametrize(
    ("is_wrong", "counts"),
    [
        (lambda x: x == TIE, "(1 of 1; a guess from one case)"),
        (lambda x: np.abs(x) == TIE, "(2 of 2)"),
        (lambda x: (x >= TIE) & (x <= np.nextafter(np.float32(TIE), 3)), "a guess from 2 cases)"),
    ],
)
def test_a_description_of_one_case_says_that_it_is_a_guess(
    is_wrong: Callable[[Any], Any], counts: str
) -> None:
    report = report_on("encode/e2m1.f32", encode=wrong_where(is_wrong))
    (row,) = report.rows
    assert row.description is not None
    assert counts in row.description.text
    assert ("guess" in row.description.text) == ("guess" in counts)


@pytest.mark.parametrize(
    ("value", "counts"), [(2.0**-125, "(32 of 32; a guess from one case)"), (6, "(1440 of 1440)")]
)
def test_elements_of_one_block_are_one_case(value: float, counts: str) -> None:
    """The vectors have one block of numbers up to 2^-125, and 45 of numbers up to 6."""

    def quantize(values: Any, format: str) -> Any:
        blocks = mxref.quantize(values, format)
        chosen = np.abs(values).max(axis=1, keepdims=True) == value
        return blocks.scale_codes, blocks.codes ^ chosen

    (row,) = report_on("quantize/mxfp4_e2m1.f32", quantize=quantize).rows
    (text,) = [str(stage) for stage in row.causes[0].stages if stage.name == "elements"]
    assert counts in text
    assert ("guess" in text) == ("guess" in counts)


def test_a_code_that_is_the_whole_input_is_no_guess() -> None:
    """The vectors have every code, so that no other rule fits."""

    def decode(codes: Any, format: str) -> Any:
        return np.where(codes == 0x3B, 3, mxref.decode(codes, format)).astype(np.float32)

    (row,) = report_on("decode/e4m3.f32", decode=decode).rows
    assert row.description is not None
    assert "the code is 3b (1 of 1): becomes" in row.description.text


SIZES = (1, 2, 3, 4, 5, 8, 16, 48, 64)


@pytest.mark.parametrize(("wrong", "text", "counts"), rows("conformance/verdict", "sizes"))
def test_one_size_is_no_range(wrong: str, text: str, counts: str) -> None:
    found = size_rule([Sized(n, str(n) in wrong.split()) for n in SIZES], "rows")
    assert found is not None
    assert (found[0].text, found[1]) == (text, counts)


def test_the_fewest_that_were_asked_are_no_range() -> None:
    found = size_rule([Sized(n, n == 16) for n in (16, 48, 64)], "rows")
    assert found is not None
    assert found[0].text == "16 rows, where 48 is right and no fewer were asked"


@pytest.mark.parametrize(
    ("wrong", "counts"),
    [
        (1, "1 of 1 such calls, right in the other 2; a guess from one wrong call"),
        (2, "2 of 2 such calls, right in the other 1"),
    ],
)
def test_one_call_is_a_guess(wrong: int, counts: str) -> None:
    is_wrong = [call < wrong for call in range(3)]
    features = [{"rows": 9, "padding": "border" if bad else "zeros"} for bad in is_wrong]
    rule = rule_of(features, is_wrong)
    assert rule is not None
    assert rule.counts(is_wrong) == counts
