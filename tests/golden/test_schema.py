"""The JSON Schema of the vectors: every line is valid, and what is damaged is not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import FILES, VECTORS
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


#: name -> which line of encode/e2m1.f16, from 0 on, and the keys that are changed in it
DAMAGE = json.loads((Path(__file__).parent / "data" / "damaged_lines.json").read_text())


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_line_is_not_valid(damage: str) -> None:
    number, keys = DAMAGE[damage]
    before = json.loads(lines("encode/e2m1.f16")[number])
    assert VALIDATOR.is_valid(before)
    record = {key: value for key, value in (before | keys).items() if value != "<absent>"}
    assert record != before
    assert not (HEADER if number == 0 else CASE).is_valid(record)
    assert not VALIDATOR.is_valid(record)


@pytest.mark.parametrize("path", sorted((VECTORS / "thresholds").iterdir()), ids=lambda p: p.stem)
def test_thresholds_are_valid_and_what_is_damaged_is_not(path: Path) -> None:
    document = json.loads(path.read_bytes())
    part("thresholds").validate(document)
    del document["tables"][-1]["from"]
    assert not part("thresholds").is_valid(document)


MANIFEST = json.loads((VECTORS / "manifest.json").read_bytes())


def test_the_manifest_is_valid() -> None:
    part("manifest").validate(MANIFEST)


@pytest.mark.parametrize(
    "damage",
    [
        lambda manifest: manifest.pop("columns"),
        lambda manifest: manifest.update(more=1),
        lambda manifest: manifest["files"][0].pop("cases"),
        lambda manifest: manifest["files"][0].update(sha256="AB"),
        lambda manifest: manifest["level2"][0].pop("policy"),
        lambda manifest: manifest["columns"].update({"plain/x.txt": []}),
    ],
)
def test_a_damaged_manifest_is_not(damage: Callable[[Any], object]) -> None:
    manifest = copy.deepcopy(MANIFEST)
    damage(manifest)
    assert not part("manifest").is_valid(manifest)
