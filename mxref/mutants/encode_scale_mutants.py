"""Class C on the conversion to E8M0: `encode_scale` gone wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, U8, FloatLayout, Parts, bits_of, split
from mxref.formats.catalog import E8M0 as SCALE
from mxref.mutants.mutant import E8M0, FLOATS, Function, Mutants, wrong
from mxref.mutants.shared_scale_mutants import binade
from mxref.numbers.scale import encode_scale

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


_encodes = partial(wrong, op="encode_scale", formats=E8M0, floats=FLOATS, model="M8")

E8M0_ENCODERS: Mutants = {
    "C3e scale_rounded_up: takes the next power of two up": _encodes(
        _encode_scale(scale_rounding="toward_positive"), seen=("CUTLASS, ONNX",)
    ),
    "C4e scale_to_nearest: takes the nearest power of two": _encodes(
        _encode_scale(scale_rounding="ties_to_away"), seen=("jax-ml/ml_dtypes#298",)
    ),
    "C6a bias_125: adds a bias of 125: every scale is 2 codes too small": _encodes(
        _clipped(0, 254, -2), seen=("vllm-project/compressed-tensors#538",)
    ),
    "C6b bias_126: adds a bias of 126, as frexp needs it: "
    "every scale is 1 code too small": _encodes(
        _clipped(0, 254, -1), seen=("microsoft/onnxruntime#32122",)
    ),
    "C6c bias_128: adds a bias of 128: every scale is 1 code too large": _encodes(
        _clipped(0, 254, 1)
    ),
    "C7e scale_exponent_field: reads the exponent field of a subnormal as it is": _encodes(
        _code(_field)
    ),
    "C8e negative_scale_is_nan: makes a negative number NaN, not its magnitude": _encodes(
        _encode_scale(scale_of_negative="nan"), seen=("ml_dtypes 0.6.0, gfloat 0.5.2",)
    ),
    "C11e infinite_scale_clamped: makes infinity the scale FE": _encodes(
        _encode_scale(scale_of_inf="largest"), model="M1"
    ),
    "C12e scale_00_missing: never writes code 00": _encodes(_clipped(1, 254)),
    "C13e scale_clamped_at_253: never writes code FE": _encodes(_clipped(0, 253)),
    "C14e scale_wraps: keeps the low eight bits of the biased exponent": _encodes(_code(_wrapped)),
    "C15e scale_of_zero_is_nan: makes zero NaN": _encodes(
        _encode_scale(scale_of_zero="nan"), model="M1", seen=("ml_dtypes 0.6.0",)
    ),
    "C16 large_scale_is_nan: makes a number beyond 2**127 NaN": _encodes(
        _encode_scale(scale_overflow="nan"), seen=("microsoft/microxcaling",)
    ),
}
