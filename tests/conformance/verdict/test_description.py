"""The description of where a target differs: true of every failure and of no success.

The targets are wrong in ways that no mutant and no policy is. Whether a description is true of a
unit is worked out in `features_by_hand`, from its JSON, without the package's own features.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from facts_by_hand import facts
from features_by_hand import Facts, holds, same
from helpers import exact_words, ocp_files
from json_tables import cases
from unknown_targets import ELSEWHERE, NO_PATTERN, WRONG, Function, Wrong, wide

import mxref
from mxref.bits.floats import LAYOUTS, FloatLayout, split
from mxref.conformance import target_of
from mxref.conformance.compare.compare import Outcome, run_file
from mxref.conformance.verdict.describe.description import Description, describe_failures
from mxref.conformance.verdict.describe.features import UNKNOWN, Table, adjacent, real_keys
from mxref.conformance.verdict.describe.rules import cover
from mxref.golden.case_streams import CaseStream
from mxref.policy.policy import Policy

each_target = pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{w.name}-{w.op}-{w.format}")


@functools.cache
def outcomes(wrong: Wrong) -> tuple[Outcome, ...]:
    target = target_of(SimpleNamespace(**{wrong.op: wrong.function}), "target")
    policy = Policy.parse(wrong.policy)
    return tuple(run_file(target, file, policy) for file in ocp_files(wrong.op, wrong.format))


@functools.cache
def described(wrong: Wrong) -> Description:
    found = describe_failures(outcomes(wrong), Policy.parse(wrong.policy))
    assert found is not None
    return found


Unit = tuple[str, str, Facts, bool]


@functools.cache
def units(wrong: Wrong) -> list[Unit]:
    """Kind, name, facts and whether it failed, of every unit of the vectors' cases."""
    found = []
    for outcome in outcomes(wrong):
        file = outcome.file
        column = file.columns.index(outcome.policy)
        for case, row in zip(file.cases, outcome.answers.tolist(), strict=True):
            want = list(case.output(column))
            one = (file.op, file.format, file.float, list(case.inputs), want)
            found += [
                (kind, case.id if kind == "answer" else f"{case.id}[{i}]", unit, failed)
                for kind, i, unit, failed in compared(one, row)
            ]
    return found


def compared(
    case: tuple[str, str, str, list[int], list[int]], got: list[int]
) -> Iterator[tuple[str, int, Facts, bool]]:
    """The units of a case that say something: no elements under a wrong or a NaN scale."""
    op, format, float, _, want = case
    scale_is_right = True
    for kind, i, unit in facts(*case):
        raw = kind == "scale" or op.startswith(("pack", "unpack"))
        right = want[i] == got[i] if raw else same(op, format, float, want[i], got[i])
        if kind == "scale":
            scale_is_right = right and not (op.startswith("quantize") and want[i] == 0xFF)
        if kind != "element" or scale_is_right:
            yield kind, i, unit, not right


def is_described(parts: list[dict[str, Any]], kind: str, name: str, unit: Facts) -> bool:
    return any(
        name in part["cases"]
        if "cases" in part
        else all(holds(literal, unit) for literal in part["literals"])
        for part in parts
        if part["kind"] == kind
    )


# --- what is promised -----------------------------------------------------------------------------


@pytest.mark.sampled(6)
@each_target
def test_a_description_is_true_of_every_failure_and_of_no_success(wrong: Wrong) -> None:
    record = json.loads(json.dumps(described(wrong).as_json()))
    assert sum(len(outcome.failures) for outcome in outcomes(wrong)) > 0
    counts = dict.fromkeys(record["failing"], 0)
    for kind, name, unit, failed in units(wrong):
        assert is_described(record["parts"], kind, name, unit) == failed, (name, record["text"])
        if failed:
            counts[kind] += 1
    assert counts == record["failing"]


@pytest.mark.sampled(6)
@each_target
def test_no_literal_of_a_description_can_be_left_out(wrong: Wrong) -> None:
    """So it is short, and the check above can fail."""
    record = described(wrong).as_json()
    for part in record["parts"]:
        if "cases" in part:
            continue
        right = [u for kind, _, u, failed in units(wrong) if kind == part["kind"] and not failed]
        for literal in part["literals"]:
            rest = [other for other in part["literals"] if other is not literal]
            assert any(all(holds(other, unit) for other in rest) for unit in right)


