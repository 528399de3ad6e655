"""Verdicts on products: named adders, intervals, narrow sums, wrong operands, linear layers."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, VECTORS
from product_targets import (
    BF16,
    blocks,
    limit_shapes,
    named,
    product_file,
    product_target,
    sums_in,
    wrong_operands,
)

import mxref
from mxref.cases.read import read_vectors
from mxref.conformance import Report, check, load_target, target_of, verify
from mxref.conformance.verdict.report_text import report_lines
from mxref.mutants.matmul_mutants import float32_numbers
from mxref.operations.intervals import allowed
from mxref.products.intervals import Bounds


@pytest.fixture(autouse=True)
def small_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of many shapes have tests of their own: here small ones are asked."""
    limit_shapes(monkeypatch, 4000)


def checked(matmul: Any, **claims: Any) -> Report:
    return check(product_target(matmul, **claims), [product_file()])


@pytest.mark.sampled(14)
def test_a_claimed_accumulation_is_held_to_its_bits() -> None:
    policy = "ocp+accumulation=sequential"
    assert checked(named("sequential"), POLICY=policy).verdict == f"conforms under {policy}"
    other = checked(named("pairwise"), POLICY=policy)
    assert not other.passed
    assert other.verdict == "conforms under ocp+accumulation=pairwise"


def test_an_order_without_a_name_passes() -> None:
    report = check(load_target(str(ROOT / "tools/examples/my_matmul.py")), [product_file()])
    assert report.passed
    told = report.rows[0].description
    assert told is not None
    assert "in some order, which is none of the named ones" in told.text


@pytest.mark.sampled(12)
def test_narrow_sums_are_outside_and_no_violation() -> None:
    report = checked(sums_in(BF16))
    assert not report.passed
    sums = "products and sums are rounded to bfloat16 at each step"
    assert report.verdict == f"outside every float32 accumulation; {sums}"
    told = report.rows[0].description
    assert told is not None
    assert told.text.endswith(f"; all are right if {sums} (MX 6.1 leaves the precision open)")


def test_narrow_sums_in_another_order_are_said_with_their_bits() -> None:
    add = sums_in(BF16)

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        whole = [np.pad(c, ((0, 0), (0, -c.shape[1] % 32))) for c in (ca, cb)]
        return add(sa[:, ::-1], whole[0][:, ::-1], sb[:, ::-1], whole[1][:, ::-1], fa, fb)

    told = checked(matmul).rows[0].description
    assert told is not None
    kept = re.search(r"; sums that keep at most (\d+) bits may give them \(float16", told.text)
    assert kept is not None
    assert 8 <= int(kept[1]) <= 12
    assert told.text.endswith("MX 6.1 leaves the precision open)")


def _narrowed(float: str) -> Any:
    """Right sums, made bfloat16 by cutting bits off, or float16 that never overflows."""

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str, dtype: Any) -> Any:
        out = mxref.matmul(blocks(sa, ca, fa), blocks(sb, cb, fb).T)
        if dtype == BF16 and float == "bf16":
            bits = np.where(np.isnan(out), 0x7FC00000, out.view(np.uint32))
            return (bits >> 16).astype(np.uint16).view(BF16)
        with np.errstate(over="ignore"):
            out = mxref.matmul(blocks(sa, ca, fa), blocks(sb, cb, fb).T, dtype)
        most = np.where(np.isinf(out), np.copysign(65504, out.astype(np.float32)), out)
        return most.astype(dtype) if (float, dtype) == ("f16", np.float16) else out

    return matmul


@pytest.mark.parametrize(
    ("float", "how"),
    [
        ("bf16", "bfloat16 ones are rounded toward zero"),
        ("f16", "float16 ones end at the largest number"),
    ],
)
def test_right_sums_to_narrow_floats_are_no_narrow_sums(float: str, how: str) -> None:
    files = [product_file(), product_file(float=float)]
    told = check(product_target(_narrowed(float)), files).rows[0].description
    assert told is not None
    assert told.text.endswith(f"; sums to float32 are right, and {how}")


def test_answers_of_many_bits_are_no_narrow_sums() -> None:
    """Blocks under a small scale are left out."""

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        kept = np.repeat(sa >= 107, 32, axis=1)[:, : ca.shape[1]]
        return named("by_block")(sa, np.where(kept, ca, 0).astype(np.uint8), sb, cb, fa, fb)

    told = checked(matmul).rows[0].description
    assert told is not None
    assert told.text.startswith("116 of 529 outputs are outside every float32 accumulation, in any")
    assert "sums that keep" not in told.text


@pytest.mark.sampled(12)
@pytest.mark.parametrize("id", ["H4", "H6", "H7", "H7b", "H8"])
def test_wrong_operands_are_named_whatever_the_order(id: str) -> None:
    report = checked(wrong_operands(id))
    assert not report.passed
    assert "violates MX-6." in report.verdict or f"has bug {id}: " in report.verdict
    assert id in [cause.name for cause in report.rows[0].causes]


