"""The ledger of integer operations: what it finds of planted answers, and what it says of them."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
from helpers import ROOT

from mxref import integer
from mxref.integer import QParams, quantize_affine
from mxref.operations import registry
from mxref.targets.calls import without_cases
from mxref.targets.target import target_of

sys.path.insert(0, str(ROOT / "tools"))
from ledger import __main__ as command
from ledger.claims import claiming, claiming_integers, claiming_products
from ledger.integers import claimed_policy, examine_integers
from ledger.product_page import INTEGERS, product_page, product_summary


def examined(claim: str, formats: list[str], **functions: Any) -> Any:
    target = target_of(SimpleNamespace(FORMATS=formats, **functions), "one")
    return examine_integers(target, claim, values=16) | {"adapter": "one"}


def affine(**choices: str) -> Any:
    def run(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Any:
        return quantize_affine(x, QParams(scale, zero, low, high, dtype, axis), **choices)

    return run


def test_answers_of_the_claimed_choices_and_of_others() -> None:
    own = "scale_type=float64 nan=zero"
    record = examined(own, ["int8_scale64"], quantize_affine=affine(scale_type="float64"))
    (file,) = record["files"]
    assert file["policy"] == "nan=zero+scale_type=float64"
    assert file["cases"]["random"] == file["cases"]["vectors"] > 5
    assert product_summary(record, []) == (f"{file['outputs']:,} outputs, 0 not as {own}", 0)
    other = examined(own, ["int8_scale64"], quantize_affine=affine())
    (found,) = other["files"][0]["differences"]
    assert found["kind"] == "not explained"
    assert " 3f8a9fbe 76c8b439 " in found["example"]
    text, status = product_summary(other, [])
    assert status == 1
    assert f"quantize_affine int8_scale64 f32: {found['count']} x not explained" in text


def test_a_known_bug_is_named() -> None:
    def unpack(packed: Any, k: int) -> Any:
        return integer.unpack_int4(packed, k) + np.int8(8)

    record = examined("", ["int4"], pack_int4=integer.pack_int4, unpack_int4=unpack)
    packs, unpacks = record["files"]
    assert packs["differences"] == []
    (bug,) = unpacks["differences"]
    assert bug["kind"].startswith("I11b: ")
    assert bug["count"] == unpacks["outputs"]
    listed = [{"name": "S 1", "adapters": ["one"], "reports": [],
               "differences": [{"kind": bug["kind"], "why": "no offset"}]}]  # fmt: skip
    page = product_page(listed, {"one": record}, {}, INTEGERS)
    assert page.startswith("# Integers\n")
    total = packs["outputs"] + unpacks["outputs"]
    assert f"| {total:,} | all but {bug['count']:,} have its bits |" in page
    assert f"- one `unpack_int4`, {bug['count']:,} of {bug['count']:,} outputs (I11b: " in page
    assert "  - `unpack_int4` int4 bytes: word 0: want f8, got 00" in page


def test_what_raises() -> None:
    def refuses(*given: Any) -> Any:
        raise RuntimeError("no")

    (file,) = examined("", ["int4"], pack_int4=refuses)["files"]
    assert [one["kind"] for one in file["differences"]] == ["raises RuntimeError"]
    assert file["differences"][0]["count"] == file["outputs"]


def test_an_operation_reads_its_own_choices() -> None:
    int8, int4 = (without_cases(*names) for names in (
        ("quantize_affine", "int8", "f32"), ("pack_int4", "int4", "bytes"),
    ))  # fmt: skip
    assert claimed_policy(int8, "nan=zero int32=wrap scaling=divide") == "scaling=divide+nan=zero"
    assert claimed_policy(int4, "nan=zero int32=wrap") == "default"


def test_adapters_of_integers_claim_choices_that_there_are() -> None:
    found = claiming_integers()
    assert not {*found} & {*claiming(), *claiming_products()}
    assert {"torch_integers.TENSOR", "executorch_integers.QCS4W", "tosa_rescale.DOUBLE"} <= {*found}
    known = {
        f"{name}={member}"
        for op, one in registry.INTEGERS.items()
        for format in one.formats
        for name, members in one.choices(format).items()
        for member in members
    }
    for adapter in found.values():
        assert {*adapter.integers.split()} <= known, adapter.name


def test_what_is_recorded_is_listed() -> None:
    known = command.listed("integers")
    for name in claiming_integers():
        text, status = product_summary(command.read(name), known)
        assert status == 0, text
