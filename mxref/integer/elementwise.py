"""Sums and products of codes, one by one: QLinearAdd and QLinearMul of onnxruntime."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import fl, fl_sum
from mxref.bits.single import CAREFUL, integer_array
from mxref.integer.integer_choices import Sum, ZeroAdded, chosen
from mxref.integer.nearest import nearest_integers
from mxref.support.integers import integer

__all__ = ["qlinear_add", "qlinear_mul"]

Float64 = NDArray[np.float64]

#: Quotients of scales below this keep every sum below the largest float32 number.
_LARGEST_RATIO = 2.0**100


def qlinear_add(
    a: ArrayLike,
    a_scale: float,
    a_zero: int,
    b: ArrayLike,
    b_scale: float,
    b_zero: int,
    y_scale: float,
    y_zero: int,
    *,
    sum: str | Sum = "fused",
) -> NDArray[Any]:
    """Sums of two arrays of codes, as codes: QLinearAdd of onnxruntime.

    Args:
        a: int8 or uint8; b and the result have its dtype.
        a_scale: positive; read as float32, as all scales.
        a_zero: a code of a.
        b: codes; both are broadcast to one shape.
        b_scale: of b.
        b_zero: a code of b.
        y_scale: of the result.
        y_zero: a code of the result.
        sum: `fused`, two fused multiply-adds in float32; `unfused`, the same with rounded
            products; `quotient`, the sum over the scale; `fixed_point`, in int32; or `exact`,
            rounded once.

    Returns:
        Codes of the broadcast shape.

    Raises:
        TypeError: codes that are no integers, zero points that are no integers.
        ValueError: codes of other dtypes, shapes that do not broadcast, scales that are not
            positive and finite or whose quotient reaches 2**100, zero points that are no codes.

    Source: SPEC_NOTES Q16.

    >>> a, b = np.uint8([10, 20]), np.uint8([3])
    >>> qlinear_add(a, 0.5, 0, b, 1.0, 1, 0.25, 5).tolist()  # (5 + 2) / 0.25 + 5
    [33, 53]
    """
    how = chosen(Sum, sum, "sum")
    scales, zeros = (a_scale, b_scale, y_scale), (a_zero, b_zero, y_zero)
    dtype, x, w, single, whole = _operands((a, b), scales, zeros)
    first, second = (fl(scale / single[2]) for scale in single[:2])
    if not max(first, second) < _LARGEST_RATIO:
        raise ValueError("a_scale / y_scale and b_scale / y_scale must be below 2**100")
    if how is Sum.EXACT:
        return _exact_sums(x, w, single, whole, dtype)
    if how is Sum.FIXED_POINT and (factors := _multipliers(first.item(), second.item())):
        total = (x - whole[0]) * factors[0] + (w - whole[1]) * factors[1]
        away = np.floor(np.abs(total) / factors[2] + 0.5)
        return _codes(np.copysign(away, total) + whole[2], dtype)
    if how in (Sum.FIXED_POINT, Sum.QUOTIENT):
        total = fl(fl(single[0] * (x - whole[0])) + fl(single[1] * (w - whole[1])))
        info = np.iinfo(dtype)
        steps = np.clip(fl(total / single[2]), info.min - whole[2], info.max - whole[2])
        return _codes(CAREFUL.nearest(fl(steps + whole[2])), dtype)
    terms = [(x, first, whole[0]), (w, second, whole[1])]
    one = _one_code(np.shape(a), np.shape(b))
    terms = terms[::-1] if one == "a" else terms
    (x, first, zero), (w, second, other) = terms
    if how is Sum.UNFUSED:
        fixed = fl(whole[2] - fl(fl(first * zero) + fl(second * other)))
        parts = [fl(w * second), fl(x * first)] if one else [fl(x * first), fl(w * second)]
        return _codes(CAREFUL.nearest(fl(fl(fixed + parts[0]) + parts[1])), dtype)
    fixed = fl(whole[2] - fl_sum(first * zero, fl(second * other)))
    return _codes(CAREFUL.nearest(fl_sum(x * first, fl_sum(w * second, fixed))), dtype)


def qlinear_mul(
    a: ArrayLike,
    a_scale: float,
    a_zero: int,
    b: ArrayLike,
    b_scale: float,
    b_zero: int,
    y_scale: float,
    y_zero: int,
    *,
    zero_added: str | ZeroAdded = "before",
) -> NDArray[Any]:
    """Products of two arrays of codes, as codes: QLinearMul of onnxruntime.

    Args:
        a: as in `qlinear_add`; so are the others.
        a_scale: see there.
        a_zero: see there.
        b: see there.
        b_scale: see there.
        b_zero: see there.
        y_scale: see there.
        y_zero: see there.
        zero_added: whether y_zero is added `before` the product is rounded, or `after`.

    Returns:
        Codes of the broadcast shape.

    Raises:
        TypeError: as there.
        ValueError: as there, and a_scale * b_scale / y_scale that is not finite.

    Source: SPEC_NOTES Q16.

    >>> for zero_added in ("before", "after"):  # 5 halves, and 7
    ...     qlinear_mul(np.int8([5]), 1, 0, np.int8([1]), 1, 0, 2, 7, zero_added=zero_added).item()
    10
    9
    """
    before = chosen(ZeroAdded, zero_added, "zero_added") is ZeroAdded.BEFORE
    scales, zeros = (a_scale, b_scale, y_scale), (a_zero, b_zero, y_zero)
    dtype, x, w, single, whole = _operands((a, b), scales, zeros)
    with np.errstate(over="ignore"):
        factor = fl(fl(single[0] * single[1]) / single[2])
        if not np.isfinite(factor):
            raise ValueError("a_scale * b_scale / y_scale must be finite as float32")
        product = fl((x - whole[0]) * (w - whole[1]) * factor)
    if before:
        return _codes(CAREFUL.nearest(fl(product + whole[2])), dtype)
    return _codes(CAREFUL.nearest(product) + whole[2], dtype)


def _one_code(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    """Which of two arrays has one code along the last axis on which the result has more.

    >>> _one_code((1,), (3, 1)), _one_code((2, 1), (1, 3)), _one_code((2, 3), (1, 3))
    ('a', 'a', '')
    """
    axes = max(len(a), len(b))
    sides = zip(*((1,) * (axes - len(shape)) + shape for shape in (a, b)), strict=True)
    of_a, of_b = ([(1, 2)] + [pair for pair in sides if pair != (1, 1)])[-1]
    return "a" if of_a == 1 else "b" if of_b == 1 else ""


def _multipliers(first: float, second: float) -> tuple[float, float, float] | None:
    """Integers that stand for quotients of scales, times a power of two, and that; None if none.

    The larger one has 22 bits. The power is at most 2**31.

    >>> _multipliers(0.5, 0.25), _multipliers(2.0**-12, 2.0**-13)
    ((2097152.0, 1048576.0, 4194304.0), None)
    """
    power = math.ldexp(1.0, 22 - math.frexp(max(first, second))[1])
    factors = round(first * power), round(second * power)
    if min(first, second) < 2.0**-14 or max(first, second) >= 256 or power > 2.0**31:
        return None
    return (float(factors[0]), float(factors[1]), power) if max(factors) < 1 << 22 else None


def _exact_sums(
    x: Float64, w: Float64, scales: list[Float64], zeros: list[int], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Codes of sums that are rounded once, to the even code."""
    terms = [(x - zeros[0]) * scales[0] / scales[2], (w - zeros[1]) * scales[1] / scales[2]]
    first, second = (Fraction(scale.item()) / Fraction(scales[2].item()) for scale in scales[:2])

    def exact(place: int) -> Fraction:
        parts = int(x.flat[place] - zeros[0]), int(w.flat[place] - zeros[1])
        return parts[0] * first + parts[1] * second + zeros[2]

    error = (np.abs(terms[0]) + np.abs(terms[1]) + 256) * 2.0**-50
    return _codes(nearest_integers(terms[0] + terms[1] + zeros[2], error, exact), dtype)


