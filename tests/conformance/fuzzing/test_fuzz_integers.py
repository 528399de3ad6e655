"""Fuzzing of integer operations: drawn cases and simpler ones have answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data_tables import codes, table
from helpers import drawn
from numpy.typing import NDArray

from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import CALL_OPERATIONS
from mxref.strategies import integer_cases

Array = NDArray[Any]


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