@pytest.mark.sampled(3)
@each_target
def test_without_a_pattern_it_says_what_all_failures_have_in_common(wrong: Wrong) -> None:
    for part in described(wrong).as_json()["parts"]:
        if "cases" in part:
            here = [one for one in units(wrong) if one[0] == part["kind"]]
            held = [one for one in here if all(holds(li, one[2]) for li in part["literals"])]
            assert len(held) == part["units"] <= len(here)
            assert [name for _, name, _, failed in held if failed] == part["cases"]


@each_target
def test_a_description_has_few_parts(wrong: Wrong) -> None:
    found = described(wrong)
    assert len(found.parts) == wrong.parts
    assert all(len(part.literals) <= 4 for part in found.parts)
    assert any(part.cases for part in found.parts) == (wrong.name in NO_PATTERN)


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.text], ids=lambda w: w.name)
def test_a_description_reads_well(wrong: Wrong) -> None:
    prefix = "in the cases asked, " * ("exactly where" in wrong.text)
    assert described(wrong).text == prefix + wrong.text


@pytest.mark.sampled(6)
@pytest.mark.parametrize("wrong", [w for w in WRONG if w.name in ELSEWHERE], ids=lambda w: w.name)
def test_a_description_is_true_of_inputs_that_are_in_no_file(wrong: Wrong) -> None:
    record = described(wrong).as_json()
    target = target_of(SimpleNamespace(**{wrong.op: wrong.function}), "target")
    seen = set()
    for file in ocp_files(wrong.op, wrong.format):
        blocks = wrong.op in ("quantize", "dequantize")
        inputs = CaseStream(wrong.op, wrong.format, file.float, seed=7).inputs(
            0, 40 if blocks else 3000
        )
        inputs = inputs.astype(np.uint64)
        for row, got in zip(inputs.tolist(), target.ask(file, inputs).words.tolist(), strict=True):
            want = exact_words(wrong.op, wrong.format, file.float, row, "ocp")
            case = (wrong.op, wrong.format, file.float, row, want)
            for kind, _, unit, failed in compared(case, got):
                assert is_described(record["parts"], kind, "", unit) == failed
                seen.add(failed)
    assert seen == {True, False}


# --- when there is little to say ------------------------------------------------------------------


def right(values: Any, format: str) -> Any:
    return mxref.encode(values, format)


def raises_at_infinity(values: Any, format: str) -> Any:
    if np.isinf(wide(values)).any():
        raise OverflowError("infinite")
    return right(values, format)


def raises_and_is_wrong(values: Any, format: str) -> Any:
    codes = raises_at_infinity(values, format)
    return np.where(wide(values) < 0, codes ^ 1, codes)


def no_codes(values: Any, format: str) -> Any:
    return wide(values)


def always_one(values: Any, format: str) -> Any:
    return np.full(values.shape, 0x99, np.uint8)


def text_of(function: Function) -> str | None:
    found = describe_failures(outcomes(Wrong(function, "encode", "e2m1")), Policy())
    return None if found is None else found.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", [right, raises_at_infinity, no_codes])
def test_nothing_is_described_where_nothing_failed_but_with_errors(function: Function) -> None:
    assert text_of(function) is None
    assert describe_failures((), Policy()) is None


@pytest.mark.sampled(6)
def test_cases_with_errors_are_left_out() -> None:
    where = "wrong exactly where x is negative and |x| is above 0 (2653 of 2653)"
    text = f"in the cases asked, {where}: bit 0 is wrong"
    assert text_of(raises_and_is_wrong) == text


def test_what_is_always_wrong_is_wrong_in_all_cases() -> None:
    assert text_of(always_one) == "wrong in all 5346 cases: becomes 99 = no code of e2m1"


@pytest.mark.parametrize(("divided", "text"), cases(__file__, "scales of zeros"))
def test_scales_of_zeros_are_wrong_by_the_scale_of_the_tensor(divided: bool, text: str) -> None:
    """Source: NVIDIA/Model-Optimizer#1397."""

    def quantize(values: Any, format: str, tensor_scale: Any) -> Any:
        blocks = mxref.quantize(values, format, tensor_scale=tensor_scale)
        with np.errstate(all="ignore"):
            one = np.float32(1) / np.float32(tensor_scale if divided else 1)
        code = one.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
        zeros = ~values.any(axis=1)
        return np.where(zeros, code, blocks.scale_codes[:, 0]).astype(np.uint8), blocks.codes

    target = target_of(SimpleNamespace(quantize=quantize), "target")
    (file,) = (file for file in ocp_files("quantize", "nvfp4") if file.float == "f32")
    found = describe_failures([run_file(target, file, Policy())], Policy())
    assert found is not None
    assert found.text == f"in the cases asked, scales wrong exactly where {text}"


