"""Files read at once: the cases that the parser reads line by line, and none where it refuses."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from helpers import ROOT
from tables import rows

from mxref.cases import parse
from mxref.cases.parse_whole import whole_cases
from mxref.cases.records import Case

ENCODE, BLOCKS = "encode/e2m1.f32", "quantize/mxfp4_e2m1.f16"


def parts(stem: str) -> tuple[dict[str, Any], list[str]]:
    """The header and the other lines of a vector file."""
    first, *lines = (ROOT / "vectors" / f"{stem}.jsonl").read_text("ascii").splitlines()
    return json.loads(first), lines


def line_by_line(
    monkeypatch: pytest.MonkeyPatch, header: dict[str, Any], lines: list[str]
) -> tuple[Case, ...]:
    monkeypatch.setattr(parse, "whole_cases", lambda header, lines: None)
    return parse._cases(header, lines, "file")[0]


@pytest.mark.parametrize(
    "stem",
    [
        ENCODE,
        "encode/e5m2.f64",
        "encode_scale/e8m0.bf16",
        "encode_stochastic/e2m1.f32",
        "decode/e4m3.f32",
        "shared_scale/e2m3.f32",
        BLOCKS,
        "dequantize/mxfp4_e2m1.bf16",
    ],
)
def test_cases_are_those_read_line_by_line(stem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    header, lines = parts(stem)
    found = whole_cases(header, lines)
    assert found == line_by_line(monkeypatch, header, lines)
    assert found
    assert {type(word) for case in found for word in case.inputs} == {int}


def test_cases_of_different_lengths_are_left_to_the_other_parser() -> None:
    assert whole_cases(*parts("pack/e2m1.bytes")) is None


#: What is changed in the first line that has it, and what it becomes.
FLAWS = {name: changed for name, *changed in rows("cases", "flaws")}
FLAWS |= {"white_space": [",", ", "], "a_space_for_a_digit": ['"in":"(..)[0-9a-f]', r'"in":"\1 ']}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_is_left_to_the_parser_that_names_it(
    flaw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, lines = parts(ENCODE)
    pattern, changed = FLAWS[flaw]
    at = next(i for i, line in enumerate(lines) if re.search(pattern, line))
    lines[at] = re.sub(pattern, changed, lines[at], count=1)
    assert whole_cases(header, lines) is None
    if flaw != "white_space":  # which is refused where the spelling is compared
        with pytest.raises(parse.VectorError, match=f"^file:{at + 2}: "):
            line_by_line(monkeypatch, header, lines)


def test_the_usual_rule_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    header, lines = parts(ENCODE)
    lines[5] = lines[5].replace('"model"', f'"rule":"{header["rule"]}","model"')
    assert whole_cases(header, lines) is None


@pytest.mark.parametrize("flaw", ["twice", "nameless"])
def test_each_block_has_a_name_of_its_own(flaw: str) -> None:
    header, lines = parts(BLOCKS)
    lines[1] = lines[0] if flaw == "twice" else re.sub(r'"name":"[\w-]+",', "", lines[1])
    assert whole_cases(header, lines) is None


def test_numbers_have_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    header, lines = parts(ENCODE)
    lines = [f'{{"name":"n{i}",{line[1:]}' for i, line in enumerate(lines)]
    assert whole_cases(header, lines) is None
    with pytest.raises(parse.VectorError, match=r"^file:2: must have no name"):
        line_by_line(monkeypatch, header, lines)


def test_a_format_that_the_operation_has_not_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    header, lines = parts(ENCODE)
    header["op"] = "quantize"
    assert whole_cases(header, lines) is None
    with pytest.raises(parse.VectorError, match=r"^file:2: is no case of quantize e2m1: "):
        line_by_line(monkeypatch, header, lines)


def test_a_number_stands_once() -> None:
    header, lines = parts(ENCODE)
    assert whole_cases(header, [*lines, lines[3]]) is None
