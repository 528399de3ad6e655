"""The JSON Schema of the vectors: every line is valid, and what is damaged is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from helpers import FILES, VECTORS, Record
from needs import needs
from shares import Share

from mxref.cases.words import FLAGS, models, rules
from mxref.operations.registry import OPERATIONS

jsonschema = needs("jsonschema")
SCHEMA = json.loads((VECTORS / "schema.json").read_bytes())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def part(name: str) -> Any:
    """A validator of a header or a case."""
    return jsonschema.Draft202012Validator({**SCHEMA["$defs"][name], "$defs": SCHEMA["$defs"]})


HEADER, CASE = part("header"), part("case")


def lines(stem: str) -> list[str]:
    return (VECTORS / f"{stem}.jsonl").read_text("ascii").splitlines()


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_vocabulary_is_that_of_the_package() -> None:
    header, case = (SCHEMA["$defs"][name]["properties"] for name in ("header", "case"))
    assert header["op"]["enum"] == list(OPERATIONS)
    assert case["rule"]["enum"] == header["rule"]["enum"] == list(rules())
    assert case["model"]["enum"] == list(models())
    assert case["flags"]["items"]["enum"] == list(FLAGS)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("stem", FILES)
def test_every_line_is_valid(stem: str, share: Share) -> None:
    """Every header; this share of the cases, and all of them under --complete."""
    header, *cases = map(json.loads, lines(stem))
    HEADER.validate(header)
    for index, case in enumerate(cases):
        if share.takes(index, 7):
            CASE.validate(case)


@pytest.mark.parametrize("stem", ["encode/e2m1.f16", "quantize/mxint8.bf16"])
def test_a_line_is_valid_without_saying_what_it_is(stem: str) -> None:
    for line in lines(stem)[:10]:
        VALIDATOR.validate(json.loads(line))


def changed(**keys: object) -> Callable[[Record], None]:
    def edit(record: Record) -> None:
        for key, value in keys.items():
            record[key] = value
            if value is ...:
                del record[key]

    return edit


#: name -> which line of encode/e2m1.f16, from 0 on, and what is done to it
DAMAGE: dict[str, tuple[int, Callable[[Record], None]]] = {
    "upper-case hex": (1, changed(**{"in": "00FF"})),
    "five digits": (1, changed(**{"in": "00000"})),
    "words of two widths": (1, changed(**{"in": "0000 00"})),
    "number as input": (1, changed(**{"in": 0})),
    "no output": (1, changed(out=...)),
    "one output in a list": (1, changed(out=["00"])),
    "outputs without by": (2, changed(by=...)),
    "by without outputs": (1, changed(by="00001010000000")),
    "by in capitals": (2, changed(by="0000A010000000")),
    "the same output twice": (2, changed(out=["00", "00"])),
    "extra key": (1, changed(note="x")),
    "unknown flag": (1, changed(flags=["tied"])),
    "no flags": (1, changed(flags=[])),
    "a flag twice": (1, changed(flags=["zero", "zero"])),
    "unknown model": (1, changed(model="M99")),
    "unknown rule": (1, changed(rule="N999")),
    "a name with a dot": (1, changed(name="00.00")),
    "extra key of the header": (0, changed(note="x")),
    "header without a key": (0, changed(required=...)),
    "unknown operation": (0, changed(op="encrypt")),
    "unknown format": (0, changed(format="e2m2")),
    "unknown float": (0, changed(float="f8")),
    "unknown choice": (0, changed(columns=["ocp+rounded=up"])),
    "unknown member": (0, changed(columns=["ocp+rounding=up"])),
    "a column twice": (0, changed(columns=["ocp", "ocp"])),
    "another version": (0, changed(mxref_vectors="0.1.0")),
    "another explanation": (0, changed(flags={"tie": "a tie"})),
    "no cases": (0, changed(cases=0)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_is_not_valid(damage: str) -> None:
    number, edit = DAMAGE[damage]
    record = json.loads(lines("encode/e2m1.f16")[number])
    assert VALIDATOR.is_valid(record)
    before = copy.deepcopy(record)
    edit(record)
    assert record != before
    assert not (HEADER if number == 0 else CASE).is_valid(record)
    assert not VALIDATOR.is_valid(record)
