"""The one spelling of a case: read in one step as JSON reads it, and no other spelling is."""

from __future__ import annotations

import json

import pytest
from helpers import FILES, VECTORS
from hypothesis import given
from hypothesis import strategies as st

from mxref.cases.spelling import CASE, canonical, spelling

LINES = (
    '{"in":"3e800000","out":"00","model":"M5","flags":["tie","underflow"]}',
    '{"name":"nan_00","in":"00 01","out":["ff 00","7f 01"],"by":"011","rule":"N4","model":"M9"}',
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("stem", FILES)
def test_every_line_is_read_in_one_step(stem: str) -> None:
    header, *lines = (VECTORS / f"{stem}.jsonl").read_text("ascii").splitlines()
    usual = json.loads(header)["rule"]
    for line in lines:
        record = json.loads(line)
        assert canonical(line, usual) == record
        assert spelling(record, usual) == line


@given(
    st.sampled_from(LINES), st.integers(0, 80), st.integers(0, 2), st.text('",:[]{} 0a', max_size=3)
)
def test_what_is_read_in_one_step_is_json_in_its_one_spelling(
    line: str, place: int, removed: int, added: str
) -> None:
    text = line[:place] + added + line[place + removed :]
    record = canonical(text, "MX-6.3")
    if record is not None and all('"' not in part for part in _parts(record)):  # checked later
        assert record == json.loads(text)
        assert [key for key in CASE if key in record] == list(json.loads(text))
        assert spelling(record, "MX-6.3") == text


def _parts(record: dict[str, object]) -> list[str]:
    values = (value if isinstance(value, list) else [value] for value in record.values())
    return [str(part) for value in values for part in value]


@pytest.mark.parametrize(
    "text",
    [
        LINES[0].replace('"out"', ' "out"'),
        LINES[0].replace('"model":"M5",', ""),
        LINES[0].replace('["tie","underflow"]', "[]"),
        LINES[0].replace('"00"', '["00"]'),
        LINES[0].replace('"00"', '"00","by":"01"'),
        LINES[1].replace(',"by":"011"', ""),
        LINES[1].replace("N4", "MX-6.3"),  # goes without saying
        LINES[0] + " ",
        LINES[0].replace("3e8", "3E8"),
    ],
)
def test_another_spelling_is_not(text: str) -> None:
    assert canonical(text, "MX-6.3") is None


def test_both_lines_are() -> None:
    for line in LINES:
        assert canonical(line, "MX-6.3") == json.loads(line)
