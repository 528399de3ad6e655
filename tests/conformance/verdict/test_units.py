"""Units and descriptions: features are those by hand, and descriptions of integers are true."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from facts_by_hand import facts
from feature_tables import assert_feature
from features_by_hand import VALUES, true_of
from helpers import ocp_files
from integer_facts import integer_facts
from kernel_reports import report_on
from tables import rows
from unknown_targets import WRONG_INTEGERS, Wrong

from mxref.bits.floats import F32
from mxref.conformance import target_of
from mxref.conformance.compare.compare import Outcome, run_file
from mxref.conformance.verdict.cause.integer_causes import integer_causes
from mxref.conformance.verdict.describe.description import describe_failures
from mxref.conformance.verdict.describe.features import UNKNOWN
from mxref.conformance.verdict.describe.tables import block_tables
from mxref.conformance.verdict.describe.units import units_of
from mxref.formats.catalog import block_format
from mxref.mutants import mutants_of
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("op", "format"), rows("conformance/verdict", "units"))
def test_features_are_what_they_are_called(op: str, format: str) -> None:
    policy = Policy.parse("ocp+rounding=stochastic_a" if op == "encode_stochastic" else "ocp")
    answered, by_hand = [], {}
    for file in ocp_files(op, format):
        column = file.columns.index(str(policy))
        answers = file.outputs(column)
        answered.append(Outcome(file, str(policy), file.input_words(), answers, ()))
        for case in file.cases:
            found = facts(op, format, file.float, list(case.inputs), list(case.output(column)))
            for kind, i, unit in found:
                by_hand[case.id, kind, -1 if kind == "answer" else i] = unit
    for units in units_of(answered, policy):
        if units.kind == "count":
            continue
        names = set(units.table)
        assert len(names) > 2
        for i in range(0, len(units.failed), len(units.failed) // 300 + 1):
            unit = by_hand[str(units.ids[i]), units.kind, int(units.words[i])]
            for name in names:
                assert_feature(name, int(units.table[name][i]), VALUES[name](unit))


@pytest.mark.parametrize(
    ("numbers", "positions", "infinities"),
    [
        # A NaN is not the largest number, and among zeros there is none.
        ((0.0, np.nan), (UNKNOWN, 1), UNKNOWN),
        ((np.nan, 1.0, -2.0), (2, 0), UNKNOWN),
        ((np.nan, np.nan, 3.0), (2, UNKNOWN), UNKNOWN),
        # Which infinities: 0 plus, 1 minus, 2 both; whatever the signs of others.
        ((-1.0, np.inf), (1, UNKNOWN), 0),
        ((1.0, -np.inf), (1, UNKNOWN), 1),
        ((-np.inf, np.inf), (0, UNKNOWN), 2),
        ((1.0, -1.0), (0, UNKNOWN), UNKNOWN),
    ],
)
def test_features_of_blocks_with_special_numbers(
    numbers: tuple[float, ...], positions: tuple[int, int], infinities: int
) -> None:
    """Where the largest magnitude and the one NaN stand, and which infinities there are."""
    block = np.array([[*numbers, *[0.0] * (32 - len(numbers))]], np.float32)
    codes = np.zeros((1, 32), np.int64)
    fmt = block_format("mxfp4_e2m1")
    table, _ = block_tables(block.view(np.uint32), F32, fmt, codes[:, :1], codes)
    assert (table["amax position"].item(), table["nan position"].item()) == positions
    assert table["infinities"].item() == infinities


# --- integers -------------------------------------------------------------------------------------


EVERY_FILE = [
    (op, format)
    for op, one in CALL_OPERATIONS.items()
    for format in one.formats
    if not op.startswith(("linear", "recipe"))
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("op", "format"), EVERY_FILE)
def test_features_of_integers_are_what_they_are_called(op: str, format: str) -> None:
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
@pytest.mark.parametrize("wrong", WRONG_INTEGERS, ids=lambda wrong: wrong.name)
def test_a_description_of_integers_is_true_of_every_failure_and_of_no_success(
    wrong: Wrong,
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
    assert bool(integer_causes(outcomes)) == (wrong.name == "no_least_code")


def test_a_known_bug_may_give_another_nan() -> None:
    """Every NaN of a float type is the same answer, also beside what a bug makes."""
    bug = next(one for one in mutants_of("addmm") if one.id == "H38c")

    def addmm(*arguments: Any) -> Any:
        found = bug.run(*arguments)
        return np.where(np.isnan(found), -np.abs(found), found)

    (row,) = report_on("addmm/mxfp8_e4m3-mxfp8_e4m3-f32.f32", addmm=addmm).rows
    assert [one.name for one in row.causes] == ["H38c"]
