"""vectors/README.md, the contract with readers of the vectors, says what the files are."""

from __future__ import annotations

import json
import re

import pytest
from helpers import FILES, ROOT, VECTORS, records

TEXT = (VECTORS / "README.md").read_text("utf-8")
CONTRACT = " ".join(TEXT.split())


def keys(heading: str) -> list[str]:
    """The keys of the table that follows some words, in order."""
    table = TEXT[TEXT.index(heading) :].split("\n\n")[1]
    if table.startswith("```"):
        table = TEXT[TEXT.index(heading) :].split("\n\n")[2]
    first_cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [key for cell in first_cells for key in re.findall(r"`(\w+)`", cell)]


def test_the_version() -> None:
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    assert f"now **{manifest['mxref_vectors']}**" in TEXT


def test_the_keys_are_those_of_the_schema() -> None:
    definitions = json.loads((VECTORS / "schema.json").read_bytes())["$defs"]
    assert keys("The first line is a header object") == list(definitions["header"]["properties"])
    assert keys("Each further line is a case") == list(definitions["case"]["properties"])


def test_the_example_is_a_line() -> None:
    (line,) = re.findall(r"```json\n(.*)\n```", TEXT)
    assert line in (VECTORS / "encode/e4m3.f32.jsonl").read_text("ascii").splitlines()
    case = json.loads(line)
    columns = records("encode/e4m3.f32")[0]["columns"]
    others = [column for column, digit in zip(columns, case["by"], strict=True) if digit == "1"]
    assert f"a `1` for the columns `{'` and `'.join(others)}`: they answer `7f`" in CONTRACT
    assert f"encode.e4m3.f32.{case['in']}" in TEXT


def test_the_operations() -> None:
    listed = keys("is not part of the vectors.")
    assert listed == list(dict.fromkeys(listed))
    assert set(listed) == {stem.partition("/")[0] for stem in FILES}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stem", FILES)
def test_the_columns_of_the_plain_files(stem: str) -> None:
    table = TEXT[TEXT.index("| files | columns |") :].split("\n\n")[0].splitlines()[2:]
    rows = {row.split("|")[1]: re.findall(r"`([^`]+)`", row.split("|")[2]) for row in table}
    found = [
        columns
        for patterns, columns in rows.items()
        for pattern in re.findall(r"`([^`]+)\*`", patterns)
        if f"{stem}.".startswith(pattern)
    ]
    header, cases = records(stem)
    want = (found[0] if found else rows[" all others "]) or header["columns"]
    assert header["columns"][: header["plain"]] == want
    plain = (VECTORS / f"plain/{stem}.txt").read_text("ascii").splitlines()
    for line, case in zip(plain, cases, strict=True):
        assert line == " ".join([case["in"], *case["outs"][: len(want)]])


def test_the_tool_that_is_named_exists() -> None:
    for tool in re.findall(r"`(tools/[\w.]+)`", TEXT):
        assert (ROOT / tool).is_file()
