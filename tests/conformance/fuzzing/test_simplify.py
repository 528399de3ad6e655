"""Simpler cases to try, and the code that shows one of many wrong words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from data_tables import codes, table
from helpers import drawn
from numpy.typing import NDArray

from mxref.cases.records import Case
from mxref.conformance.compare.compare import Failure
from mxref.conformance.fuzzing.reproduce import _first_wrong
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY
from mxref.operations.simpler import dropped, moved_up
from mxref.strategies import integer_cases
from mxref.targets.calls import without_cases


def test_elements_are_dropped_or_moved_to_a_zero_before_them() -> None:
    block = np.array([9, 5, 0, 7, 0, 3], np.uint64)  # behind a scale
    assert dropped(block, 1).tolist() == [
        [9, 5, 0, 7, 0, 0],
        [9, 5, 0, 0, 0, 3],
        [9, 0, 0, 7, 0, 3],
    ]
    assert moved_up(block, 1).tolist() == [
        [9, 5, 7, 0, 0, 3],
        [9, 5, 3, 7, 0, 0],
        [9, 5, 0, 7, 3, 0],
    ]


@pytest.mark.parametrize(("op", "signed"), [("encode", True), ("shared_scale", False)])
def test_amax_stays_a_magnitude(op: str, signed: bool) -> None:
    (attempt,) = REGISTRY[op].attempts("e2m1", "f32", (0x40490FDB,))
    tried = attempt(np.array([0x40490FDB], np.uint64))[:, 0].tolist()
    assert {0x40400000, 0x40000000} <= {*tried}
    assert (0xBF800000 in tried) == signed
    assert (max(tried) >= 1 << 31) == signed
    assert max(tried) < 1 << 32


@pytest.mark.parametrize(
    ("op", "want", "got", "place"),
    [
        ("pack_int4", (1,) * 9, (1, 1, 1, 1, 1, 1, 0, 1, 0), 6),
        ("pack_int4", (1,) * 8, (1, 1, 1, 1, 1, 1, 0, 1), None),  # all of it is shown
        ("pack_int4", (1,) * 9, None, None),  # it raised
        ("quantize", (1,) * 33, (0,) * 33, None),
    ],
)
def test_of_long_answers_about_integers_the_first_wrong_word_is_shown(
    op: str, want: tuple[int, ...], got: tuple[int, ...] | None, place: int | None
) -> None:
    file = without_cases(op, *(("int4", "bytes") if op == "pack_int4" else ("mxint8", "f32")))
    case = Case("id", (), (want,), (), False, "", "")
    assert _first_wrong(file, Failure(0, case, want, got)) == place


# --- integers -------------------------------------------------------------------------------------


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
