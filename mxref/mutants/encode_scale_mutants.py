"""Class C on the conversion to E8M0: `encode_scale` gone wrong."""

from __future__ import annotations

import decimal
import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import (
    F32,
    I64,
    U8,
    FloatLayout,
    Parts,
    bits_of,
    compose,
    floor_log2,
    split,
)
from mxref.formats.catalog import E8M0 as SCALE
from mxref.mutants.mutant import E8M0, FLOATS, Function, Mutants, wrong
from mxref.mutants.shared_scale_mutants import binade
from mxref.numbers.scale import encode_scale, shared_scale

__all__ = ["E8M0_ENCODERS"]

_NAN = 0xFF


def _encode_scale(**choices: Any) -> Function:
    return lambda values: encode_scale(values, **choices)


def _code(finish: Callable[[Parts, I64, FloatLayout], I64]) -> Function:
    """An `encode_scale` whose codes of finite numbers come from `finish`."""

    def encode(values: NDArray[Any]) -> U8:
        bits, layout = bits_of(values)
        parts = split(bits, layout)
        right = encode_scale(values)
        return np.where(
            right == _NAN, right, finish(parts, binade(parts) + SCALE.bias, layout)
        ).astype(np.uint8)

    return encode


def _clipped(low: int, high: int, step: int = 0) -> Function:
    def finish(parts: Parts, code: I64, layout: FloatLayout) -> I64:
        return np.where(parts.significand == 0, low, np.clip(code + step, low, high))

    return _code(finish)


def _field(parts: Parts, code: I64, layout: FloatLayout) -> I64:
    field = np.where(parts.is_subnormal, layout.emin - 1 + SCALE.bias, code)
    return np.where(parts.significand == 0, 0, np.clip(field, 0, 254))


def _wrapped(parts: Parts, code: I64, layout: FloatLayout) -> I64:
    return np.where(parts.significand == 0, 0, code & 0xFF)


@functools.cache
def _reach() -> I64:
    """By k + 150, the largest j for which the float32 log2 of 2**k + j * 2**(k - 23) is k.

    It is k if log2(1 + j 2**-23) is at most half a unit in the last place of the numbers above k.
    """
    reach = [0] * 300
    with decimal.localcontext(decimal.Context(prec=60)):
        for k in (k for k in range(-149, 128) if k):  # near 0 the logarithms are too close together
            size = abs(k)
            exponent = size.bit_length() - 1 - (k < 0 and size & (size - 1) == 0)
            half = decimal.Decimal(2) ** (exponent - 24)
            reach[k + 150] = int((decimal.Decimal(2) ** half - 1) * (1 << 23))
    return np.array(reach, np.int64)


def _log2_rounded_up(parts: Parts, code: I64, layout: FloatLayout) -> I64:
    """ceil(log2) of the number as a float32, with log2 rounded to float32."""
    single = split(compose(parts, F32), F32)
    k = binade(single)
    above = (single.significand << (23 - floor_log2(single.significand))) - (1 << 23)
    up = above > _reach()[np.clip(k, -149, 128) + 150]
    code = np.clip(k + SCALE.bias + up, 0, SCALE.max_code)
    return np.where(single.is_inf, SCALE.max_code, np.where(single.significand == 0, 0, code))


_encodes = partial(wrong, op="encode_scale", formats=E8M0, floats=FLOATS, model="M8")

E8M0_ENCODERS: Mutants = {
    "C1e log2_of_scale_in_float32: rounds log2 to float32 before it takes the floor: too large "
    "just below a power": _encodes(
        lambda values: shared_scale(np.abs(values), "int8", "floor_log2_float32"),
        floats=("f32", "f64"),
    ),
    "C1f log2_rounded_up_in_float32: means to take the next power of two up but rounds log2 to "
    "float32: too small just above a power": _encodes(
        _code(_log2_rounded_up),
        floats=("f32", "f64"),
        policy="ocp+scale_rounding=toward_positive",
    ),
    "C3e scale_rounded_up: takes the next power of two up": _encodes(
        _encode_scale(scale_rounding="toward_positive")
    ),
    "C4e scale_to_nearest: takes the nearest power of two": _encodes(
        _encode_scale(scale_rounding="ties_to_away")
    ),
    "C6a bias_125: adds a bias of 125: every scale is 2 codes too small": _encodes(
        _clipped(0, 254, -2)
    ),
    "C6b bias_126: adds a bias of 126, as frexp needs it: "
    "every scale is 1 code too small": _encodes(_clipped(0, 254, -1)),
    "C6c bias_128: adds a bias of 128: every scale is 1 code too large": _encodes(
        _clipped(0, 254, 1)
    ),
    "C7e scale_exponent_field: reads the exponent field of a subnormal as it is": _encodes(
        _code(_field)
    ),
    "C8e negative_scale_is_nan: makes a negative number NaN, not its magnitude": _encodes(
        _encode_scale(scale_of_negative="nan")
    ),
    "C11e infinite_scale_clamped: makes infinity the scale FE": _encodes(
        _encode_scale(scale_of_inf="largest"), model="M1"
    ),
    "C12e scale_00_missing: never writes code 00": _encodes(_clipped(1, 254)),
    "C13e scale_clamped_at_253: never writes code FE": _encodes(_clipped(0, 253)),
    "C14e scale_wraps: keeps the low eight bits of the biased exponent": _encodes(_code(_wrapped)),
    "C15e scale_of_zero_is_nan: makes zero NaN": _encodes(
        _encode_scale(scale_of_zero="nan"), model="M1"
    ),
    "C16 large_scale_is_nan: makes a number beyond 2**127 NaN": _encodes(
        _encode_scale(scale_overflow="nan")
    ),
}
