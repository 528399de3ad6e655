"""Integer operations that are wrong in ways that no mutant and no policy is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from helpers import table

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
    return np.where(lost, 0, right).astype(q.dtype)


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
    WrongInteger(globals()[one.pop("function")], **one)
    for one in table("unknown_integers")["wrong"]
]
