"""A stranger's kernels in float64, right but for a shift of every scale or value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["bias_of", "dequantizer", "encoder", "quantizer", "reader", "tensors"]

#: Exponent bits, fraction bits, emax and the largest number of each element format.
SHAPES = {
    "e5m2": (5, 2, 15, 57344.0),
    "e4m3": (4, 3, 8, 448.0),
    "e3m2": (3, 2, 4, 28.0),
    "e2m3": (2, 3, 2, 7.5),
    "e2m1": (2, 1, 2, 6.0),
}
Codes = NDArray[np.uint8]
Exponent = Callable[[str], int]


def bias_of(format: str) -> int:
    """The bias of an element format."""
    return int(2 ** (SHAPES[format][0] - 1)) - 1


def _binade(x: NDArray[Any]) -> NDArray[Any]:
    return np.frexp(x)[1].astype(np.int64) - 1


def _elements(x: NDArray[Any], format: str) -> Codes:
    """Codes of float64 quotients, to nearest, ties to even, clamped."""
    bits, m, _, top = SHAPES[format]
    bias = bias_of(format)
    e = np.maximum(_binade(np.abs(x)), 1 - bias)
    q = np.minimum(np.ldexp(np.rint(np.ldexp(np.abs(x), m - e)), e - m), top)
    e = np.maximum(_binade(q), 1 - bias)
    n = np.ldexp(q, m - e).astype(np.int64)
    code = np.where(n >= 1 << m, ((e + bias) << m) + n - (1 << m), n)
    return (code | np.signbit(x).astype(np.int64) << (bits + m)).astype(np.uint8)


def quantizer(
    shift: Exponent,
    *,
    stored: int = 0,
    every_byte: bool = False,
    lowest: int = 0,
    unclamped: bool = False,
    fits: bool = False,
) -> Callable[..., tuple[Codes, Codes]]:
    """A `quantize` with exponents of scales that are `shift(format)` too large.

    Args:
        shift: what is added to an exponent.
        stored: what is added to codes when they are stored.
        every_byte: whether it is added to those of zeros and NaN, too, modulo 256.
        lowest: the smallest code.
        unclamped: whether elements are divided by scales beyond the range of E8M0.
        fits: whether the scale is the smallest one under which amax is not beyond the largest
            number.
    """

    def quantize(values: NDArray[Any], format: str) -> tuple[Codes, Codes]:
        name = format.split("_")[1]
        _, _, emax, top = SHAPES[name]
        x = values.astype(np.float64)
        bad = ~np.isfinite(x).all(axis=-1)
        x = np.where(np.isfinite(x), x, 0)
        amax = np.abs(x).max(axis=-1)
        exponent = _binade(amax) - emax
        if fits:
            exponent += np.ldexp(amax, -exponent) > top
        raw = exponent + shift(name) + 127
        code = np.where(amax == 0, 0, np.clip(raw, lowest, 254))
        by = raw if unclamped else code
        with np.errstate(over="ignore", invalid="ignore"):
            codes = _elements(np.ldexp(x, 127 - by[..., np.newaxis]), name)
        codes = np.where(bad[..., np.newaxis], 0, codes)
        if every_byte:
            return (np.where(bad, 255, code) + stored).astype(np.uint8), codes.astype(np.uint8)
        code = np.where(amax == 0, 0, np.clip(code + stored, 0, 254))
        return np.where(bad, 255, code).astype(np.uint8), codes.astype(np.uint8)

    return quantize


def tensors(shift: Exponent) -> Callable[..., tuple[Codes, Codes]]:
    """A `quantize_tensor` with such scales."""
    blocks = quantizer(shift)

    def quantize_tensor(values: NDArray[Any], format: str, axis: int) -> tuple[Codes, Codes]:
        lines = np.moveaxis(values, axis, -1)
        count, length = lines.shape
        cut = np.zeros((count, -(-length // 32) * 32), values.dtype)
        cut[:, :length] = lines
        scales, codes = blocks(cut.reshape(count, -1, 32), format)
        return np.moveaxis(scales, -1, axis), np.moveaxis(codes.reshape(count, -1), -1, axis)

    return quantize_tensor


def encoder(shift: int, *, wraps: bool = False, last: bool = False) -> Callable[..., Codes]:
    """An `encode_scale` with another bias, modulo 256 or clamped, or shifted `last` again."""

    def encode_scale(values: NDArray[Any]) -> Codes:
        x = np.abs(values.astype(np.float64))
        code = _binade(np.where(np.isfinite(x), x, 1)) + 127 + shift
        if last:
            code = np.clip(code - shift, 0, 254) + shift
        code = code & 0xFF if wraps else np.clip(code, 0, 254)
        return np.where(np.isfinite(x), np.where(x == 0, 0, code), 255).astype(np.uint8)

    return encode_scale


def reader(bias: int) -> Callable[..., Any]:
    """A `decode_scale` that subtracts another bias."""

    def decode_scale(codes: Codes) -> Any:
        wide = codes.astype(np.int64)
        with np.errstate(over="ignore", under="ignore"):
            return np.where(wide == 255, np.nan, np.ldexp(1.0, wide - bias)).astype(np.float32)

    return decode_scale


def dequantizer(bias: int) -> Callable[..., Any]:
    """A `dequantize` of E4M3 elements that subtracts another bias from scale codes."""

    def dequantize(scales: Codes, codes: Codes, format: str, dtype: Any) -> Any:
        low, field = codes & 7, codes >> 3 & 15
        number = np.where(field == 0, low / 512, np.ldexp(1 + low / 8, field.astype(np.int64) - 7))
        number = np.where(codes & 127 == 127, np.nan, np.where(codes & 128, -number, number))
        scale = np.ldexp(1.0, scales.astype(np.int64) - bias)
        with np.errstate(all="ignore"):
            product = number * np.where(scales == 255, np.nan, scale)[..., np.newaxis]
            return product.astype(dtype)

    return dequantize
