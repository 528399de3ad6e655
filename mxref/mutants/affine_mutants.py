"""Class I: affine quantization gone wrong, and codes read back wrongly."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants.mutant import Function, Mutant, Mutants, wrong

__all__ = ["AFFINE"]

Array = NDArray[Any]
_F32 = ("f32",)
_ONE_SCALE = ("int8", "uint8", "int16", "int32")
_AXES = ("int8_axis", "uint8_axis")
_NARROW = ("int8", "uint8", "int16")


def _laid(parameter: Any, values: Array, axis: int | None) -> Array:
    """A parameter shaped to broadcast against the values."""
    array = np.asarray(parameter)
    if axis is None or array.ndim == 0:
        return array
    if array.ndim == 1:
        return array.reshape([-1 if i == axis % values.ndim else 1 for i in range(values.ndim)])
    return np.repeat(array, values.shape[axis] // array.shape[axis], axis)


def _scaled(x: Array, scale: Array) -> Array:
    """Values times 1/scale, both rounded to float32."""
    found: Array = x * (np.float32(1) / scale.astype(np.float32))
    return found


def _product(x: Array, scale: Array) -> Array:
    """Values times 1/scale, exactly."""
    found: Array = x.astype(np.float64) * (np.float32(1) / scale.astype(np.float32))
    return found


def _divided(x: Array, scale: Array) -> Array:
    found: Array = x / scale.astype(np.float32)
    return found


def _in_float64(x: Array, scale: Array) -> Array:
    found: Array = x.astype(np.float64) / scale
    return found


def _half_away(y: Array) -> Array:
    away: Array = np.trunc(y) + np.copysign(np.abs(y - np.trunc(y)) >= 0.5, y)
    return away


def _half_up(y: Array) -> Array:
    up: Array = np.floor(y) + (y - np.floor(y) >= 0.5)
    return up


def _half_added(y: Array) -> Array:
    lower: Array = np.floor(y + y.dtype.type(0.5))
    return lower


def _half_added_by_sign(y: Array) -> Array:
    cut: Array = np.trunc(y + np.copysign(y.dtype.type(0.5), y))
    return cut


def _clamped(y: Array, low: int, high: int, dtype: Any) -> Array:
    nan = -(2**31) if dtype == np.int32 else 0
    whole = np.clip(np.nan_to_num(y.astype(np.float64), nan=0.0), -(2.0**40), 2.0**40)
    return np.where(np.isnan(y), nan, np.clip(whole.astype(np.int64), low, high)).astype(dtype)


def _wrapped(y: Array, low: int, high: int, dtype: Any) -> Array:
    whole = np.clip(np.nan_to_num(y.astype(np.float64), nan=0.0), -(2.0**40), 2.0**40)
    return whole.astype(np.int64).astype(dtype)


def _whole_dtype(y: Array, low: int, high: int, dtype: Any) -> Array:
    info = np.iinfo(dtype)
    return _clamped(y, int(info.min), int(info.max), dtype)


def _lowest_never(y: Array, low: int, high: int, dtype: Any) -> Array:
    """Codes whose magnitude is at most that of the largest one, whatever the range."""
    return _clamped(y, max(low, -int(np.iinfo(dtype).max)), high, dtype)


def _of_sums(nearest: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Exact sums are rounded to float32, as by a fused operation, and then to integers."""
    return lambda y: nearest(y.astype(np.float32))


