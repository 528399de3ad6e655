"""Functions that are wrong in ways that no mutant and no policy is, as targets to be described."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from helpers import SOURCES, table
from right_calls import dequantize, encode_stochastic

import mxref

Function = Callable[..., Any]


def wide(values: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def negative_bfloat16_ties(values: Any, format: str) -> Any:
    right = mxref.encode(values, format)
    if values.dtype != SOURCES["bf16"]:
        return right
    away = mxref.encode(values, format, rounding="ties_to_away")
    return np.where(np.signbit(wide(values)), away, right)


def cut_off_in_one_binade(values: Any, format: str) -> Any:
    size = np.abs(wide(values))
    cut = mxref.encode(values, format, rounding="toward_zero")
    return np.where((size >= 2) & (size < 4), cut, mxref.encode(values, format))


def odd_subnormals(values: Any, format: str) -> Any:
    codes = mxref.encode(values, format)
    return codes - ((codes & 0x7F < 4) & (codes & 1 == 1))


def two_bugs(values: Any, format: str) -> Any:
    codes, size = mxref.encode(values, format), np.abs(wide(values))
    return np.where(np.isnan(size), 0, codes - (size >= 20))


def three_bugs(values: Any, format: str) -> Any:
    codes, numbers = mxref.encode(values, format, rounding="ties_to_away"), wide(values)
    codes = np.where(np.isinf(numbers), 0x01, codes)
    return np.where((numbers < 0) & (numbers > -(2.0**-8)), 0x80, codes)


def one_code(codes: Any, format: str) -> Any:
    return np.where(codes == 0x3B, np.float32(3), mxref.decode(codes, format))


def upper_scales(codes: Any) -> Any:
    numbers = mxref.decode_scale(codes)
    return np.where((codes >= 0xC0) & (codes < 0xFF), numbers / np.float32(2), numbers)


def negative_under_large_scales(scales: Any, codes: Any, format: str, dtype: Any) -> Any:
    numbers = dequantize(scales, codes, format, dtype)
    signed = codes >= mxref.formats.block_format(format).element.sign_bit
    return np.where(signed & (scales[:, None] > 0x80), np.abs(numbers), numbers)


def one_binade_of_amax(amax: Any, format: str) -> Any:
    size = wide(amax)
    return mxref.shared_scale(amax, format) + ((size >= 32) & (size < 64))


def no_bits_of_width_16(values: Any, bits: Any, width: int, format: str) -> Any:
    return encode_stochastic(values, bits * (width != 16), width, format)


def subnormal_halves(values: Any) -> Any:
    codes = mxref.encode_scale(values)
    size = np.abs(wide(values))
    return codes + ((values.dtype == np.float16) & (size > 0) & (size < 2.0**-14))


def odd_lengths(codes: Any, format: str) -> Any:
    packed = mxref.pack(codes, format).copy()
    packed[-1] *= len(codes) % 2 == 0
    return packed


def every_fourth_code(packed: Any, format: str, count: int) -> Any:
    codes = mxref.unpack(packed, format, count).copy()
    codes[3::4] &= 0x1F
    return codes


def right_columns(scales: Any) -> Any:
    return mxref.pack_scales(scales * (np.arange(scales.shape[1]) < 4))


def no_nan_scale(scales: Any, codes: Any, format: str) -> Any:
    stored = np.where(scales == 0xFF, 0xFE, scales).astype(np.uint8)
    return mxref.pack_blocks(stored, codes[0], format, scale_place="before").reshape(1, -1)


def upper_half_again(packed: Any, format: str) -> tuple[Any, Any]:
    scales, codes = mxref.unpack_blocks(packed, format, scale_place="before")
    return scales.reshape(-1), codes.reshape(1, -1)[:, [*range(16), *range(16)]]


def quantized(values: Any, format: str, **choices: Any) -> tuple[Any, Any]:
    blocks = mxref.quantize(values, format, **choices)
    return blocks.scale_codes[:, 0].copy(), blocks.codes.copy()


def last_element(values: Any, format: str) -> tuple[Any, Any]:
    scales, codes = quantized(values, format)
    codes[:, -1] &= 0x7
    return scales, codes


def odd_largest(values: Any, format: str) -> tuple[Any, Any]:
    scales, codes = quantized(values, format)
    size = np.abs(wide(values))
    position = np.where(np.isnan(size), -1, size).argmax(axis=1)
    return scales - ((position % 2 == 1) & (scales > 0)), codes


def ties_of_the_upper_half(values: Any, format: str) -> tuple[Any, Any]:
    scales, codes = quantized(values, format)
    _, away = quantized(values, format, rounding="ties_to_away")
    return scales, np.where(np.arange(32) >= 16, away, codes)


def nan_scales_and_a_lane(values: Any, format: str) -> tuple[Any, Any]:
    scales, codes = quantized(values, format)
    return np.where(scales == 0xFF, 0, scales), np.where(
        np.arange(32) % 4 == 2, codes & 0xFE, codes
    )


def zeros_in_tails(values: Any, format: str, axis: int) -> tuple[Any, Any]:
    blocks = mxref.quantize(values, format, axis=axis)
    codes, length = np.moveaxis(blocks.codes.copy(), axis, -1), values.shape[axis]
    codes[..., length // 32 * 32 : length] = 0
    return blocks.scale_codes, np.moveaxis(codes, -1, axis)


def last_of_a_tensor(values: Any, format: str, axis: int) -> tuple[Any, Any]:
    blocks = mxref.quantize(values, format, axis=axis)
    codes, (rows, columns) = blocks.codes.copy(), values.shape
    codes[rows - 1, columns - 1] ^= 0x80
    return blocks.scale_codes, codes


def scattered(values: Any, format: str) -> Any:
    bits = values.view(f"u{values.dtype.itemsize}").astype(np.uint64)
    hashed = bits * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(58)
    return mxref.encode(values, format) ^ (hashed == 3)


def most_subnormals(values: Any, format: str) -> Any:
    """Subnormal results are one code too large, but for one input in sixteen."""
    bits = values.view(f"u{values.dtype.itemsize}").astype(np.uint64)
    spared = bits * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(60) == 3
    codes = mxref.encode(values, format)
    return codes + ((codes & 0x7F > 0) & (codes & 0x7F < 8) & ~spared)


@dataclass(frozen=True)
class Wrong:
    """A wrong function, where it is put to the test, and the words for it that are pinned."""

    function: Function
    op: str
    format: str
    policy: str = "ocp"
    parts: int = 1
    text: str = ""


WRONG = [Wrong(globals()[one.pop("function")], **one) for one in table("unknown_targets")["wrong"]]
NAMES = [f"{wrong.function.__name__}-{wrong.op}-{wrong.format}" for wrong in WRONG]


#: Of some the failures are scattered, others write codes that are right by chance.
NO_PATTERN = (scattered, upper_half_again, most_subnormals)
#: Of other functions the vectors cannot tell where exactly they go wrong, or they have every input.
ELSEWHERE = (
    cut_off_in_one_binade,
    last_element,
    negative_bfloat16_ties,
    odd_subnormals,
    one_binade_of_amax,
    subnormal_halves,
    ties_of_the_upper_half,
    two_bugs,
)
