"""The ledger of products: what it finds of planted answers, and what it says of them."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT

import mxref
from mxref.operations.product_words import Side
from mxref.targets.target import target_of

sys.path.insert(0, str(ROOT / "tools"))
from ledger import __main__ as command
from ledger import products
from ledger.claims import claiming, claiming_products
from ledger.product_page import product_page, product_summary
from ledger.products import KINDS, examine_products

FORMATS = ["mxfp8_e4m3"]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """No vectors, and few random operands."""
    monkeypatch.setattr(products, "read_for", lambda *given, **only: [])
    monkeypatch.setattr(products, "_LENGTHS", (32, 64))
    monkeypatch.setattr(products, "_SHAPES", ((1, 4, 40, 3), (2, 3, 32, 5)))


def matmul(accumulation: str = "exact") -> Any:
    """A target's product of an accumulation."""

    def function(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        a, b = (
            mxref.Blocks(codes, scales, name, 1, codes.shape)
            for scales, codes, name in ((sa, ca, fa), (sb, cb, fb))
        )
        return mxref.matmul(a, b.T, accumulation=accumulation)

    return function


def examined(policy: str = "ocp", **functions: Any) -> Any:
    claims = SimpleNamespace(POLICY=policy, FORMATS=FORMATS, FLOATS=["f32"], **functions)
    return examine_products(target_of(claims, "one"), outputs=200) | {"adapter": "one"}


def test_bits_of_the_claimed_accumulation() -> None:
    record = examined("ocp+accumulation=aligned_25", matmul=matmul("aligned_25"))
    (file,) = record["files"]
    assert (file["op"], file["format"]) == ("matmul", "mxfp8_e4m3-mxfp8_e4m3")
    assert file["outputs"] == sum(file["cases"].values()) >= 200
    assert file["accumulations"] == ["aligned_25"]
    assert file["differences"] == []
    assert product_summary(record, []) == (
        f"{file['outputs']} outputs, 0 not as ocp+accumulation=aligned_25", 0
    )  # fmt: skip


def test_other_bits_are_differences_of_a_named_accumulation_only() -> None:
    (named,) = examined("ocp+accumulation=pairwise", matmul=matmul("sequential"))["files"]
    assert named["accumulations"] == ["sequential"]
    assert "inside the interval of additions that round to nearest" in {
        one["how"] for one in named["differences"]
    }
    (free,) = examined("ocp", matmul=matmul("sequential"))["files"]
    assert {one["kind"] for one in free["differences"]} <= {"a sum may be beyond float32"}
    assert free["nearest"] > free["exact"]


def test_elements_times_their_own_scale_beyond_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    one = (0x7E, *[0] * 31)
    rows = [Side((0xFE,), one)], [Side((0x01,), one)]
    monkeypatch.setattr(products, "_LENGTHS", (32,))
    monkeypatch.setattr(products, "_drawn", lambda *given: rows)

    def dequantized(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        with np.errstate(all="ignore"):
            a, b = (
                mxref.Blocks(codes, scales, name, 1, codes.shape).dequantize(np.float32)
                for scales, codes, name in ((sa, ca, fa), (sb, cb, fb))
            )
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


def layer(x: Any, w: Any, bias: Any, block_format: str) -> Any:
    return mxref.linear(x, w, block_format, bias=bias)


def gradients(x: Any, w: Any, grad: Any, block_format: str) -> Any:
    return mxref.linear_gradients(x, w, grad, block_format)


def test_layers() -> None:
    record = examined(linear=layer, linear_gradients=gradients)
    assert [file["op"] for file in record["files"]] == ["linear", "linear_gradients"]
    for file in record["files"]:
        assert file["exact"] == file["nearest"] == file["outputs"]
        assert file["differences"] == []


def test_the_parts_of_a_layer() -> None:
    def twice(x: Any, w: Any, grad: Any, block_format: str) -> Any:
        dx, dw, db = gradients(x, w, grad, block_format)
        return dx, 2 * dw, db

    def late(x: Any, w: Any, bias: Any, block_format: str) -> Any:
        return layer(x, w, None, block_format)

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
def test_what_is_recorded_is_listed() -> None:
    for name in claiming_products():
        assert product_summary(command.read(name), command.listed("products"))[1] == 0, name


def test_tensor_cores_have_the_bits_of_100_000_outputs() -> None:
    for name in ("mmasim.ALIGNED_25", "mmasim.ALIGNED_35", "mmasim.ALIGNED_13"):
        files = command.read(name)["files"]
        assert sum(file["outputs"] for file in files) >= 100_000
        assert not any(file["differences"] for file in files)
