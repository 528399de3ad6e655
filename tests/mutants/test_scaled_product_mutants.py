"""Products in blocks of 16: right kernels conform, each bug is told in any order of additions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import vector_file
from product_targets import limit_shapes

from mxref.conformance import target_of
from mxref.conformance.checking.check import check
from mxref.conformance.checking.extent import Extent
from mxref.conformance.verdict.one_sentence import verdict_text
from mxref.conformance.verdict.report import Report
from mxref.mutants import MUTANTS, Mutant
from mxref.mutants.scaled_product_mutants import NUMBERS, SCALED_PRODUCTS, wrong_numbers

_ONE = np.float32(1)
IDS = {heading.split()[0] for heading in SCALED_PRODUCTS}
CASES = [(one, pair) for one in MUTANTS if one.id in IDS for pair in one.formats]
#: The numbers of E2M1, and of the scales, by hand.
ELEMENTS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
UE4M3 = np.arange(128, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
E8M0 = np.array([*(2.0 ** (code - 127) for code in range(255)), np.nan])


@pytest.fixture(autouse=True)
def small_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    limit_shapes(monkeypatch, 600, 4)


def report_on(pair: str, matmul: Any, float: str = "f32") -> Report:
    """Of a kernel that takes any length, which is not filled up to whole blocks then."""
    kernel = SimpleNamespace(matmul=matmul, FORMATS=sorted({*pair.split("-")}), MULTIPLES=(1, 1, 1))
    files = [vector_file(f"matmul/{pair}.{float}")]
    return check(target_of(kernel, "kernel"), files, extent=Extent(elements=2000))


def sums(x: Any, y: Any) -> Any:
    """Float32 sums of each product, the last one first."""
    total = np.zeros((len(x), len(y)), np.float32)
    for k in reversed(range(x.shape[1])):
        total = total + np.multiply.outer(x[:, k], y[:, k]).astype(np.float32)
    return total


def right(
    sa: Any,
    ca: Any,
    sb: Any,
    cb: Any,
    fa: str,
    fb: str,
    *,
    tensor_scale_b: Any = np.float32(1),  # noqa: B008
    tensor_scale_a: Any = np.float32(1),  # noqa: B008
) -> Any:
    """Alpha after the sum, as kernels have it; parameters by name in another order."""
    table = E8M0 if fa == "fp4_e8m0" else UE4M3
    x, y = (
        ELEMENTS[codes] * np.repeat(table[scales], 16, axis=1)[:, : codes.shape[1]]
        for scales, codes in ((sa, ca), (sb, cb))
    )
    return sums(x, y) * (tensor_scale_a * tensor_scale_b)


@pytest.mark.parametrize("pair", ["nvfp4-nvfp4", "fp4_ue4m3-fp4_ue4m3", "fp4_e8m0-fp4_e8m0"])
def test_a_right_kernel_conforms(pair: str) -> None:
    report = report_on(pair, right)
    assert report.passed
    (row,) = report.rows
    assert row.description is not None
    assert row.description.text.endswith("in some order, which is none of the named ones")


@pytest.mark.parametrize("by_32", [False, True])
@pytest.mark.parametrize("pair", ["nvfp4-nvfp4", "fp4_ue4m3-fp4_ue4m3", "fp4_e8m0-fp4_e8m0"])
def test_half_a_step_of_32_that_is_dropped_is_found(pair: str, by_32: bool) -> None:
    """K is filled up to whole blocks, which are 16, unless the target says that it takes 32."""

    def matmul(
        sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str, *,
        tensor_scale_a: Any = _ONE, tensor_scale_b: Any = _ONE,
    ) -> Any:  # fmt: skip
        k = ca.shape[1] - ca.shape[1] % 32
        a, b = (sa[:, : k // 16], ca[:, :k]), (sb[:, : k // 16], cb[:, :k])
        tensors = {"tensor_scale_a": tensor_scale_a, "tensor_scale_b": tensor_scale_b}
        return right(*a, *b, fa, fb, **tensors)

    kernel = SimpleNamespace(matmul=matmul, FORMATS=[pair.split("-")[0]])
    if by_32:
        kernel.MULTIPLES = (1, 1, 32)
    target = target_of(kernel, "kernel")
    assert any("multiples of 1 (m), 1 (n), 32 (k) alone" in one for one in target.notes) is by_32
    file = vector_file(f"matmul/{pair}.f32")
    assert check(target, [file], extent=Extent(elements=2000)).passed is by_32


def test_a_kernel_without_scales_of_tensors_is_not_asked_nvfp4() -> None:
    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> Any:
        return right(sa, ca, sb, cb, fa, fb)

    target = target_of(SimpleNamespace(matmul=matmul, FORMATS=["nvfp4", "fp4_ue4m3"]), "k")
    assert not target.covers("matmul", "nvfp4-nvfp4", "f32")
    assert target.covers("matmul", "fp4_ue4m3-fp4_ue4m3", "f32")
    assert not target_of(SimpleNamespace(matmul=right), "k").covers(
        "matmul", "fp4_ue4m3-fp4_ue4m3", "f32"
    )


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("mutant", "pair"), CASES, ids=lambda it: getattr(it, "id", it))
def test_a_kernel_with_it_fails_and_is_told_what_it_is(mutant: Mutant, pair: str) -> None:
    """Where the wrong operands say it, sums in another order than the mutant's are told, too."""

    def matmul(*arguments: Any, tensor_scale_a: Any = None, tensor_scale_b: Any = None) -> Any:
        tensors = () if tensor_scale_a is None else (tensor_scale_a, tensor_scale_b)
        if mutant.id not in NUMBERS:
            assert mutant.run is not None
            return mutant.run(*arguments, np.float32, *tensors)
        with np.errstate(all="ignore"):
            return sums(*wrong_numbers(mutant.id, *arguments, np.float32, *tensors))

    report = report_on(pair, matmul)
    assert not report.passed
    assert f"has bug {mutant.id}: " in verdict_text(report)


@pytest.mark.parametrize("id", ["H36", "H36b"])
def test_alpha_after_rounding_is_told_of_bfloat16(id: str) -> None:
    (mutant,) = (one for one in MUTANTS if one.id == id)
    assert mutant.run is not None
    run = mutant.run

    def matmul(
        sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str, dtype: Any,
        tensor_scale_a: Any, tensor_scale_b: Any,
    ) -> Any:  # fmt: skip
        return run(sa, ca, sb, cb, fa, fb, dtype, tensor_scale_a, tensor_scale_b)

    report = report_on("nvfp4-nvfp4", matmul, "bf16")
    assert not report.passed
    assert f"has bug {id}: " in verdict_text(report)
