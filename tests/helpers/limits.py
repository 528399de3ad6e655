"""Sizes in the words of a report: a range in which a limit lies must have the true limit in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mxref.conformance.checking import call_findings, call_questions, computed_calls

Sizes = Mapping[str, int]


def number(text: str) -> int:
    return int(text.replace(",", ""))


def ranges(text: str) -> dict[str, tuple[int, int]]:
    """Of each unit the counts between which the least wrong one lies, in the words of a text."""
    exact = re.findall(r"(\d[\d,]*) ([a-z ]+?) and more", text)
    found = {unit: (number(count), number(count)) for count, unit in exact}
    between = r"more than [NM] ([a-z ]+), [NM] from ([\d,]+) to (\d[\d,]*)"
    for unit, low, high in re.findall(between, text):
        found[unit] = number(low) + 1, number(high) + 1
    return found


def assert_limits(text: str, least: Sizes, asked: Sequence[Mapping[str, Any]] = ()) -> None:
    """The ranges in a text have the true limits in them, and are no wider than what was asked.

    Args:
        text: the words.
        least: the true least counts of wrong calls by unit.
        asked: what is known of each call, its counts by unit.
    """
    found = ranges(text)
    assert found.keys() == least.keys(), text
    for unit, (low, high) in found.items():
        assert low <= least[unit] <= high, text
        others = {one: count for one, count in least.items() if one != unit}
        some = [one for one in asked if all(one[name] >= n for name, n in others.items())]
        assert not [one for one in some if low <= one[unit] < high], text


def assert_alone(text: str, unit: str, count: int) -> None:
    """A text says that calls are wrong with this count alone, or between two others."""
    if f"with {count:,} {unit} (" not in text:
        between = re.search(rf"more than ([\d,]+) and fewer than ([\d,]+) {unit}", text)
        assert between, text
        assert number(between[1]) < count < number(between[2]), text


def recorded(patch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """What is known of each computed call in fresh arrays that is made from now on."""
    asked: list[Mapping[str, Any]] = []
    ask = call_questions.ask

    def asks(function: Any, question: Any, memory: int | None = None) -> Any:
        if not question.memory:
            asked.append(question.features)
        return ask(function, question, memory)

    for module in (computed_calls, call_findings):
        patch.setattr(module, "ask", asks)
    return asked