@pytest.mark.parametrize("layout", [LAYOUTS["f16"], LAYOUTS["bf16"]], ids=lambda one: one.name)
def test_floats_are_adjacent_if_no_float_lies_between(layout: FloatLayout) -> None:
    finite = np.arange(layout.inf_bits + 1, dtype=layout.uint)
    parts = split(finite, layout)
    keys = real_keys(parts.significand, parts.exponent, parts.is_inf).tolist()
    assert all(adjacent(low, high, layout) for low, high in pairwise(keys))
    assert not any(adjacent(low, high, layout) for low, high in zip(keys, keys[2:], strict=False))


def test_a_range_ends_at_floats_that_were_asked() -> None:
    """What is asked next below is 2.25, which is right."""

    def wrong(values: Any, format: str) -> Any:
        lost = (wide(values) >= float(np.float32(2.4999998))) & (wide(values) <= 2.5)
        return mxref.encode(values, format) ^ lost

    assert text_of(wrong) == (
        "in the cases asked, wrong exactly where |x| is at least 2.4999998 and the result's code "
        "is 04 (6 of 6): one code too far from zero"
    )


# --- the shortest rules ---------------------------------------------------------------------------


#: What to plant, as literals that hold together, in parts.
PLANTED = [
    [[("sign", {1})]],
    [[("position", 5, 9)]],
    [[("sign", {0}), ("remainder", {2}), ("position", 0, 15)]],
    [[("remainder", {1, 2, 3}), ("block", {2})]],
    [[("position", 3, 8), ("scale code", 128, 254)]],
    [[("sign", {1}), ("remainder", {2})], [("scale code", 200, 255)]],
    [[("sign", {1}), ("position", 3, 8)], [("sign", {0}), ("scale code", 0, 40)]],
    [[("remainder", {2})], [("position", 31, 31)], [("scale code", 7, 7)]],
    [[("sign", {1})], [("position", 31, 31)], [("scale code", 7, 7)], [("remainder", {3})]],
]


def random_table(seed: int, count: int) -> Table:
    rng = np.random.default_rng(seed)
    table = {
        "sign": rng.integers(0, 2, count),
        "remainder": rng.integers(0, 4, count),
        "block": rng.integers(0, 3, count),
        "position": rng.integers(0, 32, count),
        "scale code": rng.integers(0, 256, count),
        "magnitude": rng.integers(-(1 << 60), 1 << 60, count),
        "significand": rng.integers(0, 1 << 52, count),
    }
    table["magnitude"][rng.random(count) < 0.1] = UNKNOWN
    return table


def is_true(table: Table, literals: list[tuple]) -> np.ndarray:  # type: ignore[type-arg]
    true = np.ones(len(table["sign"]), bool)
    for name, *rest in literals:
        found = table[name]
        inside = (
            np.isin(found, list(rest[0]))
            if isinstance(rest[0], set)
            else (found >= rest[0]) & (found <= rest[1])
        )
        true &= inside
    return true