@pytest.mark.sampled(6)
def test_zeros_violate_the_standard() -> None:
    report = checked(lambda sa, ca, sb, cb, fa, fb: np.zeros((len(ca), len(cb)), np.float32))
    assert report.verdict.endswith("violates MX-6.1, MX-6.2")
    assert [cause.name for cause in report.rows[0].causes] == ["H14"]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("number", [np.finfo(np.float32).max, 0.0, np.nan, -np.inf])
def test_what_is_given_for_infinity_is_caught(number: float) -> None:
    """E4M3 has no Inf: every sum here that is one overflows, and most in every order."""
    right = named("sequential")

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        product = right(sa, ca, sb, cb, fa, fb)
        return np.where(np.isinf(product), np.copysign(1, product) * number, product)

    report = checked(lambda *words: matmul(*words).astype(np.float32))
    wrong = {failure.case.name for _, failure in report.failures}
    assert wrong >= {"beyond_and_stays_fe", "beyond_negative_fe"}


@pytest.mark.sampled(12)
def test_outputs_beside_the_cases_are_compared() -> None:
    """Right on the rows of one case, as they are asked; wrong where others meet."""
    right = named("sequential")

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        product = right(sa, ca, sb, cb, fa, fb)
        rows, columns = np.indices(product.shape)
        return np.where(rows + columns == len(product) - 1, product, 0).astype(np.float32)

    report = checked(matmul)
    assert not report.passed
    failing = [failure.case.id for _, failure in report.failures]
    assert failing
    assert all(".output_" in id for id in failing), failing


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ((8, 8, 8), "exactly"),
        ((1, 2, 1), "or from 3f800000 to 40000000"),
        ((8, 8, math.inf), "exactly, or 7f800000 where a sum overflows on the way"),
        ((8, 8, math.nan), "exactly, or Inf, -Inf or NaN where a sum overflows on the way"),
    ],
)
def test_what_bounds_allow_in_words(ends: tuple[float, ...], said: str) -> None:
    assert allowed(Bounds(*np.float32(ends)[:, np.newaxis])) == said


def matrix(values: Any, axis: int) -> Any:
    return mxref.quantize(values, "mxfp8_e4m3", axis=axis).dequantize(np.float64)


def test_a_bias_gradient_of_the_quantized_gradient_is_named() -> None:
    """Over other choices, in an order of additions that is not the mutant's."""

    def linear_gradients(x: Any, w: Any, grad: Any, format: str) -> Any:
        how = {"dtype": x.dtype, "backward_operands": "reused"}
        dx, dw, _ = mxref.linear_gradients(x, w, grad, format, **how)  # type: ignore[arg-type]
        g = matrix(grad.reshape(-1, grad.shape[-1]), 1).astype(np.float32)
        return dx, dw, g[::-1].sum(axis=0, dtype=np.float32).astype(x.dtype)

    kernel = SimpleNamespace(
        linear_gradients=linear_gradients, POLICY="ocp+backward_operands=reused"
    )
    stem = "linear_gradients/mxfp8_e4m3."
    files = read_vectors(VECTORS, lambda one: one.startswith(stem))
    (cause,) = check(target_of(kernel, "layer"), files).rows[0].causes
    assert (cause.name, cause.policy) == ("H21b", "ocp+backward_operands=reused")


@pytest.mark.sampled(2)
def test_a_bug_that_one_wrong_answer_shows_is_a_guess() -> None:
    """Of two cases one has outputs that are no whole block; there the forward weight is taken."""

    def gradients(x: Any, w: Any, grad: Any, format: str) -> Any:
        dx, dw, db = mxref.linear_gradients(x, w, grad, format)
        if w.shape[0] % 32:
            own = mxref.quantize(w, format, axis=1).dequantize(np.float64)
            rows = grad.reshape(-1, grad.shape[-1])
            dx = mxref.quantize(rows, format, axis=1).dequantize(np.float64) @ own
            dx = dx.reshape(x.shape).astype(np.float32)
        return dx, dw, db

    files = read_vectors(VECTORS, lambda stem: stem == "linear_gradients/mxfp8_e5m2.f32")
    target = target_of(SimpleNamespace(linear_gradients=gradients), "kernel")
    report = verify(target, files)
    text = "takes the weight as it was quantized for y"
    assert report.verdict == f"may have bug H19: {text}"
    assert f"BUG: {text} (1 of 1, a guess from one wrong answer)" in [*report_lines(report, 20)]


def test_elements_times_their_own_scale_in_float32_are_named() -> None:
    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        x = float32_numbers(sa, ca, fa).astype(np.float32)
        y = float32_numbers(sb, cb, fb).astype(np.float32)
        total = np.zeros((len(x), len(y)), np.float32)
        with np.errstate(all="ignore"):
            for k in reversed(range(x.shape[1])):
                total += np.outer(x[:, k], y[:, k])
        return total

    report = verify(product_target(matmul), [product_file()])
    assert "H3b" in [cause.name for cause in report.rows[0].causes]
    assert "has bug H3b: multiplies elements by their own scale" in report.verdict
