"""gfloat: rounding, encoding and decoding in the formats of at most 8 bits that mxref can have."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from gfloat import Domain, RoundMode

from mxref.formats import BLOCK_FORMATS, E8M0, INT8, ElementFormat, ScaleFormat, Specials
from mxref.policy.policy import Policy
from suites.asked import mx, replace

ROUNDINGS = {
    RoundMode.TiesToEven: "ties_to_even", RoundMode.TiesToAway: "ties_to_away",
    RoundMode.TowardZero: "toward_zero", RoundMode.TowardPositive: "toward_positive",
    RoundMode.TowardNegative: "toward_negative", RoundMode.Stochastic: "stochastic_c",
    RoundMode.StochasticFast: "stochastic_b", RoundMode.StochasticFastest: "stochastic_a",
}  # fmt: skip


def format_of(fi: Any) -> Any:
    """The format of mxref; None for more than 8 bits, or unsigned with an infinity."""
    if fi.name not in _FORMATS:
        _FORMATS[fi.name] = _made(fi)
    return _FORMATS[fi.name]


@functools.cache
def policy_of(**choices: str) -> Policy:
    """A policy, made once: numbers come one by one."""
    spelling = "+".join(f"{name}={member}" for name, member in choices.items())
    return Policy.parse(f"ocp+int8_range=full+nan=negative+nan_to_finite=error+{spelling}")


_FORMATS: dict[str, Any] = {}


def _made(fi: Any) -> Any:
    extended, m = fi.domain is Domain.Extended, fi.tSignificandBits
    if fi.k > 8 or (extended and not fi.is_signed):
        return None
    if fi.is_twos_complement:
        return INT8
    if not fi.is_signed:
        rest = (fi.expBits, m, fi.bias, Specials.TOP_CODE_NAN, fi.has_subnormals)
        return ScaleFormat(fi.name, *rest) if fi.has_subnormals else E8M0
    if fi.has_nz:
        one = Specials.TOP_CODE_NAN if fi.num_high_nans else Specials.NONE
        specials = Specials.IEEE if extended else one
    else:
        specials = Specials.P3109 if extended else Specials.FNUZ
    return ElementFormat(fi.name, fi.expBits, m, fi.bias, specials)


def replace_all() -> None:
    """Put mxref into gfloat."""

    def decode(fi: Any, codes: Any) -> Any:
        fmt = format_of(fi)
        if fmt == E8M0:
            return mx.decode_scale(codes, np.float64)
        return mx.decode(codes, fmt, np.float64)

    def encode(
        fi: Any, values: Any, rounding: str, overflow: str, clamp: str = "after_rounding",
        **random: Any,
    ) -> Any:  # fmt: skip
        fmt = format_of(fi)
        if fmt == E8M0:
            return mx.encode_scale(values, scale_rounding=rounding)
        policy = policy_of(rounding=rounding, overflow=overflow, clamp=clamp)
        return mx.encode(values, fmt, policy, **random)

    def decode_float(fi: Any, i: int) -> Any:
        own = old["decode_float"](fi, i)
        if format_of(fi) is None:
            return own
        return dataclasses.replace(own, fval=float(decode(fi, i)))

    def decode_ndarray(fi: Any, codes: Any, np: Any = np) -> Any:
        asked = np.__name__ == "numpy" and format_of(fi) is not None
        return decode(fi, codes) if asked else old["decode_ndarray"](fi, codes, np)

    def encode_float(fi: Any, v: float) -> Any:
        if format_of(fi) is None:
            return old["encode_float"](fi, v)
        return int(encode(fi, v, "toward_zero", "nonsaturating", "before_rounding"))

    def encode_ndarray(fi: Any, v: Any) -> Any:
        if format_of(fi) is None:
            return old["encode_ndarray"](fi, v)
        return encode(fi, v, "toward_zero", "nonsaturating", "before_rounding")

    def rounded(name: str, fi: Any, v: Any, rnd: Any, sat: Any, srbits: Any, width: int) -> Any:
        fmt = format_of(fi)
        if fmt in (None, E8M0) or rnd not in ROUNDINGS:
            return old[name](fi, v, rnd, sat, srbits, width)
        overflow = "saturate" if sat else "nonsaturating_ieee"
        drawn = {"random_bits": srbits, "random_width": width} if width else {}
        return decode(fi, encode(fi, v, ROUNDINGS[rnd], overflow, **drawn))

    def round_float(
        fi: Any, v: float, rnd: Any = RoundMode.TiesToEven, sat: bool = False,
        srbits: int = -1, srnumbits: int = 0,
    ) -> float:  # fmt: skip
        return float(rounded("round_float", fi, float(v), rnd, sat, srbits, srnumbits))

    def round_ndarray(
        fi: Any, v: Any, rnd: Any = RoundMode.TiesToEven, sat: bool = False,
        srbits: Any = None, srnumbits: int = 0,
    ) -> Any:  # fmt: skip
        if not isinstance(v, np.ndarray):
            return old["round_ndarray"](fi, v, rnd, sat, srbits, srnumbits)
        return rounded("round_ndarray", fi, v, rnd, sat, srbits, srnumbits)

    def quantize_block(fi: Any, vals: Any, compute_scale: Any, *rounding: Any) -> Any:
        if fi.name not in BLOCK_FORMATS or rounding:
            return old["quantize_block"](fi, vals, compute_scale, *rounding)
        return mx.dequantize(mx.quantize(vals, fi.name, policy), np.float64)

    policy = mx.profile("gfloat").policy
    functions: list[Any] = [decode_float, decode_ndarray, encode_float, encode_ndarray]
    functions += [round_float, round_ndarray, quantize_block]
    old = replace("gfloat", **{f.__name__: f for f in functions})
