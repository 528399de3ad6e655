"""Profiles of scales that are no powers of two.

What is expected is computed with NumPy's own float32 and ml_dtypes' casts, which mxref does not
use, and by `mxref.exact`; tests/peers compares the profiles with what they are models of.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from nvfp4_casts import numbers, to_codes, to_scales
from thresholds import amaxes, at_thresholds, count_at_thresholds, with_specials

import mxref
from mxref import exact
from mxref.blocks.two_level import TensorScale, TensorScaleKind

F = np.float32
Expected = tuple[np.float32, np.ndarray, np.ndarray]


def cublas(x: np.ndarray) -> Expected:
    """As the documentation has it: S = 2688 / A, y = x S, s = max|y| / 6, y (1 / s)."""
    amax = np.fmax.reduce(np.abs(x), axis=None, initial=F(0))
    whole = F(2688) / amax if amax else F(1)
    y = x * whole
    scales = to_scales(np.fmax.reduce(np.abs(y), axis=1, initial=F(0)) / F(6))
    return whole, scales, to_codes(y * (F(1) / numbers(scales))[:, np.newaxis])


def flashinfer(x: np.ndarray) -> Expected:
    """As SPEC_NOTES N41 has it; the zero of an element loses its sign, an underflow does not."""

    def reciprocal(one: np.ndarray) -> np.ndarray:
        return np.where(one == 0, F(0), F(1) / one)

    whole = F(2688) * (F(1) / np.max(np.abs(x)))
    scales = to_scales(whole * (np.max(np.abs(x), axis=1) * F(1 / 6)))
    factors = reciprocal(numbers(scales) * reciprocal(whole))
    quotients = x * factors[:, np.newaxis]
    return whole, scales, np.where(quotients == 0, 0, to_codes(quotients))


KINDS: dict[str, Callable[[np.ndarray], Expected]] = {
    "cublas_nvfp4": cublas,
    "flashinfer_nvfp4": flashinfer,
}


def compare(name: str, x: np.ndarray) -> int:
    with np.errstate(all="ignore"):
        whole, scales, codes = KINDS[name](x)
    blocks = mxref.profile(name).quantize(x, "nvfp4")
    assert blocks.tensor_scale is not None
    assert blocks.tensor_scale.kind is TensorScaleKind.DIVISOR
    assert np.array_equal(blocks.tensor_scale.value, whole, equal_nan=True)
    assert np.array_equal(blocks.scale_codes[:, 0], scales)
    assert np.array_equal(blocks.codes, codes)
    return int(codes.size)


@pytest.mark.parametrize("name", KINDS)
def test_a_million_codes(name: str) -> None:
    compared = near = 0
    for amax in amaxes(22).tolist():
        x = at_thresholds(amax)
        compared += compare(name, x)
        near += count_at_thresholds(x, amax)
    generator = np.random.default_rng(16)
    for spread in (0, 8, 30):
        powers = generator.integers(-spread, spread + 1, (4096, 1)).astype(np.int32)
        x = np.ldexp(generator.standard_normal((4096, 16), np.float32), powers).astype(F)
        compared += compare(name, x)
    print(f"{compared} codes compared, {near} of them at thresholds")
    assert compared > 1_000_000
    assert near > 0.3 * compared


@pytest.mark.parametrize("name", KINDS)
def test_specials(name: str) -> None:
    for x in with_specials():
        compare(name, x)


def test_cublas_in_exact_arithmetic() -> None:
    """The slow twin, of every third block at a threshold."""
    model = mxref.profile("cublas_nvfp4")
    for amax in (1.0, 2.0**-128, 3.3e38, 5.7):
        x = at_thresholds(amax)
        x = np.concatenate([x[:1], x[1::3]])
        words = x.view(np.uint32).tolist()
        whole, rows = exact.quantize_scaled(words, "f32", "e2m1", "ue4m3", "cublas", "dynamic")
        blocks = model.quantize(x, "nvfp4")
        assert blocks.tensor_scale == TensorScale(whole or 0, TensorScaleKind.DIVISOR)
        assert blocks.scale_codes[:, 0].tolist() == [code for code, _ in rows]
        assert blocks.codes.tolist() == [codes for _, codes in rows]


BLOCKS = [
    name
    for name, one in mxref.profiles.PROFILES.items()
    if {"blocks", "scaled"} & {*one.replaced} and "dequantize" in (one.formats or {})
]


@pytest.mark.parametrize("name", BLOCKS)
def test_axes_tails_and_arrays_that_are_given(name: str) -> None:
    """Blocks lie along any axis, a tail is filled up with zeros, and `out` holds the codes."""
    model = mxref.profile(name)
    format = model.formats["quantize"][0]
    x = np.random.default_rng(17).standard_normal((6, 40), np.float32)
    blocks = model.quantize(x, format)
    whole = model.quantize(np.pad(x, ((0, 0), (0, 8))), format)
    assert np.array_equal(blocks.codes, whole.codes)
    assert np.array_equal(blocks.scale_codes, whole.scale_codes)
    assert blocks.tensor_scale == whole.tensor_scale
    turned = model.quantize(x.T.copy(), format, axis=0)
    assert np.array_equal(turned.codes.T, blocks.codes)
    assert np.array_equal(turned.scale_codes.T, blocks.scale_codes)
    out = np.empty_like(blocks.codes), np.empty_like(blocks.scale_codes)
    assert model.quantize(x, format, out=out) == blocks
    assert np.array_equal(out[0], blocks.codes)
    assert np.array_equal(model.dequantize(turned).T, model.dequantize(blocks))
    if blocks.tensor_scale is not None:
        assert model.quantize(x, format, tensor_scale=blocks.tensor_scale) == blocks
        kind = TensorScaleKind("divisor" if "torchao" in name else "factor")
        other = TensorScale(0x3F800000, kind)
        with pytest.raises(ValueError, match="tensor_scale must be of kind"):
            model.quantize(x, format, tensor_scale=other)
        codes, scales = blocks.codes, blocks.scale_codes
        wrong = mxref.Blocks(codes, scales, format, 1, x.shape, tensor_scale=other)
        with pytest.raises(ValueError, match="must have a tensor scale of kind"):
            model.dequantize(wrong)


def test_a_profile_without_a_tensor_scale_refuses_one() -> None:
    one = TensorScale(0x3F800000, TensorScaleKind.FACTOR)
    with pytest.raises(ValueError, match="tensor_scale must be None, since fp4_ue4m3 has none"):
        mxref.profile("gguf_nvfp4").quantize(np.zeros(16, F), "fp4_ue4m3", tensor_scale=one)


@pytest.mark.parametrize("end", ["_448", "_448_mse", "_fast", "_fast_mse", "_448_fast"])
def test_four_over_six_adds_errors_in_an_order(end: str) -> None:
    model = mxref.profile(f"transformer_engine_nvfp4_4over6{end}")
    with pytest.raises(ValueError, match=r"block_size must be one number or \(16, 16\)"):
        model.quantize(np.zeros((16, 32), F), "nvfp4", block_size=(8, 32), axis=(0, 1))


def test_448_and_fast_errors_choose_other_scales() -> None:
    """By hand: with 256 the scale of 4 is 384, and 4, 2, 1 and 3 of it are all of the numbers.

    With 448 there is no room for 1.5 times 448, so that it is 448, as that of 6.
    """
    x = F([[6.0, 3.0, 1.5, 4.5, *[0] * 12]])
    codes = {
        end: mxref.profile(f"transformer_engine_nvfp4_4over6{end}").quantize(x, "nvfp4").scale_codes
        for end in ("", "_448", "_fast", "_448_fast")
    }
    assert {end: int(one[0, 0]) for end, one in codes.items()} == {
        **{"": 0x7C, "_fast": 0x7C},
        **{"_448": 0x7E, "_448_fast": 0x7E},
    }


@pytest.mark.parametrize(("above", "code"), [(0, 7), (1, 0)])
def test_ggml_makes_zeros_of_huge_numbers(above: int, code: int) -> None:
    """Above 2**36 a unit of the last place is 8192, and 2688 is less than half of it."""
    x = (np.float32([2.0**36]).view(np.uint32) + np.uint32(above)).view(F)
    blocks = mxref.profile("gguf_nvfp4").quantize(x, "fp4_ue4m3")
    assert (blocks.scale_codes[0], blocks.codes[0]) == (0x7E, code)


def test_ggml_by_hand() -> None:
    """Halves go up; below 2**-6 at most 7; from 248 on 448; infinity and NaN are 0."""
    model, scale = mxref.profile("gguf_nvfp4"), F([*[1.0625] * 2, 7.75 * 2.0**-9, 247, 248, 1e30])
    x = np.zeros((6, 16), F)
    x[:, 0] = scale * F(6)
    x[1, 0] = np.nextafter(x[1, 0], F(0))
    x[0, 1:4] = np.nan, 0.3, -np.inf  # an infinity makes the scale the largest
    blocks = model.quantize(x, "fp4_ue4m3")
    assert blocks.scale_codes[:, 0].tolist() == [0x7E, 0x38, 0x07, 0x77, 0x7E, 0x7E]
    assert blocks.codes[0, :4].tolist() == [0, 0, 0, 0]
    assert model.quantize(x[0, :1], "fp4_ue4m3").scale_codes.tolist() == [0x39]
    read = mxref.Blocks(np.uint8([[1, 8, 9, 7]]), np.uint8([[0x7F]]), "fp4_ue4m3", 1, (1, 4))
    assert model.dequantize(read).view(np.uint32).tolist() == [[0, 0, 0x80000000, 0]]
