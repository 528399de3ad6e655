"""The ledgers of products and of integers: what they find of planted answers, and say of them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ledger import __main__ as command
from ledger import products
from ledger.claims import claiming, claiming_integers, claiming_products
from ledger.integers import claimed_policy, examine_integers
from ledger.product_page import INTEGERS, product_page, product_summary
from ledger.products import KINDS, examine_products
from product_targets import blocks, named
from right_calls import linear, linear_gradients

from mxref import integer
from mxref.integer import QParams, quantize_affine
from mxref.operations import registry
from mxref.operations.product_words import DotSide
from mxref.targets.calls import without_cases
from mxref.targets.target import target_of

FORMATS = ["mxfp8_e4m3"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """No vectors, and few random operands."""
    monkeypatch.setattr(products, "read_for", lambda *given, **only: [])
    monkeypatch.setattr(products, "_LENGTHS", (32, 64))
    monkeypatch.setattr(products, "_SHAPES", ((1, 4, 40, 3), (2, 3, 32, 5)))


def examined(policy: str = "ocp", **functions: Any) -> Any:
    claims = SimpleNamespace(POLICY=policy, FORMATS=FORMATS, FLOATS=["f32"], **functions)
    return examine_products(target_of(claims, "one"), outputs=200) | {"adapter": "one"}


def test_bits_of_the_claimed_accumulation() -> None:
    record = examined("ocp+accumulation=aligned_25", matmul=named("aligned_25"))
    (file,) = record["files"]
    assert (file["op"], file["format"]) == ("matmul", "mxfp8_e4m3-mxfp8_e4m3")
    assert file["outputs"] == sum(file["cases"].values()) >= 200
    assert file["accumulations"] == ["aligned_25"]
    assert file["differences"] == []
    assert product_summary(record, []) == (
        f"{file['outputs']} outputs, 0 not as ocp+accumulation=aligned_25", 0
    )  # fmt: skip


def test_other_bits_are_differences_of_a_named_accumulation_only() -> None:
    (claimed,) = examined("ocp+accumulation=pairwise", matmul=named("sequential"))["files"]
    assert claimed["accumulations"] == ["sequential"]
    assert "inside the interval of additions that round to nearest" in {
        one["how"] for one in claimed["differences"]
    }
    (free,) = examined("ocp", matmul=named("sequential"))["files"]
    assert {one["kind"] for one in free["differences"]} <= {"a sum may be beyond float32"}
    assert free["nearest"] > free["exact"]


def test_elements_times_their_own_scale_beyond_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    one = (0x7E, *[0] * 31)
    rows = [DotSide((0xFE,), one)], [DotSide((0x01,), one)]
    monkeypatch.setattr(products, "_LENGTHS", (32,))
    monkeypatch.setattr(products, "_drawn", lambda *given: rows)

    def dequantized(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        with np.errstate(all="ignore"):
            a, b = (blocks(*one).dequantize(np.float32) for one in ((sa, ca, fa), (sb, cb, fb)))
            return (a[:, np.newaxis] * b).sum(axis=2, dtype=np.float32)

    record = examined(matmul=dequantized)
    (file,) = record["files"]
    example = "7e under fe · 7e under 01: want 48c40000, got 7f800000"
    how = {"how": "outside every float32 accumulation", "asked": 1, "count": 1}
    assert file["differences"] == [{"kind": KINDS[2], "example": example, **how}]
    known = {"kind": [KINDS[2]], "why": "it overflows"}
    listed = [{"name": "S 1", "adapters": ["one"], "reports": ["bug"], "differences": [known]}]
    assert product_summary(record, listed)[1] == 0
    text, wrong = product_summary(record, [])
    assert wrong == 1
    assert f"NOT LISTED: matmul {file['format']} f32: " in text
    page = product_page(listed, {"one": record}, {"bug": "It overflows"})
    row = "| [S 1](../../tools/ledger/records/one.json) | `ocp` | matmul f32 × 1 | 1 | all but 1 in"
    assert row in page
    assert ": it overflows." in page
    assert page.endswith("- Bug: [It overflows](../reports/bug.md)\n")


def test_layers() -> None:
    record = examined(linear=linear, linear_gradients=linear_gradients)
    assert [file["op"] for file in record["files"]] == ["linear", "linear_gradients"]
    for file in record["files"]:
        assert file["exact"] == file["nearest"] == file["outputs"]
        assert file["differences"] == []


def test_the_parts_of_a_layer() -> None:
    def twice(x: Any, w: Any, grad: Any, block_format: str) -> Any:
        dx, dw, db = linear_gradients(x, w, grad, block_format)
        return dx, 2 * dw, db

    def late(x: Any, w: Any, bias: Any, block_format: str) -> Any:
        return linear(x, w, None, block_format)

    record = examined(linear=late, linear_gradients=twice)
    kinds = [{one["kind"] for one in file["differences"]} for file in record["files"]]
    assert kinds == [{"y with a bias"}, {"the gradient of w"}]
    gone = {"op": "linear", "kind": "y", "why": "gone"}
    text, _ = product_summary(record, [{"adapters": ["one"], "differences": [gone]}])
    assert "    NOT LISTED: listed, but not found: gone" in text.splitlines()


def test_what_raises() -> None:
    def refuses(*given: Any) -> Any:
        raise ValueError("no")

    record = examined(matmul=refuses, linear=refuses)
    hows = {one["how"] for file in record["files"] for one in file["differences"]}
    assert hows == {"raises ValueError"}


@pytest.mark.sampled(6)
def test_adapters_of_products_claim_a_policy_and_no_profile() -> None:
    found = claiming_products()
    assert {"mmasim.ALIGNED_25", "tosa_matmul", "torchao_products.RCEIL"} <= {*found}
    assert not {*found} & {*claiming()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("kind", "names"), [("products", claiming_products), ("integers", claiming_integers)]
)
def test_what_is_recorded_is_listed(kind: str, names: Callable[[], Any]) -> None:
    known = command.listed(kind)
    wrong = [name for name in names() if product_summary(command.read(name), known)[1]]
    assert wrong == []


def test_tensor_cores_have_the_bits_of_100_000_outputs() -> None:
    for name in ("mmasim.ALIGNED_25", "mmasim.ALIGNED_35", "mmasim.ALIGNED_13"):
        files = command.read(name)["files"]
        assert sum(file["outputs"] for file in files) >= 100_000
        assert not any(file["differences"] for file in files)


# --- integers -------------------------------------------------------------------------------------


def integers_examined(claim: str, formats: list[str], **functions: Any) -> Any:
    target = target_of(SimpleNamespace(FORMATS=formats, **functions), "one")
    return examine_integers(target, claim, values=16) | {"adapter": "one"}


def affine(**choices: str) -> Any:
    def run(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Any:
        return quantize_affine(x, QParams(scale, zero, low, high, dtype, axis), **choices)

    return run


def test_answers_of_the_claimed_choices_and_of_others() -> None:
    own = "scale_type=float64 nan=zero"
    record = integers_examined(own, ["int8_scale64"], quantize_affine=affine(scale_type="float64"))
    (file,) = record["files"]
    assert file["policy"] == "nan=zero+scale_type=float64"
    assert file["cases"]["random"] == file["cases"]["vectors"] > 5
    assert product_summary(record, []) == (f"{file['outputs']:,} outputs, 0 not as {own}", 0)
    other = integers_examined(own, ["int8_scale64"], quantize_affine=affine())
    (found,) = other["files"][0]["differences"]
    assert found["kind"] == "not explained"
    assert " 3f8a9fbe 76c8b439 " in found["example"]
    text, status = product_summary(other, [])
    assert status == 1
    assert f"quantize_affine int8_scale64 f32: {found['count']} x not explained" in text


def test_a_known_bug_is_named() -> None:
    def unpack(packed: Any, k: int) -> Any:
        return integer.unpack_int4(packed, k) + np.int8(8)

    record = integers_examined("", ["int4"], pack_int4=integer.pack_int4, unpack_int4=unpack)
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


def test_what_raises_of_integers() -> None:
    def refuses(*given: Any) -> Any:
        raise RuntimeError("no")

    (file,) = integers_examined("", ["int4"], pack_int4=refuses)["files"]
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
        for one in registry.CALL_OPERATIONS.values()
        for format in one.formats
        for name, members in one.choices(format).items()
        for member in members
    }
    for adapter in found.values():
        assert {*adapter.integers.split()} <= known, adapter.name