def _quantizer(
    scaled: Callable[[Array, Array], Array] = _scaled,
    nearest: Callable[[Array], Array] = np.rint,
    clamped: Callable[[Array, int, int, Any], Array] = _clamped,
    *,
    before: bool = False,
    sign: int = 1,
    first: bool = False,
) -> Function:
    """A `quantize_affine` that is right except for the given stages."""

    def run(x: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Array:
        with np.errstate(all="ignore"):
            s, z = (_laid(each, x, axis) for each in (scale, zero))
            y = scaled(x, s)
            z = sign * z.astype(y.dtype)
            if first:  # clamped before the zero point is added
                return _wrapped(np.clip(np.rint(y), low, high) + z, low, high, dtype)
            y = nearest((y + z).astype(y.dtype)) if before else (nearest(y) + z).astype(y.dtype)
            return clamped(y, low, high, dtype)

    return run


def _dequantizer(read: Callable[[Array, Array, Array], Array]) -> Function:
    """A `dequantize_affine` by a function of codes, scales and zero points."""

    def run(q: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Array:
        with np.errstate(all="ignore"):
            s, z = _laid(np.float32(scale), q, axis), _laid(zero, q, axis)
            return np.broadcast_to(read(q, s, z), q.shape).astype(np.float32)

    return run


def _plain(q: Array, s: Array, z: Array) -> Array:
    found: Array = (q.astype(np.int64) - z).astype(np.float32) * s
    return found


def _moved(right: Function, change: Callable[..., tuple[Any, Any, Any]]) -> Function:
    """A right function called with other scales, zero points or another axis."""

    @functools.wraps(right)
    def run(x: Array, scale: Any, zero: Any, low: int, high: int, dtype: Any, axis: Any) -> Array:
        scale, zero, axis = change(np.asarray(scale), np.asarray(zero), axis, x.shape)
        found: Array = right(x, scale, zero, low, high, dtype, axis)
        return found

    return run


def _next_scale(scale: Array, zero: Array, axis: int, shape: Any) -> tuple[Any, Any, Any]:
    return np.roll(scale, -1), zero, axis


def _next_zero_point(scale: Array, zero: Array, axis: int, shape: Any) -> tuple[Any, Any, Any]:
    return scale, np.roll(zero, -1), axis


def _first_scale(scale: Array, zero: Array, axis: int, shape: Any) -> tuple[Any, Any, Any]:
    return np.full_like(scale, scale.flat[0]), zero, axis


def _last_axis(scale: Array, zero: Array, axis: int, shape: Any) -> tuple[Any, Any, Any]:
    """Scales along the last axis, where there are enough indices."""
    fits = scale.ndim == 1 and shape[-1] == len(scale)
    return scale, zero, -1 if fits else axis


def _groups_swapped(scale: Array, zero: Array, axis: int, shape: Any) -> tuple[Any, Any, Any]:
    """Scales of groups in reverse."""
    return (scale, zero, axis) if scale.ndim == 1 else (np.flip(scale, axis), zero, axis)


def _bfloat16(s: Array) -> Array:
    bits = s.astype(np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def _quantizes(run: Function, formats: tuple[str, ...] = (*_ONE_SCALE, *_AXES)) -> Mutant:
    return wrong(run, op="quantize_affine", formats=formats, floats=_F32, model="M18")


def _reads(run: Function, formats: tuple[str, ...] = (*_ONE_SCALE, *_AXES)) -> Mutant:
    return wrong(run, op="dequantize_affine", formats=formats, floats=_F32, model="M18")


_RIGHT, _BACK = _quantizer(), _dequantizer(_plain)
#: Mistakes about channels, for both directions: letter, name, text, and the change of the call.
_CHANNELS = (
    ("", "scale_of_next_channel", "takes the scale of the next channel", _next_scale),
    (
        "b",
        "zero_point_of_next_channel",
        "takes the zero point of the next channel",
        _next_zero_point,
    ),
    ("c", "first_scale", "takes the first scale for all channels", _first_scale),
    ("d", "last_axis", "takes the last axis for that of the channels", _last_axis),
    ("e", "groups_reversed", "takes the scales of groups in reverse", _groups_swapped),
)


def _channels(
    id: str, end: str, right: Function, mutant: Callable[[Function, tuple[str, ...]], Mutant]
) -> dict[str, Mutant]:
    return {
        f"{id}{letter} {name}{end}: {text}": mutant(_moved(right, change), _AXES)
        for letter, name, text, change in _CHANNELS
    }


AFFINE: Mutants = {
    "I1 division: divides by the scale": _quantizes(_quantizer(_divided)),
    "I1b scale_in_float64: divides in float64": _quantizes(
        _quantizer(_in_float64), (*_ONE_SCALE, *_AXES, "int8_scale64")
    ),
    "I2 zero_point_before_rounding: rounds the sum with the zero point": _quantizes(
        _quantizer(before=True)
    ),
    "I2b zero_point_subtracted: subtracts the zero point": _quantizes(_quantizer(sign=-1)),
    "I2c clamped_first: clamps before it adds the zero point": _quantizes(
        _quantizer(first=True), _NARROW
    ),
    "I2d zero_point_fused: adds the zero point to the exact product": _quantizes(
        _quantizer(_product, _of_sums(np.rint), before=True)
    ),
    "I2e sums_in_float64: adds the zero point to the product in float64": _quantizes(
        _quantizer(_product, before=True)
    ),
    "I2f products_in_float64: rounds the exact product, then adds the zero point": _quantizes(
        _quantizer(_product)
    ),
    "I3 half_away: rounds a tie away from zero": _quantizes(_quantizer(nearest=_half_away)),
    "I3b half_up: rounds a tie up": _quantizes(_quantizer(nearest=_half_up)),
    "I3e half_added_to_codes: adds one half and rounds down": _quantizes(
        _quantizer(nearest=_half_added)
    ),
    "I3i half_added_by_sign: adds one half with the sign and cuts fractions off": _quantizes(
        _quantizer(nearest=_half_added_by_sign)
    ),
    **{
        f"I3{letter} {name}_of_quotients: divides, {text}": _quantizes(
            _quantizer(_divided, nearest)
        )
        for letter, name, nearest, text in (
            ("f", "half_away", _half_away, "and rounds a tie away from zero"),
            ("g", "half_up", _half_up, "and rounds a tie up"),
            ("h", "half_added", _half_added, "adds one half and rounds down"),
            ("j", "half_added_by_sign", _half_added_by_sign, "adds one half with the sign"),
        )
    },
    "I3k half_away_of_sums: adds the zero point, then rounds a tie away from zero": _quantizes(
        _quantizer(nearest=_half_away, before=True),
        (*_ONE_SCALE, *_AXES),
    ),
    "I3l half_up_of_sums: adds the zero point, then rounds a tie up": _quantizes(
        _quantizer(nearest=_half_up, before=True)
    ),
    "I3n half_away_of_fused: adds the zero point to the exact product; a tie goes away from zero": (
        _quantizes(_quantizer(_product, _of_sums(_half_away), before=True))
    ),
    "I3o half_up_of_fused: adds the zero point to the exact product, then rounds a tie up": (
        _quantizes(_quantizer(_product, _of_sums(_half_up), before=True))
    ),
    "I3c truncated: cuts fractions off": _quantizes(_quantizer(nearest=np.trunc)),
    "I3d floored: rounds down": _quantizes(_quantizer(nearest=np.floor)),
    "I3m truncated_quotients: divides, and cuts fractions off": _quantizes(
        _quantizer(_divided, np.trunc), (*_ONE_SCALE, *_AXES)
    ),
    "I4 lowest_code_made: clamps to the dtype, not to the range": _quantizes(
        _quantizer(clamped=_whole_dtype), _NARROW
    ),
    "I4b lowest_code_never: never gives the lowest code": (
        _quantizes(_quantizer(clamped=_lowest_never), ("int8", "int16"))
    ),
    "I4c lowest_code_never_of_quotients: divides, and never gives the lowest code": (
        _quantizes(_quantizer(_divided, clamped=_lowest_never), ("int8", "int16"))
    ),
    "I5 wrapped: wraps where it should saturate": _quantizes(_quantizer(clamped=_wrapped)),
    **_channels("I6", "", _RIGHT, _quantizes),
    "I7 difference_wraps: subtracts the zero point in the dtype of the codes": _reads(
        _dequantizer(lambda q, s, z: (q - z.astype(q.dtype)).astype(np.float32) * s)
    ),
    "I7b distributed: subtracts after scaling": _reads(
        _dequantizer(lambda q, s, z: q.astype(np.float32) * s - z.astype(np.float32) * s)
    ),
    "I7c by_the_reciprocal: divides by the rounded reciprocal of the scale": _reads(
        _dequantizer(
            lambda q, s, z: (q.astype(np.int64) - z).astype(np.float32) / (np.float32(1) / s)
        )
    ),
    "I7d lowest_code_clamped: reads the lowest code as the next one": _reads(
        _dequantizer(lambda q, s, z: _plain(np.maximum(q, np.iinfo(q.dtype).min + 1), s, z)),
        (*_NARROW, *_AXES),
    ),
    "I7e scale_in_bfloat16: cuts the scale off to bfloat16": _reads(
        _dequantizer(lambda q, s, z: _plain(q, _bfloat16(s), z))
    ),
    "I7f codes_rounded_first: rounds codes to float32 before it subtracts the zero point": _reads(
        _dequantizer(lambda q, s, z: (q.astype(np.float32) - z.astype(np.float32)) * s), ("int32",)
    ),
    "I8 zero_point_ignored: leaves the zero point out": _reads(
        _dequantizer(lambda q, s, z: _plain(q, s, 0 * z))
    ),
    **_channels("I9", "_back", _BACK, _reads),
}
