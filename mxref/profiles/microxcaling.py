"""microxcaling: its PyTorch path, and its C++ and CUDA kernels, which give different answers.

The PyTorch path computes in the type of the values, with logarithms of that type. It gives numbers,
which are these elements times the scale; only the sign of INT8's zeros, which no code holds, is
lost. The kernels compute on the fields of float32; they need no stage. Source:
microsoft/microxcaling 7bc41952, mx/mx_ops.py, mx/elemwise_ops.py, mx/formats.py; mx/cpp/mx.cuh,
quantize.cuh, shared_exp.cuh.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.float32 import F64Array, rounded
from mxref.bits.floats import I64
from mxref.bits.logarithm import floor_log2
from mxref.formats.catalog import E8M0
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import NAN_SCALE, Rows, Stages, element_by_policy, largest_or_nan, powers

__all__ = ["PROFILES"]

_ELEMENTS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
_BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")


def shared_exponents(amax: F64Array, rows: Rows) -> I64:
    """floor(log2(amax)) - emax, the logarithm in the type of the values; 0 counts as 2**-126."""
    exponent = floor_log2(np.where(amax == 0, 2.0**-126, amax), rows.layout) - rows.format.emax
    code = np.maximum(exponent + E8M0.bias, 0)
    return np.where(np.isfinite(amax) & (code <= E8M0.max_code), code, NAN_SCALE)


def quotients(code: I64, rows: Rows) -> F64Array:
    """Quotients in the type of the values; NaN under a NaN scale."""
    q = rounded(rows.x * powers(E8M0.bias - code)[:, None], rows.layout)
    return np.where((code == NAN_SCALE)[:, None], np.nan, q)


def _steps(q: F64Array, rows: Rows) -> tuple[F64Array, F64Array]:
    """Magnitudes in units of the last place, and that unit, which is the same for all integers."""
    fmt, size = rows.format, np.abs(q)
    exponent = floor_log2(np.where(size == 0, 1.0, size), rows.layout)
    least = 1 - fmt.bias
    exponent = np.where(fmt.twos_complement, 0, np.maximum(exponent, least))
    unit = powers(exponent - fmt.mantissa_bits)
    return size / unit, unit


def _codes(steps: F64Array, unit: F64Array, q: F64Array, rows: Rows) -> I64:
    """Codes of steps * unit with the sign of q, which zeros lose; underflow keeps it."""
    sign = np.where(q < 0, -1.0, 1.0)
    return element_by_policy(sign * steps * unit, rows)


def nearest(q: F64Array, rows: Rows) -> I64:
    """Ties away from zero: floor(y + 0.5), the sum in the type of the values."""
    y, unit = _steps(q, rows)
    return _codes(np.floor(rounded(y + 0.5, rows.layout)), unit, q, rows)


def even(q: F64Array, rows: Rows) -> I64:
    """Ties to even: `nearest`, less 1 where that rounded a tie to an odd number."""
    y, unit = _steps(q, rows)
    up = np.floor(rounded(y + 0.5, rows.layout))
    odd = (y - 0.5) % 2 == 0
    # 1 - 1 is -0 where the processor rounds down.
    return _codes(np.abs(up - odd), unit, q, rows)


def floor(q: F64Array, rows: Rows) -> I64:
    """Codes of the magnitudes rounded toward zero."""
    y, unit = _steps(q, rows)
    return _codes(np.floor(y), unit, q, rows)


_MODES = {
    "nearest": ("+rounding=ties_to_away", nearest),
    "even": ("", even),
    "floor": ("+rounding=toward_zero", floor),
}
_FORMATS = {"shared_scale": _ELEMENTS, "quantize": _BLOCKS, "dequantize": _BLOCKS}


def _name(mode: str) -> str:
    """The end of a profile's name; none for `nearest`, microxcaling's default."""
    return "" if mode == "nearest" else f"_{mode}"


PROFILES = (
    *(
        Profile(
            f"microxcaling_torch{_name(mode)}",
            Policy.parse(f"ocp{rounding}+scale_rule=floor_log2_float32+scale_overflow=nan"),
            f'microsoft/microxcaling, mx/mx_ops.py: _quantize_mx, round="{mode}"',
            "7bc41952, torch 2.13.0",
            checked=f"tools/adapters/microxcaling_adapter.py:{mode.upper()}",
            formats=_FORMATS,
            floats=("f32", "bf16"),
            stages=Stages(
                amax=largest_or_nan, scale=shared_exponents, divide=quotients, element=element
            ),
        )
        for mode, (rounding, element) in _MODES.items()
    ),
    *(
        Profile(
            f"microxcaling_cuda{_name(mode)}",
            Policy.parse(f"ocp{rounding}+zero_sign=dropped+underflow_sign=dropped"),
            f"microsoft/microxcaling, mx/cpp/mx.cuh, rounding mode {mode}",
            "7bc41952",
            checked=f"tools/adapters/microxcaling_cuda_adapter.py:{mode.upper()}: "
            "mx.cuh, compiled for a CPU",
            formats=_FORMATS,
            floats=("f32", "bf16"),
        )
        for mode, (rounding, _) in _MODES.items()
    ),
)
