"""A format of your own: E3M1 elements, 16 under a scale of E8M0; a kernel for it, and a profile."""

from fractions import Fraction
from typing import Any

import ml_dtypes  # noqa: F401 - for bfloat16
import numpy as np
from numpy.typing import NDArray

from mxref import Policy, formats
from mxref.profiles import Profile

# mxref's own model: three exponent bits, one fraction bit, the bias 3, neither infinity nor NaN.
E3M1 = formats.ElementFormat("e3m1", exponent_bits=3, mantissa_bits=1, bias=3)
MXE3M1 = formats.BlockFormat("mxe3m1", E3M1, formats.E8M0, 16)
FORMATS = [E3M1, MXE3M1]

# The second reference knows only this: the number of each code, as the format's document lists it.
_EIGHTHS = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
_POSITIVE = [Fraction(n, 8) for n in _EIGHTHS]
FORMAT_VALUES = {"e3m1": _POSITIVE + [-number for number in _POSITIVE]}

# How a library quantizes to it: `mxref verify my_kernel.py --profile my_format.py:CEIL`.
CEIL = Profile("my_library", Policy.parse("ocp+scale_rule=ceil"), "my library, cast.cu", "2.1")

_NUMBERS = np.array([float(number) for number in _POSITIVE])
_MIDDLES = (_NUMBERS[1:] + _NUMBERS[:-1]) / 2


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Codes: the nearest number, of two the one with an even code; NaN as the largest number."""
    x = values.astype(np.float64)
    magnitude = np.where(np.isnan(x), _NUMBERS[-1], np.abs(x))
    code = np.searchsorted(_MIDDLES, magnitude)
    code += (magnitude == _MIDDLES[np.minimum(code, 14)]) & (code % 2 == 1)
    return (code | 16 * (np.signbit(x) & ~np.isnan(x))).astype(np.uint8)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Numbers of codes."""
    numbers: NDArray[Any] = np.concatenate([_NUMBERS, -_NUMBERS])[codes]
    return numbers.astype(np.float32)


def shared_scale(amax: NDArray[Any], format: str) -> NDArray[Any]:
    """Scale codes: floor(log2(amax)) less 4, the exponent of 16; FF for infinity and NaN."""
    x = amax.astype(np.float64)
    exponent = np.frexp(np.where(np.isfinite(x), x, 1))[1] - 1 - 4
    code = np.where(x == 0, 0, np.clip(exponent + 127, 0, 254))
    return np.where(np.isfinite(x), code, 255).astype(np.uint8)


def quantize(values: NDArray[Any], format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scale codes and element codes of blocks, one a row."""
    x = values.astype(np.float64)
    scales = shared_scale(np.abs(x).max(axis=1), "e3m1")
    known = scales[:, np.newaxis] != 255
    quotients = np.ldexp(np.where(known, x, 0), 127 - scales.astype(int)[:, np.newaxis])
    return scales, encode(quotients, "e3m1")


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], format: str, dtype: Any
) -> NDArray[Any]:
    """Numbers of blocks."""
    powers = np.ldexp(1.0, scale_codes.astype(int) - 127)
    powers = np.where(scale_codes == 255, np.nan, powers)[:, np.newaxis]
    with np.errstate(over="ignore", invalid="ignore"):
        return (decode(codes, "e3m1").astype(np.float64) * powers).astype(dtype)
