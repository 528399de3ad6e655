"""Affine quantization: numbers to integer codes and back, per tensor, channel, token or group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import fl, fl_sum
from mxref.bits.single import (
    CAREFUL,
    float32_patterns,
    float64_numbers,
    int64_array,
    integer_array,
    single,
)  # fmt: skip
from mxref.integer import integer_choices as c
from mxref.integer.integer_choices import chosen
from mxref.support.integers import integer
from mxref.support.scratch import scratch
from mxref.support.threads import CHUNK, in_chunks

__all__ = ["SNORM8", "SNORM16", "QParams", "choose_qparams", "dequantize_affine", "quantize_affine"]

Array = NDArray[Any]

#: The integers of each dtype.
_DTYPES = {
    np.dtype(one): (int(np.iinfo(one).min), int(np.iinfo(one).max))
    for one in (np.int8, np.uint8, np.int16, np.uint16, np.int32)
}


def _is_inside(array: Array, below: float, above: float) -> bool:
    """Whether all numbers lie between two, which are outside."""
    if array.ndim == 0:
        return bool(below < array.item() < above)
    return bool(((array > below) & (array < above)).all())


@dataclass(frozen=True, eq=False)
class QParams:
    """Parameters of affine quantization: q = clamp(rne(x / scale) + zero_point).

    Args:
        scale: positive; () for a tensor, (C,) for the indices along the axis, or as many dimensions
            as the values have, for groups along it. Operations round it to float32 first.
        zero_point: integers within the range; one, or one for each scale.
        quant_min: the smallest code.
        quant_max: the largest code.
        dtype: int8, uint8, int16, uint16 or int32.
        axis: of channels or groups; 0 for the tokens of a matrix.

    Raises:
        TypeError: no integers, or a dtype that is none of these.
        ValueError: a scale that is not above 2**-128 and finite in float32, a range or a zero point
            that does not fit, or an axis without scales.

    Source: SPEC_NOTES Q1, Q7; torch 2.13 `quantized_decomposed`.

    >>> QParams(0.1, zero_point=3).quant_max
    127
    """

    scale: Any
    zero_point: Any = 0
    quant_min: int = -128
    quant_max: int = 127
    dtype: Any = np.int8
    axis: int | None = None
    #: The scale rounded to float32, as float64.
    single: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        scale, dtype = float64_numbers(self.scale, "scale").copy(), np.dtype(self.dtype)
        zero_point = int64_array(self.zero_point, "zero_point")
        low, high = integer(self.quant_min, "quant_min"), integer(self.quant_max, "quant_max")
        axis = None if self.axis is None else integer(self.axis, "axis")
        if dtype not in _DTYPES:
            raise TypeError(f"dtype must be one of {', '.join(map(str, _DTYPES))}, got {dtype}")
        least, most = _DTYPES[dtype]
        if not least <= low < high <= most:
            raise ValueError(f"quant_min and quant_max must be a range of {dtype}, got {low, high}")
        if not _is_inside(zero_point, low - 1, high + 1):
            raise ValueError(f"zero_point must be from quant_min {low} to quant_max {high}")
        if zero_point.ndim and zero_point.shape != scale.shape:
            raise ValueError(f"zero_point must be one integer, or one for each of {scale.shape}")
        if (axis is None) != (scale.ndim == 0):
            raise ValueError(f"axis must be given where scale is an array, got {axis}")
        rounded = fl(scale)
        if not _is_inside(rounded, 2.0**-128, 2.0**128):
            raise ValueError("scale must be finite and above 2**-128, as float32")
        own = (scale, zero_point, low, high, dtype, axis, rounded)
        for name, value in zip(self.__dataclass_fields__, own, strict=True):
            object.__setattr__(self, name, value)

    def laid(self, values: Array, *parameters: Array) -> list[Array]:
        """Values, split into groups, and parameters that broadcast to them; else a ValueError."""
        shape, mine = values.shape, self.scale.shape
        if self.axis is None:
            return [values, *parameters]
        if not -len(shape) <= self.axis < len(shape):
            raise ValueError(f"axis must be one of the values' {len(shape)}, got {self.axis}")
        axis = self.axis % len(shape)
        before, count, after = shape[:axis], shape[axis], shape[axis + 1 :]
        beside = tuple(count if i == axis else 1 for i in range(len(shape)))
        if mine != (count,):
            groups = mine[axis] if len(mine) == len(shape) else 0
            if mine != (*before, groups, *after) or groups == 0 or count % groups:
                raise ValueError(f"scale must fit {shape} with groups on axis {axis}, got {mine}")
            values = values.reshape(*before, groups, count // groups, *after)
            beside = (*before, groups, 1, *after)
        whole = (p if p.shape == mine else np.broadcast_to(p, mine) for p in parameters)
        return [values, *(each.reshape(beside) for each in whole)]


#: The normalised integers of images: 8 bits, and 16 bits for grids. Source: SPEC_NOTES Q7.
SNORM8 = QParams(float.fromhex("0x1.020408p-7"), 0, -127, 127, np.int8)
SNORM16 = QParams(float.fromhex("0x1.0002p-15"), 0, -32767, 32767, np.int16)


def quantize_affine(
    values: ArrayLike,
    qparams: QParams,
    *,
    scaling: str | c.Scaling = "reciprocal",
    zero_point: str | c.ZeroPoint = "after",
    nan: str | c.NaN = "error",
    infinite: str | c.Infinite = "saturate",
    int32: str | c.Int32 = "saturate",
    scale_type: str | c.ScaleType = "float32",
) -> Array:
    """Integer codes: clamp(rne(x * (1/scale)) + zero_point), each operation rounded to float32.

    Args:
        values: float32, float16 or bfloat16, which are float32 first; the codes have their shape.
        qparams: scale, zero point and range.
        scaling: `reciprocal` or `divide`; Q2.
        zero_point: `after` or `before` rounding, or `fused`, with `reciprocal`; Q3.
        nan: `error`, `zero`, `lowest`, `int32_min` or `highest`; Q4.
        infinite: `saturate`, `lowest` or `int32_min`; Q5.
        int32: `saturate` or `wrap`, read if the dtype is int32; Q6.
        scale_type: `float32` or `float64`, read with `reciprocal`; Q2.

    Raises:
        TypeError: values that are float64 or no floats.
        ValueError: a NaN, values that do not fit the scales, a choice that is unknown or not read.

    Source: SPEC_NOTES Q1 to Q7.

    >>> x = np.float32([0.5, 1.5, 2.5, -0.5, -1.5])
    >>> quantize_affine(x, QParams(1.0, 1)).tolist()
    [1, 3, 3, 1, -1]
    >>> quantize_affine(x, QParams(1.0, 1), zero_point="before").tolist()
    [2, 2, 4, 0, 0]
    """
    divide = chosen(c.Scaling, scaling, "scaling") is c.Scaling.DIVIDE
    when = chosen(c.ZeroPoint, zero_point, "zero_point")
    fused, before = when is c.ZeroPoint.FUSED, when is not c.ZeroPoint.AFTER
    of_nan, of_infinite = chosen(c.NaN, nan, "nan"), chosen(c.Infinite, infinite, "infinite")
    narrow = "" if qparams.dtype == np.int32 else f"dtype is {qparams.dtype}"
    wrap = chosen(c.Int32, int32, "int32", unread=narrow) is c.Int32.WRAP
    divides = "scaling is divide" if divide else ""
    kind = chosen(c.ScaleType, scale_type, "scale_type", unread=divides)
    if (of_nan is c.NaN.INT32_MIN or of_infinite is c.Infinite.INT32_MIN) and (
        before or not narrow
    ):
        raise ValueError("int32_min must be chosen for 8 or 16 bits, with zero_point=after")
    if fused and divide:
        raise ValueError("zero_point=fused must be chosen with scaling=reciprocal")
    s, low, high = single(), qparams.quant_min, qparams.quant_max
    x = float32_patterns(values, "values")
    with np.errstate(all="ignore"):
        if kind is c.ScaleType.FLOAT64:
            factor = s.rounded(np.vectorize(_reciprocal, [np.float64])(qparams.scale))
        else:
            factor = s.of(qparams.single) if divide else s.rounded(1.0 / qparams.single)
        shift = s.rounded(qparams.zero_point.astype(np.float64))
    source, *beside = qparams.laid(x, factor, shift)
    codes = np.empty(source.shape, qparams.dtype)

    def write(out: Array, x: Array, factor: Array, zero: Array) -> None:
        memory = scratch("affine", x.shape, s.dtype)
        if fused:
            product = s.read(x).astype(np.float64) * np.asarray(factor, np.float64)
            y = s.of(fl_sum(product, np.asarray(zero, np.float64)))
        else:
            y = s.fl((np.divide if divide else np.multiply)(s.read(x), factor, out=memory))
        y = y if before else s.nearest(y, out=y)
        unshifted = y.copy() if of_infinite is c.Infinite.INT32_MIN else y
        y = y if fused else s.fl(np.add(y, zero, out=y))
        y = s.nearest(y, out=y) if before else y
        is_nan = np.isnan(y) if np.isnan(np.maximum.reduce(y, None, initial=-np.inf)) else None
        if is_nan is not None:
            if of_nan is c.NaN.ERROR:
                raise ValueError("values must have no NaN with nan=error: choose its code")
            y[is_nan] = 0
        too_large = y >= 2.0**63 if of_infinite is c.Infinite.LOWEST else False
        if narrow:
            np.copyto(out, np.minimum(np.maximum(y, low, out=y), high, out=y), "unsafe")
        elif wrap:
            ends = fl(np.array([low, high], np.float64)).tolist()
            np.copyto(out, np.clip(y, *ends, out=y).astype(np.int64), "unsafe")
        else:
            whole = np.clip(y, -(2.0**31), 2.0**31, out=y).astype(np.int64)
            np.copyto(out, np.clip(whole, low, high), "unsafe")
        if of_infinite is c.Infinite.LOWEST:
            out[too_large] = low
        elif of_infinite is c.Infinite.INT32_MIN:
            whole = np.where(np.abs(unshifted) < 2.0**31, unshifted, -(2.0**31)).astype(np.int64)
            np.copyto(out, np.clip(_int32_sum(whole, zero), low, high), "unsafe")
        if is_nan is not None:
            of_zero = 0 if narrow else -(2**31)
            smallest = np.clip(_int32_sum(np.int64(-(2**31)), zero), low, high)
            named = {c.NaN.ZERO: of_zero, c.NaN.LOWEST: low, c.NaN.HIGHEST: high}
            code = named.get(of_nan, smallest)
            np.copyto(out, code, "unsafe", where=is_nan)

    _in_parts(write, codes, source, beside)
    return codes.reshape(x.shape)


def dequantize_affine(codes: ArrayLike, qparams: QParams) -> NDArray[np.float32]:
    """The numbers of codes: (q - zero_point) * scale, difference and product rounded to float32.

    Args:
        codes: integers of the parameters' dtype; codes outside of the range are read, too.
        qparams: scale and zero point.

    Raises:
        TypeError: codes of another dtype.
        ValueError: codes that do not fit the scales.

    Source: SPEC_NOTES Q1, Q7.

    >>> dequantize_affine(np.int8([127, -128]), SNORM8).tolist()
    [1.0, -1.0078740119934082]
    """
    q = integer_array(codes, "codes")
    if q.dtype != qparams.dtype:
        raise TypeError(f"codes must be {qparams.dtype}, as qparams says, got {q.dtype}")
    s = single()
    source, *beside = qparams.laid(q, s.of(qparams.single), qparams.zero_point)
    bits = np.empty(source.shape, np.uint32)

    def write(out: Array, q: Array, scale: Array, zero: Array) -> None:
        difference = (q.astype(np.int64) - zero).astype(s.dtype)
        out[...] = s.write(s.fl(s.fl(difference) * scale))

    _in_parts(write, bits, source, beside)
    return bits.reshape(q.shape).view(np.float32)


def choose_qparams(
    low: ArrayLike,
    high: ArrayLike,
    quant_min: int = -128,
    quant_max: int = 127,
    dtype: Any = np.int8,
    axis: int | None = None,
    *,
    symmetric: bool = False,
    eps: float = 2.0**-23,
) -> QParams:
    """Parameters for numbers from `low` to `high`, each operation rounded to float32.

    Args:
        low: the smallest number, or one for each channel or group; 0 if it is above.
        high: the largest number; 0 if it is below.
        quant_min: as in `QParams`; so are quant_max, dtype and axis.
        quant_max: see there.
        dtype: see there.
        axis: see there.
        symmetric: scale = amax / ((quant_max - quant_min) / 2) and zero point 0; else scale =
            (high - low) / (quant_max - quant_min), zero_point = clamp(quant_min - rne(low/scale)).
        eps: the smallest scale, so that zeros have one; torch's is 2**-23, Arm's 2**-16.

    Raises:
        TypeError: numbers that are not float64, float32, float16 or bfloat16.
        ValueError: numbers that are not finite, low above high, or what `QParams` refuses.

    Source: SPEC_NOTES Q8; torch 2.13 `MinMaxObserver`.

    >>> choose_qparams(-0.5, 0.7, -8, 7, symmetric=True).scale
    array(0.09333333)
    """
    ends = fl(float64_numbers(low, "low")), fl(float64_numbers(high, "high"))
    if ends[0].shape != ends[1].shape and () not in (ends[0].shape, ends[1].shape):
        shapes = f"{ends[0].shape} and {ends[1].shape}"
        raise ValueError(f"low and high must have one shape, got {shapes}")
    quant_min, quant_max = integer(quant_min, "quant_min"), integer(quant_max, "quant_max")
    if not (np.isfinite(ends[0]) & np.isfinite(ends[1]) & (ends[0] <= ends[1])).all():
        raise ValueError("low and high must be finite float32 numbers, low not above high")
    least, most = np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)
    steps, smallest = float(quant_max - quant_min), fl(np.array(eps, np.float64))
    zero_point: Any = 0
    with np.errstate(all="ignore"):  # QParams refuses a range or a scale of zero
        if symmetric:
            scale = np.maximum(fl(np.maximum(-least, most) / (steps / 2)), smallest)
        else:
            scale = np.maximum(fl(fl(most - least) / steps), smallest)
            zero_point = quant_min - CAREFUL.nearest(fl(least / scale)).astype(np.int64)
            zero_point = np.clip(zero_point, quant_min, quant_max)
    return QParams(scale, zero_point, quant_min, quant_max, dtype, axis)


def _in_parts(
    write: Callable[..., None], out: Array, values: Array, parameters: list[Array]
) -> None:
    """Call ``write(out, values, *parameters)`` for parts that stay in the cache.

    Of few values the parameters are repeated by NumPy, which computes without copies of them.
    """
    with np.errstate(all="ignore"):
        if not any(one.ndim for one in parameters):
            in_chunks(lambda out, values: write(out, values, *parameters), 1, out, values)
        elif out.size <= CHUNK:
            write(out, values, *parameters)
        else:
            in_chunks(write, 1, out, values, *(np.broadcast_to(p, out.shape) for p in parameters))


def _int32_sum(whole: Array | np.int64, zero: Array) -> Array:
    """The sum modulo 2**32, as int32 has it."""
    return (whole + zero.astype(np.int64) + 2**31) % 2**32 - 2**31


def _reciprocal(scale: float) -> float:
    """1/scale rounded to float64 on integers: Python divides small ones as floats."""
    n, d = scale.as_integer_ratio()
    return (d << 64) / (n << 64)