@pytest.mark.parametrize("parts", PLANTED, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_planted_is_found(parts: list[list[tuple]], seed: int) -> None:  # type: ignore[type-arg]
    table = random_table(seed, 6000)
    failed = np.any([is_true(table, part) for part in parts], axis=0)
    rules = cover(table, failed, np.zeros(len(failed), np.int64))
    assert rules is not None
    found = {tuple(literal.feature for literal in rule.literals) for rule in rules}
    assert found == {tuple(name for name, *_ in part) for part in map(sorted_as_features, parts)}
    assert np.array_equal(np.any([rule.holds for rule in rules], axis=0), failed)


def sorted_as_features(part: list[tuple]) -> list[tuple]:  # type: ignore[type-arg]
    order = ("sign", "remainder", "scale code", "block", "position")
    return sorted(part, key=lambda literal: order.index(literal[0]))


@pytest.mark.parametrize("seed", range(40))
def test_rules_are_true_of_all_failures_and_no_success_whatever_failed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(seed, int(rng.integers(2, 60)))
    failed = rng.random(len(table["sign"])) < rng.random()
    failed[0] = True
    effects = rng.integers(0, 3, len(failed))
    rules = cover(table, failed, effects)
    if rules is None:
        return
    assert 1 <= len(rules) <= 4
    covered = np.zeros(len(failed), bool)
    for rule in rules:
        true = np.ones(len(failed), bool)
        for literal in rule.literals:
            found = table[literal.feature]
            if literal.values:
                true &= np.isin(found, literal.values)
                continue
            true &= found != UNKNOWN
            if literal.low is not None:
                true &= found > literal.low - (not literal.above)
            if literal.high is not None:
                true &= found < literal.high + (not literal.below)
        assert np.array_equal(true, rule.holds)
        covered |= true
    assert np.array_equal(covered, failed)


def test_rules_are_found_in_most_small_tables() -> None:
    """So the test before is not empty."""
    tables = [random_table(seed, 20) for seed in range(20)]
    found = [cover(t, t["position"] % 3 == 0, t["sign"]) for t in tables]
    assert sum(rules is not None for rules in found) > 10


def test_units_that_cannot_be_told_apart_have_no_rules() -> None:
    table = {"sign": np.array([0, 1, 1, 0]), "position": np.array([4, 4, 4, 4])}
    assert cover(table, np.array([True, False, False, False]), np.zeros(4, np.int64)) is None


def test_everything_is_one_rule_without_literals() -> None:
    rules = cover({"sign": np.array([0, 1])}, np.array([True, True]), np.zeros(2, np.int64))
    assert rules is not None
    assert [rule.literals for rule in rules] == [()]


@pytest.mark.parametrize(("failed", "asked", "text"), cases(__file__, "ranges"), ids=str)
def test_ranges_end_where_failures_do(failed: list[int], asked: list[int], text: str) -> None:
    """And not at numbers between them and the next that is right: these were not asked."""
    table = {"position": np.array([*failed, *asked])}
    wrong = np.arange(len(table["position"])) < len(failed)
    (rule,) = cover(table, wrong, np.zeros(len(wrong), np.int64)) or ()
    assert [literal.text for literal in rule.literals] == [f"the position in the block is {text}"]


def test_what_all_but_one_class_share_is_said_only_if_nothing_else_is_as_short() -> None:
    """Among a few cases some class is missing by accident: of tiny blocks that of ties."""
    codes = np.arange(40)
    table = {"remainder": np.array([0, 1, 3] * 3 + [2] * 31), "scale code": codes}
    (rule,) = cover(table, codes < 9, np.zeros(40, np.int64)) or ()
    assert [literal.text for literal in rule.literals] == ["the scale code is at most 08"]


def test_what_is_not_exact_is_said_so() -> None:
    sides = np.arange(40) % 4
    table = {"remainder": sides, "part of a step": np.where(sides == 0, -(1 << 63), sides)}
    (rule,) = cover(table, sides > 0, np.zeros(40, np.int64)) or ()
    assert [literal.text for literal in rule.literals] == ["x is not exact"]


def log2_in_float16(values: Any) -> Any:
    """The exponent is the floor of a logarithm in float16; of other types it is right."""
    right = mxref.encode_scale(values)
    if values.dtype != np.float16:
        return right
    size = np.abs(wide(values))
    is_plain = (size >= 2.0**-14) & (size < np.inf)
    log = np.log2(np.where(is_plain, size, 1)).astype(np.float16)
    return np.where(is_plain, np.floor(log).astype(np.int64) + 127, right)


def test_a_scale_by_a_rounded_logarithm() -> None:
    found = describe_failures(outcomes(Wrong(log2_in_float16, "encode_scale", "e8m0")), Policy())
    assert found is not None
    said = "one code too large, as if log2 |x| were rounded to float16"
    assert {part.effect for part in found.parts} == {said}


def nans_of_the_lower_half(values: Any, format: str) -> Any:
    """Takes no NaN of the upper half for one, and of float64 leaves out the last element."""
    last = 31 if values.dtype == np.float64 else 32
    largest = np.fmax.reduce(np.abs(wide(values[:, :last])), axis=1)
    largest[np.isnan(wide(values[:, :16])).any(axis=1)] = np.nan
    scales = mxref.shared_scale(largest, format[-4:])
    powers = mxref.decode_scale(np.where(scales == 255, 0, scales), np.float64)
    codes = mxref.encode(wide(values) / powers[:, None], format[-4:])
    return scales, np.where(scales[:, None] == 255, 0, codes)


def test_two_faults_of_which_one_is_right_by_chance_are_both_said() -> None:
    where = Wrong(nans_of_the_lower_half, "quantize", "mxfp4_e2m1")
    found = describe_failures(outcomes(where), Policy())
    assert found is not None
    first, second = (one.strip() for one in found.text.split("; and "))
    assert first.startswith("scales wrong in 59 of 60 scales where ")
    assert "the position of the only NaN is at least 16" in first
    assert "where the largest element's position is 31 and the float type is f64" in second
