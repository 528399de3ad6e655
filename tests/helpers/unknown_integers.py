"""Integer operations that are wrong in ways that no mutant and no policy is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxref.integer import (
    QParams,
    dequantize_affine,
    grid_sample,
    quantize_affine,
    rescale,
    unpack_int4,
)

Function = Callable[..., Any]


def quantized(values: Any, *parameters: Any) -> Any:
    scale, zero_point, low, high, dtype, axis = parameters
    qparams = QParams(scale, zero_point, low, high, dtype, axis)
    codes = quantize_affine(np.nan_to_num(values, posinf=np.inf, neginf=-np.inf), qparams)
    return np.where(np.isnan(values), np.clip(0, low, high), codes).astype(dtype)


def negative_ties_cut_off(
    values: Any, scale: Any, zero: Any, low: int, high: int, *rest: Any
) -> Any:
    codes = quantized(values, scale, zero, low, high, *rest)
    with np.errstate(all="ignore"):
        x = values * (np.float32(1) / np.float32(scale))
        tie = (x < 0) & (x - np.floor(x) == 0.5)
        cut = np.clip(np.ceil(x) + zero, low, high)
        return np.where(tie, cut, codes).astype(codes.dtype)


def no_least_code(*arguments: Any) -> Any:
    codes = quantized(*arguments)
    return np.where(codes == -128, -127, codes).astype(codes.dtype)


def last_channel_left_out(values: Any, *rest: Any) -> Any:
    codes = np.moveaxis(quantized(values, *rest).copy(), rest[-1], 0)
    codes[-1] = 0
    return np.moveaxis(codes, 0, rest[-1])


def small_scales_flushed(values: Any, scale: Any, *rest: Any) -> Any:
    codes = quantized(values, scale, *rest)
    return codes * 0 if np.abs(np.float32(scale)) < 2.0**-100 else codes


def zero_point_of_upper_codes(
    q: Any, scale: Any, zero: Any, low: int, high: int, *rest: Any
) -> Any:
    qparams = QParams(scale, zero, low, high, *rest)
    numbers = dequantize_affine(q, qparams)
    plain = dequantize_affine(q, QParams(scale, 0, low, high, *rest))
    return np.where(q >= 128, plain, numbers)


def no_rounding_of_long_shifts(
    q: Any, m: Any, s: Any, zero: int, out: int, dtype: Any, bits: int
) -> Any:
    right = rescale(q, m, s, zero, out, dtype=dtype, bits=bits)
    product = (q.astype(object) - zero) * m.astype(object) >> s.astype(object)
    info = np.iinfo(dtype)
    return np.where(s > 36, np.clip(product + out, info.min, info.max), right).astype(dtype)


def zeros_beyond_the_right(q: Any, grid: Any, align: bool, padding: str, zero: int) -> Any:
    right = grid_sample(q, grid, align_corners=align, padding=padding, zero_point=zero)
    lost = (grid[..., 0] > 30000) & (padding == "border")
    return np.where(lost, zero, right).astype(q.dtype)


def odd_columns_unsigned(packed: Any, k: int) -> Any:
    codes = unpack_int4(packed, k)
    return np.where((codes < 0) & (np.arange(k) % 2 == 1), codes + 16, codes).astype(np.int8)


@dataclass(frozen=True)
class WrongInteger:
    """A wrong function, where it is put to the test, and what is said of it."""

    function: Function
    op: str
    format: str
    text: str


WRONG_INTEGERS = [
    WrongInteger(
        negative_ties_cut_off,
        "quantize_affine",
        "int8",
        "x is negative, the result is rounded away from zero and the number that is rounded is a "
        "tie (518 of 518): 1 too large",
    ),
    WrongInteger(
        no_least_code,
        "quantize_affine",
        "int8",
        "the wanted code is -128 (205 of 205): 1 too large",
    ),
    WrongInteger(
        last_channel_left_out,
        "quantize_affine",
        "int8_axis",
        "the wanted code is not 0 and the number of channels behind it is 0 (92 of 92): becomes 0",
    ),
    WrongInteger(
        small_scales_flushed,
        "quantize_affine",
        "uint8",
        "the scale is at most 2^-125 and the wanted code is positive (50 of 50): becomes 0",
    ),
    WrongInteger(
        zero_point_of_upper_codes,
        "dequantize_affine",
        "uint8",
        "|scale * element| is at most 12.7, the zero point is at least 128 and the code is at "
        "least 128 (323 of 323)",
    ),
    WrongInteger(
        no_rounding_of_long_shifts,
        "rescale",
        "int32-int8",
        "the number that is rounded is above a tie, the shift is at least 40 and the wanted code "
        "is at least -11 and at most 16 (43 of 43): 1 too small",
    ),
    WrongInteger(
        zeros_beyond_the_right,
        "grid_sample",
        "int8",
        "the wanted code is not 0, padding is border and x of the grid is at least 32766 (68 of "
        "68): becomes 0",
    ),
    WrongInteger(
        odd_columns_unsigned,
        "unpack_int4",
        "int4",
        "the wanted code is negative and the column is odd (157 of 157)",
    ),
]