def _operands(
    codes: tuple[ArrayLike, ArrayLike], scales: Sequence[float], zeros: Sequence[int]
) -> tuple[np.dtype[Any], Float64, Float64, list[Float64], list[int]]:
    """The dtype, both arrays broadcast, as float64, the scales, and the zero points."""
    x, w = (integer_array(some, name) for some, name in zip(codes, "ab", strict=True))
    dtype = x.dtype
    if dtype not in (np.int8, np.uint8) or w.dtype != dtype:
        raise ValueError(f"a and b must be int8 or both uint8, got {dtype} and {w.dtype}")
    try:
        shape = np.broadcast_shapes(x.shape, w.shape)
    except ValueError:
        shapes = f"{x.shape} and {w.shape}"
        raise ValueError(f"a and b must have shapes that broadcast, got {shapes}") from None
    info, whole = np.iinfo(dtype), [integer(zero, "zero points") for zero in zeros]
    if not all(info.min <= zero <= info.max for zero in whole):
        raise ValueError(f"zero points must be codes of {dtype}, got {whole}")
    with np.errstate(over="ignore"):
        single = [fl(np.array(scale, np.float64)) for scale in scales]
    if not all(0 < one < np.inf for one in single):
        raise ValueError("scales must be positive and finite as float32")
    first, second = (np.broadcast_to(some, shape).astype(np.float64) for some in (x, w))
    return dtype, first, second, single, whole


def _codes(integers: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    info = np.iinfo(dtype)
    return np.asarray(np.clip(integers, info.min, info.max).astype(dtype))
