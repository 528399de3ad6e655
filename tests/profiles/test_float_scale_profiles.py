"""Profiles of FP8 under float32 scales, by the sources' formulas in NumPy's own float32.

ml_dtypes casts to FP8, after a clamp. tests/peers compares them with the originals that run there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mxref
from mxref.profiles.float_scales import PROFILES

F = np.float32
FLT_MAX = np.finfo(F).max
Array = np.ndarray[Any, Any]
NAMES = {one.name for one in PROFILES}


def bit_ceiling(s: Array) -> Array:
    """ceil_to_ue8m0 of DeepGEMM."""
    bits = s.view(np.int32)
    field = (bits >> 23 & 0xFF) + (bits & 0x7FFFFF != 0)
    return (np.clip(field, 1, 254).astype(np.int32) << 23).view(F)


def log2_ceiling(s: Array) -> Array:
    """exp2(ceil(log2(s))); NumPy's log2 of float64, rounded to float32, is correctly rounded."""
    return np.exp2(np.ceil(np.log2(s.astype(np.float64)).astype(F))).astype(F)


def log2_floor(s: Array) -> Array:
    """exp2(floor(log2(s))), likewise."""
    return np.exp2(np.floor(np.log2(s.astype(np.float64)).astype(F))).astype(F)


def deepseek(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = np.maximum(a, F(1e-4)) / m
    return s, x / s


def deepseek_ue8m0(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = log2_ceiling(np.maximum(a, F(1e-4)) / m)
    return s, x / s


def deepgemm(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = np.maximum(a, F(1e-4)) / m
    return s, x * (F(1) / s)


def deepgemm_ue8m0(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = bit_ceiling(np.maximum(a, F(1e-4)) / m)
    return s, x * (F(1) / s)


def transformer_engine(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    r = np.where(a == 0, F(1), m / a)
    r = np.where(np.isinf(r), np.finfo(F).max, r)
    return F(1) / r, x * r


def transformer_engine_power(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    r = np.where(a == 0, F(1), m / a)
    r = np.where(np.isinf(r), np.finfo(F).max, r)
    r = (r.view(np.uint32) & np.uint32(0xFF800000)).view(F)
    return F(1) / r, x * r


def torchao(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    r = (np.float64(m) / np.maximum(a.astype(np.float64), 1e-12)).astype(F)
    return F(1) / r, x * r


def torchao_power(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    r = log2_floor((np.float64(m) / np.maximum(a.astype(np.float64), 1e-12)).astype(F))
    return F(1) / r, x * r


def torchao_inference(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    return a / m, x / (a / m)


def vllm(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = np.maximum(a, F(1e-10)) / m
    return s, x / s


def vllm_native(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = np.maximum(a / m, F(1 / (float(m) * 512)))
    return s, x / s


def vllm_native_ue8m0(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = np.maximum(log2_ceiling(a / m), F(1 / (float(m) * 512)))
    return s, x / s


def vllm_tokens(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = np.maximum(a / m, F(1 / (float(m) * 512)))
    return s, x * (F(1) / s)


def sglang(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    a = np.maximum(a, F(1e-10))
    return a * (F(1) / m), x * (m / a)


def sglang_ue8m0(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = bit_ceiling(np.maximum(a, F(1e-10)) * (F(1) / m))
    return s, x * (F(1) / s)


def sglang_triton(x: Array, a: Array, m: F) -> tuple[Array, Array]:
    s = np.maximum(a, F(1e-10)) / m
    return s, x * (F(1) / s)


FORMULAS: dict[str, Callable[[Array, Array, F], tuple[Array, Array]]] = {
    "deepseek_v3_fp8": deepseek,
    "deepseek_v3_fp8_ue8m0": deepseek_ue8m0,
    "deepgemm_fp8": deepgemm,
    "deepgemm_fp8_ue8m0": deepgemm_ue8m0,
    "transformer_engine_fp8_block": transformer_engine_power,
    "transformer_engine_fp8_block_float32": transformer_engine,
    "transformer_engine_fp8_current": transformer_engine,
    "transformer_engine_fp8_current_power": transformer_engine_power,
    "torchao_0_18_float8": torchao,
    "torchao_0_18_float8_power": torchao_power,
    "torchao_0_18_float8_inference": torchao_inference,
    "vllm_fp8_group": vllm,
    "vllm_fp8_group_native": vllm_native,
    "vllm_fp8_group_native_ue8m0": vllm_native_ue8m0,
    "vllm_fp8_native": vllm_tokens,
    "sglang_fp8_group": sglang,
    "sglang_fp8_group_ue8m0": sglang_ue8m0,
    "sglang_fp8_group_triton": sglang_triton,
}
CAST = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def blocks(m: float) -> Array:
    """Blocks of 128 of every size: amaxes beside powers of two times M and beside floors, zeros.

    Half of the elements are near the middle of two numbers of E4M3 times amax / M.
    """
    draw = np.random.default_rng(51)
    edges = [1e-12, 1e-10, 1e-4, 1 / 512, 1e-4 / m, 1e-10 * m]
    a = F([*np.ldexp(m, np.arange(-140, 100, 3)), *np.ldexp(1.0, np.arange(-120, 127, 7)), *edges])
    bits = np.concatenate([a.view(np.int32) + n for n in (-1, 0, 1, 3, 9, 33, 1000)])
    a = bits.view(F)
    x = a[:, np.newaxis] * draw.uniform(-1, 1, (a.size, 128)).astype(F) ** 3
    numbers = np.arange(126, dtype=np.uint8).view(CAST["e4m3"]).astype(np.float64)
    middle = draw.choice((numbers[1:] + numbers[:-1]) / 2, (a.size, 64))
    with np.errstate(all="ignore"):
        x[:, 64:] = np.minimum(
            (a[:, np.newaxis].astype(np.float64) / m * middle).astype(F), FLT_MAX
        )
    x = np.clip(x, -a[:, np.newaxis], a[:, np.newaxis])
    x[:, 5] = -a
    return np.concatenate([x, np.zeros((1, 128), F)]).astype(F)


def test_every_profile_has_a_formula() -> None:
    assert set(FORMULAS) == NAMES


@pytest.mark.parametrize("name", FORMULAS)
def test_scales_and_codes_are_those_of_the_formula(name: str) -> None:
    profile = mxref.profile(name)
    assert profile.formats is not None
    for format in profile.formats["quantize"]:
        element = mxref.formats.block_format(format).element
        m = F(element.max_normal)
        x = blocks(float(m))
        if name == "torchao_0_18_float8_inference":
            x = x[:-1]  # zeros are NaN, whose sign is the processor's
        with np.errstate(all="ignore"):
            s, quotients = FORMULAS[name](x, np.abs(x).max(axis=1, keepdims=True), m)
            wanted = np.clip(quotients, -m, m).astype(CAST[element.name]).view(np.uint8)
        found = profile.quantize(x, format, block_size=128 if "x" not in format else (1, 128))
        np.testing.assert_array_equal(found.scales, s)
        is_nan = np.isnan(quotients)
        np.testing.assert_array_equal(found.codes[~is_nan], wanted[~is_nan])
        assert profile.dequantize(found).tobytes() == mxref.dequantize(found).tobytes()


def test_no_two_libraries_agree() -> None:
    """Of the recipes of other libraries each has other bits on these blocks."""
    x = blocks(448.0)
    some = ("deepgemm_fp8", "deepseek_v3_fp8", "vllm_fp8_group", "sglang_fp8_group")
    some += ("torchao_0_18_float8", "transformer_engine_fp8_block", "vllm_fp8_group_native")
    found = {name: mxref.profile(name).quantize(x, "fp8_e4m3_f32") for name in some}
    for name, one in found.items():
        for other, another in found.items():
            assert name == other or one != another, (name, other)


def test_n48_the_cpu_path_of_vllm_is_no_witness_of_its_kernel() -> None:
    x = np.full((1, 128), 1e-4, F)
    kernel, native = (
        mxref.profile(name).quantize(x, "fp8_e4m3_f32").scales.item()
        for name in ("vllm_fp8_group", "vllm_fp8_group_native")
    )
    assert (kernel, native) == (F(1e-4) / F(448), F(1 / (448 * 512)))
