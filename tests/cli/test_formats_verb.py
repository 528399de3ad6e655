"""``mxref formats``: the properties of every format, and its codes.

The figures of data/formats.json are of OCP MX v1.0 5.3, Tables 2 to 7; OFP8 Rev 1.0 Table 1; IEEE
754-2019 Table 3.5; the others are of SPEC_NOTES, Formats.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from commands import Call, Example, examples

from mxref.formats.catalog import ELEMENT_FORMATS, OTHER_FORMATS, SCALE_FORMATS

DATA = Path(__file__).resolve().parent / "data"
PROPERTIES = json.loads((DATA / "formats.json").read_text("utf-8"))
BLOCKS = json.loads((DATA / "block_formats.json").read_text("utf-8"))
CODED = {**ELEMENT_FORMATS, **SCALE_FORMATS, **OTHER_FORMATS}
#: Formats of which not every code is printed.
LARGE = ("ue4m3", "f16", "bf16", "f32", "f64")
#: What is no number, as it is printed.
NOT = ("inf", "nan")


def codes_of(spans: str) -> set[int]:
    """The codes of a text such as `7d-7f ff`."""
    ends = [[int(end, 16) for end in span.split("-")] for span in spans.split() if span != "-"]
    return {code for one in ends for code in range(one[0], one[-1] + 1)}


@pytest.mark.parametrize("example", examples(DATA / "formats.txt"))
def test_formats_in_words(example: Example, call: Call) -> None:
    example.check(call)


def test_formats_lists_every_format(call: Call) -> None:
    names = [line.split()[0] for line in call("formats").out.splitlines() if line]
    assert {*names} == {*PROPERTIES, *BLOCKS, "format", "block"}
    assert names[names.index("block") + 1 :] == [*BLOCKS]
    record = call("formats", "--json").json
    found = {row.pop("format"): row for row in record["formats"]}
    assert {name: {**row, **PROPERTIES[name]} for name, row in found.items()} == found
    assert found.keys() == PROPERTIES.keys()
    assert {row.pop("block format"): row for row in record["block_formats"]} == BLOCKS


@pytest.mark.parametrize("name", [*PROPERTIES, *BLOCKS])
def test_a_format_and_its_codes(name: str, call: Call) -> None:
    record = call("formats", name, "--all", "--json").json
    wanted = {**PROPERTIES, **BLOCKS}[name]
    assert {key: record[key] for key in wanted} == wanted
    if name in BLOCKS or name in LARGE:
        return
    rows: dict[int, Any] = {int(row["code"], 16): row for row in record["codes"]}
    assert [*rows] == [*range(1 << wanted["bits"])]
    assert any("max" in row["note"] for row in rows.values())
    texts = {text: {c for c, row in rows.items() if row["value"].endswith(text)} for text in NOT}
    assert texts == {text: codes_of(wanted[text]) for text in NOT}
    for code, row in rows.items():
        bits = row["bits"].replace(" ", "")
        assert (int(bits, 2), len(bits)) == (code, wanted["bits"])
        want = CODED[name].value(code)
        if math.isfinite(want):
            value = float.fromhex(row["hex value"])
            assert (value, math.copysign(1, value)) == (want, math.copysign(1, want))
            assert float(row["value"]) == pytest.approx(value, rel=1e-9)
