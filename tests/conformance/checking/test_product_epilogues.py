"""Kernels with alpha, beta, C and a bias: right ones conform, each fault is named."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import vector_file
from right_calls import product

from mxref.conformance import Extent, check, target_of
from mxref.conformance.checking import product_shapes
from mxref.conformance.checking.product_epilogues import BUGS, ask_epilogues
from mxref.conformance.checking.product_shapes import ProductSubject
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.targets.product_function import ProductFunction, with_named

FP8 = "mxfp8_e4m3-mxfp8_e4m3"
Result = Callable[..., Any]


def kernel(result: Result) -> Any:
    """A product of a dtype, of which `result` makes the output: (total, alpha, beta, c, bias)."""

    def matmul(
        sa: Any, ca: Any, sb: Any, cb: Any, a: str, b: str, dtype: Any, *,
        alpha: float = 1.0, beta: float = 1.0, c: Any = None, bias: Any = None,
    ) -> Any:  # fmt: skip
        total = product(sa, ca, sb, cb, a, b)
        shape = total.shape
        given = np.zeros(shape) if c is None else c.astype(np.float64)
        added = np.zeros(shape[1]) if bias is None else bias.astype(np.float64)
        with np.errstate(all="ignore"):
            return np.asarray(result(total, alpha, beta, given, added)).astype(dtype)

    return matmul


def right(total: Any, alpha: float, beta: float, c: Any, bias: Any) -> Any:
    return alpha * total + (beta * c if beta else 0) + bias


def text_of(result: Result, float: str = "f32", pair: str = FP8) -> str:
    function = kernel(result)
    wrapped = ProductFunction.of(function, with_named(function), (1, 1, 0))
    uses, notes = ask_epilogues([ProductSubject("matmul", pair, float, wrapped)], 1 << 20)
    assert notes == ("products: 36 calls with alpha, beta, c, bias",)
    assert len(uses) < 2
    return uses[0].text if uses else ""


def source(beta: float, c: Any) -> Any:
    return beta * c if beta else 0


def turned(c: Any) -> Any:
    return c.T if len(c) == len(c.T) else c


#: What is wrong, as a kernel would be, and the words for it.
WRONG: dict[str, Result] = {
    "alpha is forgotten": lambda s, al, be, c, b: right(s, 1, be, c, b),
    "alpha is squared": lambda s, al, be, c, b: right(s, al * al, be, c, b),
    "it divides by alpha": lambda s, al, be, c, b: right(s, 1 / al, be, c, b),
    "the sign of alpha is lost": lambda s, al, be, c, b: right(s, abs(al), be, c, b),
    "beta is taken for alpha": lambda s, al, be, c, b: right(s, be, be, c, b),
    "C is forgotten": lambda s, al, be, c, b: al * s + b,
    "beta is forgotten": lambda s, al, be, c, b: al * s + c + b,
    "C is read although beta is 0": lambda s, al, be, c, b: al * s + be * c + b,
    "beta is squared": lambda s, al, be, c, b: right(s, al, be * be, c, b),
    "C is added twice": lambda s, al, be, c, b: right(s, al, 2 * be, c, b),
    "C is subtracted": lambda s, al, be, c, b: right(s, al, -be, c, b),
    "C is multiplied by alpha, too": lambda s, al, be, c, b: right(s, al, al * be, c, b),
    "C is multiplied by alpha, not by beta": lambda s, al, be, c, b: al * (s + c) + b,
    "C is transposed": lambda s, al, be, c, b: right(s, al, be, turned(c), b),
    "the bias is forgotten": lambda s, al, be, c, b: right(s, al, be, c, 0),
    "the bias is added twice": lambda s, al, be, c, b: right(s, al, be, c, 2 * b),
    "the bias is subtracted": lambda s, al, be, c, b: right(s, al, be, c, -b),
    "the bias is multiplied by alpha, too": lambda s, al, be, c, b: right(s, al, be, c, al * b),
    "the bias is multiplied by beta, too": lambda s, al, be, c, b: right(s, al, be, c, be * b),
    "the bias runs along rows, not columns": lambda s, al, be, c, b: right(
        s, al, be, c, np.resize(b, len(s))[:, None]
    ),
    "the bias is that of the next column": lambda s, al, be, c, b: right(
        s, al, be, c, np.roll(b, -1)
    ),
    "the sum is rounded to bfloat16 before alpha": lambda s, *more: right(
        s.astype(ml_dtypes.bfloat16).astype(float), *more
    ),
    "the sum is rounded to float16 before alpha": lambda s, *more: right(
        s.astype(np.float16).astype(float), *more
    ),
    "alpha is forgotten and C is added twice": lambda s, al, be, c, b: right(s, 1, 2 * be, c, b),
    "C is multiplied by alpha, too and the bias is multiplied by alpha, too": (
        lambda s, al, be, c, b: al * right(s, 1, be, c, b)
    ),
}


@pytest.mark.parametrize("float", ["f32", "bf16", "f16"])
def test_right_kernels_conform(float: str) -> None:
    assert not text_of(right, float)
    assert not text_of(lambda s, al, be, c, b: source(be, c) + (b + al * s), float)


def test_every_bug_has_a_wrong_kernel() -> None:
    assert {*itertools.chain(*BUGS.values())} - {""} <= {*WRONG}


@pytest.mark.parametrize("text", WRONG)
def test_each_fault_is_named(text: str) -> None:
    assert text_of(WRONG[text]).startswith(f"{text} (")


def test_rounding_before_alpha_is_told_of_outputs_that_are_narrow() -> None:
    text = "the sum is rounded to bfloat16 before alpha"
    assert text_of(WRONG[text], "bf16").startswith(f"{text} (")


def test_what_nothing_gives_is_told_as_that() -> None:
    text = text_of(lambda s, al, be, c, b: right(s, al, be, c, b) + (al == 0.75))
    assert text.startswith("no known fault gives them (4 of 36 calls with alpha, beta, C or a ")


def test_a_kernel_that_raises_is_told_so() -> None:
    def raises(s: Any, al: float, be: float, c: Any, b: Any) -> Any:
        return right(s, al, be, c, b[: len(s), np.newaxis] * np.ones(s.shape))

    text = text_of(raises)
    assert text.startswith("the bias runs along rows, not columns (")
    assert "operands could not be broadcast" in text or "want" in text


def test_tensors_have_their_scales_beside_alpha() -> None:
    """NVFP4: by names, in any order, with a dtype or not."""

    def matmul(
        *operands: Any, tensor_scale_a: Any = None, alpha: float = 1.0, tensor_scale_b: Any = None
    ) -> Any:
        assert len(operands) == 6
        tensors = 1 if tensor_scale_a is None else tensor_scale_a * tensor_scale_b
        names = (*operands[:4], "fp4_ue4m3", "fp4_ue4m3")
        return (product(*names) * tensors * alpha**2).astype(np.float32)

    wrapped = ProductFunction.of(matmul, with_named(matmul), (1, 1, 0))
    assert wrapped.epilogue == ("alpha",)
    for pair in ("nvfp4-nvfp4", "fp4_ue4m3-fp4_ue4m3"):
        uses, notes = ask_epilogues([ProductSubject("matmul", pair, "f32", wrapped)], 1 << 20)
        assert notes == ("products: 8 calls with alpha",)
        assert uses[0].text.startswith("alpha is squared (8 of 8 calls ")


def test_only_parameters_that_may_be_left_out_are_given() -> None:
    def plain(a: Any, alpha: Any, b: Any, beta: Any, c: str, bias: str) -> Any:
        return alpha, beta

    assert ProductFunction.of(plain, plain, (1, 1, 0)).epilogue == ()
    assert with_named(plain) is plain


def test_verify_fails_and_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_shapes, "_SHAPES", ((3, 5, 1),))
    monkeypatch.setattr(product_shapes, "_REAL", ())
    file = vector_file(f"matmul/{FP8}.f32")
    for result, passes in ((right, True), (WRONG["alpha is forgotten"], False)):
        function = kernel(result)
        target = target_of(SimpleNamespace(matmul=function, FLOATS=["f32"]), "kernel")
        report = check(target, [file], extent=Extent(elements=6000, unfiled=False))
        assert report.passed is passes
        assert "products: 36 calls with alpha, beta, c, bias" in report.scope.notes
        if not passes:
            assert "is wrong with some options of a call" in verdict_text(report)
            assert "alpha is forgotten" in verdict_text(report)
