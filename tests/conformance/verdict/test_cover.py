"""The shortest rules: right on any table, and no longer than what was planted."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.conformance.verdict.describe.features import UNKNOWN, Table
from mxref.conformance.verdict.describe.rules import cover

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


@pytest.mark.parametrize(
    ("failed", "asked", "text"),
    [
        ([8, 31], [3, 7], "at least 8"),
        ([5, 9], [4, 10], "at least 5 and at most 9"),
        ([9, 9], [1, 30], "9"),
        ([0x50, 0xF7], [0x4C, 0xFF], "at least 80 and at most 247"),
        ([3, 0x7E], [0x90], "at most 126"),
    ],
    ids=str,
)
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
