"""Answers of policies of integers are computed once for the same cases, and calls once a case."""

from __future__ import annotations

from typing import Any

import pytest

from mxref.cases.drawn import drawn
from mxref.conformance.compare import integer_policies
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.compare.integer_policies import answers_of
from mxref.conformance.verdict.describe import description
from mxref.conformance.verdict.describe.description import describe_failures
from mxref.operations.asked_call import AskedCall
from mxref.operations.int4 import PackInt4
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

FILE = without_cases("pack_int4", "int4", "bytes")


class Counting(PackInt4):
    """`pack_int4`, which lists the policies that it is asked for, and the cases it makes a call of.

    It writes to what it is given.
    """

    def __init__(self) -> None:
        self.policies: list[str] = []
        self.cases: list[tuple[int, ...]] = []

    def answer(self, format: str, words: Any, policy: str) -> tuple[int, ...]:
        self.policies.append(policy)
        return super().answer(format, words, policy)

    def call(self, format: str, words: Any) -> AskedCall:
        self.cases.append(tuple(words))
        return super().call(format, words)

    def run(self, call: AskedCall, choices: Any) -> Any:
        found = super().run(call, choices)
        call.arguments[0][...] = 0
        return found


@pytest.fixture
def operation(monkeypatch: pytest.MonkeyPatch) -> Counting:
    own = Counting()
    monkeypatch.setattr(integer_policies, "CALL_OPERATIONS", {"pack_int4": own})
    return own


def test_answers_are_computed_once_for_the_same_cases(operation: Counting) -> None:
    words = drawn("pack_int4", "int4", "bytes", 5, 0)
    first = answers_of(FILE, words, "default")
    assert answers_of(FILE, words.copy(), "default") is first
    assert operation.policies == ["default"] * 5
    answers_of(FILE, words[:4], "default")
    answers_of(FILE, words[:4], "nibbles=low_first")
    assert operation.policies[5:] == ["default"] * 4 + ["nibbles=low_first"] * 4
    assert len(answers_of(FILE, words.reshape(1, -1), "default").words) == 1
    with pytest.raises(ValueError, match="read-only"):
        first.words[0] = 0


def test_answers_are_those_of_the_operation_that_is_known(
    operation: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = drawn("pack_int4", "int4", "bytes", 3, 1)
    answers_of(FILE, words, "default")
    operation.policies.clear()
    other = Counting()
    monkeypatch.setattr(integer_policies, "CALL_OPERATIONS", {"pack_int4": other})
    answers_of(FILE, words, "default")
    assert (len(operation.policies), len(other.policies)) == (0, 3)


def test_the_oldest_answers_are_dropped(
    operation: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integer_policies, "_known", {})
    monkeypatch.setattr(integer_policies, "_KEPT", 2)
    words = drawn("pack_int4", "int4", "bytes", 3, 1)
    for rows in (1, 2, 3, 3, 2, 1):
        answers_of(FILE, words[:rows], "default")
    assert len(operation.policies) == 1 + 2 + 3 + 1


def test_a_case_has_one_call_under_all_policies() -> None:
    operation, case = Counting(), (1, 4, 1, 2, 3, 4)
    for policy in ("default", "nibbles=low_first"):
        operation.answer("int4", case, policy)
    assert operation.cases == [case]


def test_an_operation_from_outside_may_write_to_its_arguments() -> None:
    operation, case = Counting(), (1, 4, 1, 2, 3, 4)
    operation.is_own = True
    right = CALL_OPERATIONS["pack_int4"].answer("int4", case, "default")
    assert [operation.answer("int4", case, "default") for _ in range(2)] == [right, right]


def test_choices_that_were_parsed_can_be_changed() -> None:
    rescale = CALL_OPERATIONS["rescale"]
    found = rescale.parse("int8-int8", "rounding=double")
    found["rounding"] = "x"
    assert rescale.parse("int8-int8", "rounding=double") == {"rounding": "double"}


def test_right_answers_are_not_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def taken_apart(*arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(description, "units_of", taken_apart)
    words = drawn("pack_int4", "int4", "bytes", 2, 0)
    right = answers_of(FILE, words, "default")
    outcome = Outcome(FILE, "default", words, right.words, ())
    assert describe_failures((outcome,), Policy()) is None
