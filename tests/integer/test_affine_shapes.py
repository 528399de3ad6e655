"""Affine quantization: channels, tokens, groups, parts, other memory and other floats."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mxref.integer import QParams, dequantize_affine, quantize_affine

TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_channels_are_tensors_of_their_own(axis: int, dtype: Any) -> None:
    drawn, info = np.random.default_rng(10), np.iinfo(dtype)
    x = np.float32(
        drawn.normal(size=(3, 4, 5)) * 2.0 ** drawn.integers(-4, info.bits - 6, (3, 4, 5))
    )
    x[1] = 0  # a channel of zeros
    count, ends = x.shape[axis], (int(info.min), int(info.max), dtype)
    scales, zeros = np.float32(drawn.uniform(0.01, 0.1, count)), drawn.integers(0, 19, count)
    codes = quantize_affine(x, QParams(scales, zeros, *ends, axis))
    numbers = dequantize_affine(codes, QParams(scales, zeros, *ends, axis))
    assert len(np.unique(codes)) > 12
    for i in range(count):
        own = QParams(scales[i], zeros[i], *ends)
        part = quantize_affine(np.take(x, i, axis), own)
        assert np.array_equal(np.take(codes, i, axis), part)
        assert np.array_equal(np.take(numbers, i, axis), dequantize_affine(part, own))


def test_tokens_are_rows_of_a_matrix() -> None:
    x = np.float32([[0.5, 1.5, -40000], [0.25, 0.75, 3e9]])
    for dtype, want in (
        (np.int16, [[2, 2, -32768], [2, 2, 32767]]),
        (np.int32, [[2, 2, -39999], [2, 2, 2**31 - 1]]),
    ):
        info = np.iinfo(dtype)
        tokens = QParams([1.0, 0.5], [1, 1], int(info.min), int(info.max), dtype, 0)
        assert quantize_affine(x, tokens, zero_point="before").tolist() == want


def test_groups_are_tensors_of_their_own() -> None:
    drawn = np.random.default_rng(11)
    x = np.float32(drawn.normal(size=(2, 12, 3)))
    scales = np.float32(drawn.uniform(0.01, 0.1, (2, 4, 3)))
    qparams = QParams(scales, -5, axis=1)
    codes = quantize_affine(x, qparams, zero_point="before")
    numbers = dequantize_affine(codes, qparams)
    for i, g, j in np.ndindex(2, 4, 3):
        own, group = QParams(scales[i, g, j], -5), (i, slice(3 * g, 3 * g + 3), j)
        part = quantize_affine(x[group], own, zero_point="before")
        assert np.array_equal(codes[group], part)
        assert np.array_equal(numbers[group], dequantize_affine(part, own))


def test_parameters_do_not_change_with_their_array() -> None:
    scales = np.array([0.5, 0.25])
    qparams = QParams(scales, axis=0)
    scales[:] = 8
    assert quantize_affine(np.float32([1, 1]), qparams, scale_type="float64").tolist() == [2, 4]


def test_many_parts_and_other_memory() -> None:
    x = np.float32(np.random.default_rng(12).normal(size=(300, 700)))
    qparams = QParams(np.full(700, 0.01), axis=1)
    want = quantize_affine(x, QParams(0.01))
    for values in (x, np.asfortranarray(x), x[::-1][::-1], x.astype(">f4")):
        assert np.array_equal(quantize_affine(values, qparams), want)
        assert np.array_equal(quantize_affine(values, QParams(0.01)), want)
    wide, codes = QParams(0.01, dtype=np.int16), want.astype(np.int16)
    swapped = dequantize_affine(codes.astype(">i2"), wide)
    assert np.array_equal(swapped, dequantize_affine(codes, wide))
    assert quantize_affine(x[:0], qparams).shape == (0, 700)
    assert quantize_affine(np.float32(0.5), QParams(0.25)).tolist() == 2


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_float32_first(dtype: Any) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        wide = x.astype(np.float32)
    for scale in (0.013, 2.0**-127):
        codes = quantize_affine(x, QParams(scale), nan="lowest")
        assert np.array_equal(codes, quantize_affine(wide, QParams(scale), nan="lowest"))
