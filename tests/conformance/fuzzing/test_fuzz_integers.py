"""Fuzzing of integer operations: what is planted is found, and shrunk to the simplest case."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from data_tables import codes, table
from helpers import drawn
from numpy.typing import NDArray

from mxref import integer
from mxref.conformance import target_of
from mxref.conformance.fuzzing.fuzz import Counterexample, FuzzRow, fuzz
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import CALL_OPERATIONS
from mxref.strategies import integer_cases

Array = NDArray[Any]


def rows_of(format: str, examples: int = 60, **functions: Callable[..., Any]) -> list[FuzzRow]:
    target = target_of(SimpleNamespace(**functions), "kernel")
    return list(fuzz(target, formats=[format], examples=examples))


def found(format: str, examples: int = 60, **functions: Callable[..., Any]) -> Counterexample:
    (row,) = rows_of(format, examples, **functions)
    assert row.found is not None
    return row.found


def quantize(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Array:
    return integer.quantize_affine(
        x, integer.QParams(scale, zero, low, high, dtype, axis), scaling="divide", nan="lowest"
    )


@pytest.mark.sampled(6)
def test_a_code_that_is_wrong() -> None:
    def wrong(x: Any, scale: Any, zero: Any, *rest: Any) -> Array:
        codes = quantize(x, scale, zero, *rest)
        return codes ^ ((codes == 77) & (zero > 5))

    one = found("uint8", 30, quantize_affine=wrong)
    (row,) = one.inputs
    low, high, scale, zero, value = stripped(row)
    assert (low, high, scale) == (0, 255, 0x3F800000)
    x = np.uint32(value).view(np.float32)
    assert x == 77 - zero
    assert one.file.columns == ("scaling=divide+nan=zero",)  # of uint8, nan=lowest is 0, too
    assert "want 4d = 77, got 4c = 76" in one.text


@pytest.mark.parametrize("op", CALL_OPERATIONS)
@pytest.mark.sampled(6)
def test_every_drawn_case_has_an_answer_and_smaller_ones(op: str) -> None:
    for format in CALL_OPERATIONS[op].formats:
        policy = CALL_OPERATIONS[op].first_policy(format)
        for words in drawn(integer_cases(op, format), 8):
            answer = CALL_OPERATIONS[op].answer(format, words, policy)
            assert len(answer) == np.prod(CALL_OPERATIONS[op].call(format, words).shape)
            for smaller in CALL_OPERATIONS[op].smaller_rows(format, padded([words])[0])[:20]:
                CALL_OPERATIONS[op].answer(format, stripped(smaller), policy)


@pytest.mark.parametrize(("op", "format", "case", "simpler"), table(__file__, "simpler.txt"))
def test_what_is_simpler_is_tried(op: str, format: str, case: str, simpler: str) -> None:
    row, one = tuple(codes(case)), tuple(codes(simpler))
    assert one in [
        stripped(tried) for tried in CALL_OPERATIONS[op].smaller_rows(format, padded([row])[0])
    ]
