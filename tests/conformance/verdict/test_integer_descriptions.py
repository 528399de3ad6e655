"""Descriptions of integer operations: true of every wrong word and of no right one.

The values of features are worked out in `integer_facts`, in fractions.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from feature_tables import assert_feature
from features_by_hand import true_of
from helpers import ocp_files
from integer_facts import integer_facts
from unknown_integers import WRONG_INTEGERS, WrongInteger, no_least_code

from mxref.conformance import target_of
from mxref.conformance.compare.compare import Outcome, run_file
from mxref.conformance.verdict.cause.integer_causes import integer_causes
from mxref.conformance.verdict.describe.description import describe_failures
from mxref.conformance.verdict.describe.units import units_of
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy

EVERY_FILE = [
    (op, format)
    for op, one in CALL_OPERATIONS.items()
    for format in one.formats
    if not op.startswith("linear")
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("op", "format"), EVERY_FILE)
def test_features_are_what_they_are_called(op: str, format: str) -> None:
    for file in ocp_files(op, format):
        for number, policy in enumerate(file.columns):
            if policy == "dequantize_quantize":
                continue
            answers = file.outputs(number)
            (units,) = units_of([Outcome(file, policy, file.input_words(), answers, ())], Policy())
            by_hand = {
                (case.id, i): unit
                for case in file.cases[:: 1 + len(file.cases) // 60]
                for i, unit in enumerate(
                    integer_facts(op, format, list(case.inputs), list(case.output(number)), policy)
                )
            }
            seen = set()
            for i, (name, word) in enumerate(zip(units.ids, units.words.tolist(), strict=True)):
                unit = by_hand.get((str(name), word))
                for feature in units.table.keys() - {"float type"} if unit is not None else ():
                    assert_feature(feature, int(units.table[feature][i]), unit[feature])
                    seen.add(feature)
            assert seen == set(next(iter(by_hand.values()))), seen


@pytest.mark.sampled(4)
@pytest.mark.parametrize("wrong", WRONG_INTEGERS, ids=lambda wrong: wrong.function.__name__)
def test_a_description_of_integers_is_true_of_every_failure_and_of_no_success(
    wrong: WrongInteger,
) -> None:
    target = target_of(SimpleNamespace(**{wrong.op: wrong.function}), "target")
    outcomes = [run_file(target, file, Policy()) for file in ocp_files(wrong.op, wrong.format)]
    found = describe_failures(outcomes, Policy())
    assert found is not None
    assert found.text == f"in the cases asked, elements wrong exactly where {wrong.text}"
    parts = found.as_json()["parts"]
    for outcome in outcomes:
        column = outcome.file.columns.index(outcome.policy)
        for case, row in zip(outcome.file.cases, outcome.answers.tolist(), strict=True):
            want = list(case.output(column))
            units = integer_facts(wrong.op, wrong.format, list(case.inputs), want, outcome.policy)
            for one, (a, b) in zip(units, zip(want, row, strict=False), strict=True):
                described = any(
                    all(true_of(literal, one[literal["feature"]]) for literal in part["literals"])
                    for part in parts
                )
                assert described == (a != b), (case.id, one)
    # One of them is known, too: where it is found, nothing more is said.
    assert bool(integer_causes(outcomes)) == (wrong.function is no_least_code)
