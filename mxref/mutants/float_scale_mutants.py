"""Classes C24 and D9: FP8 under float32 scales gone wrong.

A kernel is right under `_QUOTIENT` or one of its like but for one stage. Those without a source are
made up: a stage that is left out, exchanged, or done on the wrong block (C24g, l, n, o, r, s, t, u;
D9a, d, f).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import bits_of, compose, floats_from, layout_of, split
from mxref.formats.catalog import E4M3
from mxref.mutants.mutant import Function, Mutant, Mutants, wrong

__all__ = ["FLOAT_SCALES", "reader", "scaler"]

Floats = NDArray[Any]
Stage = Callable[..., Any]

_M, _ONE, _FLOOR = np.float32(E4M3.max_normal), np.float32(1), np.float32(1e-4)
_QUOTIENT = "ocp+amax_floor=1e-4+element_from=quotient"
_POWER = "ocp+amax_floor=1e-4+scale_power=bit_ceiling+element_from=quotient"
_FORMATS, _TYPES = ("fp8_e4m3_f32",), ("f32", "bf16")


def _amax(x: Floats) -> Floats:
    largest: Floats = np.abs(x).max(axis=1)
    return largest


def _floored(a: Floats) -> Floats:
    return np.maximum(a, _FLOOR)


def _quotient(a: Floats) -> Floats:
    return a / _M


def _divided(x: Floats, s: Floats) -> Floats:
    found: Floats = x / s
    return found


def _cast(q: Floats) -> Floats:
    return np.clip(q, -_M, _M).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


def _stored(s: Floats) -> Floats:
    return s


def scaler(
    amax: Stage = _amax,
    floor: Stage = _floored,
    scale: Stage = _quotient,
    divide: Stage = _divided,
    cast: Stage = _cast,
    store: Stage = _stored,
) -> Function:
    """A `quantize` to E4M3 under float32 scales, made of these stages; the defaults are right.

    >>> scales, codes = scaler()(np.float32([[448.0, 1.0] * 64]), "fp8_e4m3_f32")
    >>> scales, codes[0, :2]
    (array([1.], dtype=float32), array([126,  56], dtype=uint8))
    """

    def quantize(values: Floats, format: str) -> tuple[Floats, Floats]:
        with np.errstate(all="ignore"):
            x = values.astype(np.float32)
            s = scale(floor(amax(x))).astype(np.float32)
            codes = cast(divide(x, s[:, np.newaxis]))
            return store(s), codes

    return quantize


def reader(
    scale: Stage = _stored, product: Stage = lambda x, s: x * s, last: Stage = lambda y: y
) -> Function:
    """A `dequantize` of E4M3 under float32 scales, made of these stages; the defaults are right."""

    def dequantize(scales: Floats, codes: Floats, format: str, dtype: Any) -> Floats:
        with np.errstate(all="ignore"):
            x = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
            y = last(product(x, scale(scales).astype(np.float64)[:, np.newaxis]))
            layout = layout_of(dtype)
            return floats_from(compose(split(*bits_of(y.astype(np.float64))), layout), layout)

    return dequantize


def _bits(power: Callable[[NDArray[np.uint32]], NDArray[np.uint32]]) -> Stage:
    """The scale as a power of two by its bits, from a function of the bits, at least 2**-126."""

    def scale(a: Floats) -> Floats:
        bits = power((a / _M).view(np.uint32)) >> np.uint32(23)
        found: Floats = np.clip(bits, 1, 254).astype(np.uint32) << np.uint32(23)
        return found.view(np.float32)

    return scale


_BELOW = np.uint32((1 << 23) - 1)
_UP = _bits(lambda bits: bits + _BELOW)


def _of(dtype: Any) -> Stage:
    return lambda x, *_: x.astype(dtype).astype(np.float32)


def _made(run: Function, policy: str = _QUOTIENT) -> Mutant:
    return wrong(run, op="quantize", formats=_FORMATS, floats=_TYPES, model="M9", policy=policy)


def _read(run: Function, floats: tuple[str, ...] = _TYPES) -> Mutant:
    return wrong(run, op="dequantize", formats=_FORMATS, floats=floats, model="M10")


def _nan_to_zero(q: Floats) -> Floats:
    return np.where(np.isnan(q), 0, _cast(q)).astype(np.uint8)


def _top_binade(q: Floats) -> Floats:
    """The exponent of the largest numbers is taken for overflow."""
    codes = _cast(q)
    top = (codes & 0x7F > 0x77) & (codes & 0x7F < 0x7F)
    return np.where(top, codes & 0x80 | 0x7E, codes).astype(np.uint8)


def _toward_zero(q: Floats) -> Floats:
    codes = _cast(q)
    back = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    return np.where(np.abs(back) > np.abs(q), codes - 1, codes).astype(np.uint8)


#: FP8 under float32 scales.
FLOAT_SCALES: Mutants = {
    "C24a floor_forgotten: divides by the largest magnitude as it is, also by 0": _made(
        scaler(floor=_stored)
    ),
    "C24b floor_of_the_scale: has the floor of the largest magnitude for the scale": _made(
        scaler(floor=_stored, scale=lambda a: np.maximum(a / _M, _FLOOR))
    ),
    "C24c floor_added: adds the floor to the largest magnitude": _made(
        scaler(floor=lambda a: a + _FLOOR)
    ),
    "C24d multiplied_by_the_inverse_of_the_scale: multiplies elements by 1 / s": _made(
        scaler(divide=lambda x, s: x * (_ONE / s))
    ),
    "C24e multiplied_by_the_inverse_of_448: multiplies the largest magnitude by 1 / 448": _made(
        scaler(scale=lambda a: a * (_ONE / _M))
    ),
    "C24f power_below: rounds the scale down to a power of two": _made(
        scaler(scale=_bits(lambda bits: bits)), _POWER
    ),
    "C24g power_nearest: rounds the scale to the nearest power of two": _made(
        scaler(scale=_bits(lambda bits: bits + np.uint32(1 << 22))), _POWER
    ),
    "C24h power_always_above: doubles scales that are powers of two": _made(
        scaler(scale=_bits(lambda bits: bits + np.uint32(1 << 23))), _POWER
    ),
    "C24i power_of_logarithm: rounds the float32 logarithm up, where the bits say it": _made(
        scaler(scale=lambda a: np.exp2(np.ceil(np.log2(a / _M)))), _POWER
    ),
    "C24j power_stored_alone: stores the power of two, and divides by the scale before it": _made(
        scaler(store=lambda s: _UP(s * _M)), _POWER
    ),
    "C24k scale_of_the_next_block: stores each scale in the place of the block before": _made(
        scaler(store=lambda s: np.roll(s, -1))
    ),
    "C24l divided_by_the_scale_before: divides by the scale of the block before": _made(
        scaler(divide=lambda x, s: x / np.roll(s, 1, axis=0))
    ),
    "C24m amax_of_signed_numbers: takes the largest number, not the largest magnitude": _made(
        scaler(amax=lambda x: x.max(axis=1))
    ),
    "C24n amax_without_the_last_element: does not see the last element of a block": _made(
        scaler(amax=lambda x: np.abs(x[:, :-1]).max(axis=1))
    ),
    "C24o amax_of_half_a_block: sees the first 64 elements of a block alone": _made(
        scaler(amax=lambda x: np.abs(x[:, :64]).max(axis=1))
    ),
    "C24p largest_of_fnuz: divides by 240, the largest number of E4M3FNUZ": _made(
        scaler(scale=lambda a: a / np.float32(240))
    ),
    "C24q largest_of_half: divides by 224": _made(scaler(scale=lambda a: a / np.float32(224))),
    "C24r largest_of_e5m2: divides by 57344, the largest number of E5M2": _made(
        scaler(scale=lambda a: a / np.float32(57344))
    ),
    "C24s clamped_before_the_scale: clamps numbers to 448 before they are divided": _made(
        scaler(divide=lambda x, s: np.clip(x, -_M, _M) / s)
    ),
    "C24t inverse_stored: stores 1 / s": _made(scaler(store=lambda s: _ONE / s)),
    "C24u largest_magnitude_stored: stores the largest magnitude": _made(
        scaler(store=lambda s: s * _M)
    ),
    "C24v scale_of_bfloat16: rounds the scale to bfloat16": _made(
        scaler(scale=lambda a: _of(ml_dtypes.bfloat16)(a / _M))
    ),
    "C24w quotient_of_float16: rounds quotients to float16": _made(
        scaler(divide=lambda x, s: _of(np.float16)(x / s))
    ),
    "C24x nan_elements_to_zero: makes zeros of NaN": _made(scaler(cast=_nan_to_zero)),
    "C24y quotients_cut_off: cuts quotients off": _made(scaler(cast=_toward_zero)),
    "C24z largest_from_256_on: writes the largest number for all from 256 on": _made(
        scaler(cast=_top_binade)
    ),
    "D9a divided_by_the_scale: divides codes by their scale": _read(
        reader(product=lambda x, s: x / s)
    ),
    "D9b scale_of_bfloat16_read: rounds the scale to bfloat16": _read(
        reader(scale=_of(ml_dtypes.bfloat16))
    ),
    "D9c subnormal_scale_as_zero: reads subnormal scales as 0": _read(
        reader(scale=lambda s: np.where(s < np.float32(2.0**-126), np.float32(0), s))
    ),
    "D9d scale_of_the_block_before_read: multiplies by the scale of the block before": _read(
        reader(scale=lambda s: np.roll(s, 1))
    ),
    "D9e products_of_bfloat16: rounds products to bfloat16": _read(
        reader(last=lambda y: y.astype(np.float32).astype(ml_dtypes.bfloat16)), ("f32",)
    ),
    "D9f nan_scale_as_one: reads a NaN scale as 1": _read(
        reader(scale=lambda s: np.where(np.isnan(s), _ONE, s))
    ),
}
