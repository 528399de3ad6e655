"""Which clause an answer violates, where the standard leaves some answers open and not all."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.cases.records import Case
from mxref.conformance.compare.clauses import violated
from mxref.conformance.compare.compare import Failure
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases


def clause(
    question: tuple[str, str], rule: str, inputs: tuple[int, ...], got: tuple[int, ...] | None
) -> str | None:
    """What an answer to words of float32 violates; the right answer is not looked at."""
    case = Case("", inputs, ((0,),), (), required=False, rule=rule, model="")
    failure = Failure(0, case, (0,), got, "" if got else "ValueError: no")
    return violated(without_cases(*question, "f32"), failure, Policy())


def f32(x: float) -> int:
    return int(np.float32(x).view(np.uint32))


@pytest.mark.parametrize(
    ("question", "rule", "x", "is_open", "violates"),
    [
        # What rounds below -127/64 becomes that, or -2.
        (("encode", "int8"), "N15", f32(-2), (0x81, 0x80), {0x82: "MX-5.3.4", 0x7F: "MX-5.3.4"}),
        # The sign of a zero is open, its magnitude is not.
        (("encode", "e2m1"), "N25", f32(-0.1), (0, 8), {0x9: "MX-5.3.3", 0x10: "MX-5.3.3"}),
        (("decode", "e2m1"), "N25", 0x8, (0, 0x80000000), {1: "MX-5.3.3"}),
        # All else that is not required is open.
        (("encode", "e2m1"), "N14", f32(np.nan), (0x3,), {}),
    ],
)
def test_answers_beside_those_that_are_open(
    question: tuple[str, str], rule: str, x: int, is_open: tuple[int], violates: dict[int, str]
) -> None:
    for got, wanted in {**dict.fromkeys(is_open), **violates}.items():
        assert clause(question, rule, (x,), (got,)) == wanted, got


def test_an_error_violates_no_clause() -> None:
    assert clause(("encode", "int8"), "N15", (f32(-2),), None) is None
