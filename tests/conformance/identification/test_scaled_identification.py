"""Kernels of the slow twin under scales that are small floats, and what is found out about them."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
import pytest

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.conformance import target_of
from mxref.conformance.identification.identify import Identified, identify

ARITHMETICS = (
    "exact",
    "torchao",
    "transformer_engine",
    "transformer_engine_4over6",
    "transformer_engine_4over6_mse",
    "cublas",
    "compressed_tensors",
)
USUAL = {"zero_sign": "kept", "nan_to_finite": "max"}


def found(format: str, arithmetic: str, float: str = "f32", **choices: str) -> Identified:
    """What `identify` says of the twin's arithmetic."""
    scale = "ue5m3" if format == "fp4_ue5m3" else "ue4m3"
    chosen = {**USUAL, **choices}

    def quantize(values: np.ndarray, format: str, *tensor_scale: Any) -> tuple[Any, Any]:
        tensor = int(tensor_scale[0].view(np.uint32)) if tensor_scale else None
        rows = 16 if format == "nvfp4_16x16" else 1
        high, wide = len(values) // rows, values.shape[1] // 16 if rows > 1 else 1
        words = values.view(f"u{values.itemsize}").reshape(high, rows, wide, -1).swapaxes(1, 2)
        _, blocks = exact.quantize_scaled(
            words.reshape(high * wide, -1).tolist(),
            float,
            "e2m1",
            scale,
            arithmetic,
            tensor,
            rows,
            **chosen,
        )
        scales, codes = (np.array(part, np.uint8) for part in zip(*blocks, strict=True))
        whole = codes.reshape(high, wide, rows, -1).swapaxes(1, 2).reshape(values.shape)
        return scales.reshape((high, wide) if rows > 1 else high), whole

    kernel = types.SimpleNamespace(quantize=quantize, FORMATS=[format], FLOATS=[float])
    (one,) = identify(target_of(kernel, "kernel"), ["quantize"], [format], [float])
    return one


@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("format", ["nvfp4", "fp4_ue4m3", "fp4_ue5m3", "nvfp4_16x16"])
def test_each_arithmetic_is_named(format: str, arithmetic: str) -> None:
    one = found(format, arithmetic)
    assert one.consistent
    assert one.policy.scale.scale_arithmetic.value == arithmetic
    (shown,) = [some for some in one.findings if some.choice == "scale_arithmetic"]
    assert shown.values == (arithmetic,)
    assert len(one.probes) <= 64
    if one.vectors is not None and format != "fp4_ue5m3":
        assert one.vectors.asked > 0


@pytest.mark.parametrize("format", ["nvfp4", "fp4_ue5m3"])
@pytest.mark.parametrize(
    ("arithmetic", "choices"),
    [
        ("transformer_engine", {"zero_sign": "dropped"}),
        ("cublas", {"rounding": "toward_zero", "underflow_sign": "dropped"}),
        ("exact", {"rounding": "ties_to_away"}),
        ("compressed_tensors", {"nan_to_finite": "zero", "zero_sign": "dropped"}),
    ],
)
def test_choices_of_elements_are_named(
    format: str, arithmetic: str, choices: dict[str, str]
) -> None:
    one = found(format, arithmetic, **choices)
    assert one.consistent
    chosen = one.policy.choices()
    for name, member in {"scale_arithmetic": arithmetic, **choices}.items():
        (shown,) = [some for some in one.findings if some.choice == name]
        assert member in shown.values, name
        if name != "nan_to_finite":
            assert (shown.values, chosen[name]) == ((member,), member)


def test_an_arithmetic_in_bfloat16() -> None:
    one = found("nvfp4", "compressed_tensors", "bf16")
    assert one.consistent
    assert one.policy.scale.scale_arithmetic.value == "compressed_tensors"


def test_a_kernel_of_no_policy_is_contradicted() -> None:
    """The numbers of a tensor are told by more than one of them."""

    def quantize(values: np.ndarray, format: str, tensor_scale: Any) -> tuple[Any, Any]:
        words = values.view(np.uint32).tolist()
        _, blocks = exact.quantize_scaled(words, "f32", "e2m1", "ue4m3", "cublas", 0x3F800000)
        scales, codes = zip(*blocks, strict=True)
        return np.array(scales, np.uint8), np.array(codes, np.uint8)

    kernel = types.SimpleNamespace(quantize=quantize, FORMATS=["nvfp4"], FLOATS=["f32"])
    (one,) = identify(target_of(kernel, "kernel"), ["quantize"], ["nvfp4"], ["f32"])
    assert not one.consistent


def found_products(
    format: str, arithmetic: str, float: str, *, ignores: bool = False
) -> Identified:
    """What `identify` says of the twin's products."""
    scale = "ue5m3" if format == "fp4_ue5m3" else "ue4m3"

    @functools.cache
    def word(tensor: int | None, scale_code: int, code: int) -> int:
        return exact.dequantize_scaled(tensor, scale_code, code, "e2m1", scale, arithmetic, float)

    def dequantize(scales: Any, codes: Any, format: str, dtype: Any, *tensor_scale: Any) -> Any:
        tensor = int(tensor_scale[0].view(np.uint32)) if tensor_scale and not ignores else None
        rows = zip(scales.tolist(), codes.tolist(), strict=True)
        words = [[word(tensor, one, code) for code in row] for one, row in rows]
        return np.array(words, LAYOUTS[float].uint).view(dtype)

    kernel = types.SimpleNamespace(dequantize=dequantize, FORMATS=[format], FLOATS=[float])
    (one,) = identify(target_of(kernel, "kernel"), ["dequantize"], [format], [float])
    return one


@pytest.mark.parametrize("float", ["f32", "bf16", "f16", "f64"])
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_each_arithmetic_of_products_is_named(arithmetic: str, float: str) -> None:
    one = found_products("nvfp4", arithmetic, float)
    assert one.consistent
    (shown,) = one.findings
    alike = {name for name in ARITHMETICS if "4over6" in name}
    assert {*shown.values} == (alike if arithmetic in alike else {arithmetic})
    assert bool(shown.because) == (arithmetic in alike)
    assert one.vectors is not None
    assert one.vectors.asked >= 90


@pytest.mark.parametrize("format", ["fp4_ue4m3", "fp4_ue5m3"])
def test_without_a_tensor_scale_there_is_one_product(format: str) -> None:
    one = found_products(format, "cublas", "f32")
    assert one.consistent
    (shown,) = one.findings
    assert {*ARITHMETICS} <= {*shown.values}


def test_a_product_of_no_arithmetic_is_contradicted() -> None:
    """It leaves the scale of the tensor out, which only other numbers than 1 show."""
    one = found_products("nvfp4", "exact", "f32", ignores=True)
    assert not one.consistent
