"""All shares together are everything, of every test that takes its share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from shares import PARTS, SHARES, Part, Share

from mxref.golden.level2 import families

EACH = [Share(number) for number in range(SHARES)]


@pytest.mark.parametrize("parts", PARTS)
def test_every_index_is_of_one_share_in_so_many(parts: int) -> None:
    for index in range(100):
        taking = [one.number for one in EACH if one.takes(index, parts)]
        assert taking == list(range(index % parts, SHARES, parts))
        assert Share(None).takes(index, parts)


def test_every_family_is_compared_with_every_seventh() -> None:
    numbers = range(len(families()))
    found = {(n, one.seventh) for one in EACH for n in numbers if one.takes(n, 28)}
    assert found == {(n, seventh) for n in numbers for seventh in range(7)}


@pytest.mark.parametrize("parts", PARTS)
def test_every_case_of_a_sampled_test_runs(parts: int) -> None:
    """And of 4 x 4 values, such as formats and float types, a share has several."""
    cases = [("other", 7), *[("test", parts)] * 16]
    runs = [set(range(1, 17)) - set(one.left_out(cases)) for one in EACH[:parts]]
    assert sorted(case for run in runs for case in run) == list(range(1, 17))
    if parts == 4:
        assert all(len({(case - 1) % 4 for case in run}) == 4 for run in runs)
    assert Share(None).left_out([*cases, ("never", 0)]) == []
    assert Share(0).left_out([("never", 0)] * 2) == [0, 1]


@pytest.mark.parametrize("parts", PARTS)
def test_tests_of_one_case_are_of_all_shares(parts: int) -> None:
    """Every test is of one share in so many, and no share has many more than another."""
    cases = [(f"test_{number}", parts) for number in range(100 * parts)]
    runs = [set(range(len(cases))) - set(one.left_out(cases)) for one in EACH[:parts]]
    assert sorted(place for run in runs for place in run) == list(range(len(cases)))
    assert all(60 < len(run) < 140 for run in runs)


def test_parts_divide_the_number_of_shares() -> None:
    assert [SHARES % parts for parts in PARTS] == [0] * len(PARTS)
    with pytest.raises(ValueError, match="parts must be one of"):
        Share(0).takes(0, 29)


def test_parts_together_are_all_tests() -> None:
    parts = [Part.of(f"{number}/3") for number in range(3)]
    assert [[index for index in range(7) if part.takes(index)] for part in parts] == [
        [0, 3, 6],
        [1, 4],
        [2, 5],
    ]
    for text in ("3/3", "1", "-1/3", "a/b", "1/0"):
        with pytest.raises(ValueError, match="I/N with I below N"):
            Part.of(text)


def test_nothing_depends_on_the_date() -> None:
    tests = Path(__file__).parents[1]
    dates = re.compile(r"date\.today|datetime\.now|time\.localtime")
    assert [path for path in tests.rglob("*.py") if dates.search(path.read_text("utf-8"))] == []
