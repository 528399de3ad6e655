"""Class C23: NVFP4's "4 over 6" gone wrong, all in Transformer Engine's arithmetic."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import FLT_MAX, F64Array, fl
from mxref.bits.floats import U8
from mxref.mutants.mutant import Function, Mutants, wrong
from mxref.numbers.element import decode, encode

__all__ = ["FOUR_OVER_SIX"]

Pair = tuple[U8, U8]


def _in_order(errors: F64Array) -> F64Array:
    """The sum of each row, every addition rounded to float32."""
    return functools.reduce(lambda total, column: fl(total + column), errors.T[1:], errors[:, 0])


def _less(four: F64Array, six: F64Array) -> NDArray[np.bool_]:
    return four < six


def _square(differences: F64Array) -> F64Array:
    return fl(differences * differences)


def chooser(
    error: Callable[[F64Array], F64Array] = np.abs,
    add: Callable[[F64Array], F64Array] = _in_order,
    takes_four: Callable[[F64Array, F64Array], Any] = _less,
    *,
    room: float = 256.0,
    step: float = 1.5,
    in_units: bool = False,
) -> Function:
    """A `quantize` that takes the better of two scales; the defaults are right for `MAE`.

    `error` and `add` make the error of a scale, and `takes_four` compares the two errors. The
    tensor's largest magnitude is scaled to 6 times `room`. The scale of 4 is `step` times that of
    6. With `in_units` errors are measured in units of the scale.

    >>> scales, codes = chooser()(np.float32([[6.0, 4.5] * 8]), "fp4_ue4m3")
    >>> scales, codes[0, :2]
    (array([60], dtype=uint8), array([6, 5], dtype=uint8))
    """

    def quantize(values: NDArray[Any], format: str, tensor_scale: Any = None) -> Pair:
        with np.errstate(all="ignore"):
            return run(values.astype(np.float64), tensor_scale)

    def run(x: F64Array, tensor_scale: Any) -> Pair:
        top = 6 * room
        t = top if tensor_scale is None else float(tensor_scale)
        inverse = min(float(fl(np.array([top / t]))[0]), FLT_MAX)
        amax = np.fmax.reduce(np.abs(x), axis=1, initial=0.0)[:, np.newaxis]
        six = fl(fl(amax / 6) * inverse)
        found = []
        for wanted in (fl(six * step), six):
            scales = encode(np.minimum(wanted, 448), "ue4m3")
            scale = decode(scales, "ue4m3").astype(np.float64)
            factor = np.minimum(fl(1 / fl(scale * fl(np.array([1 / inverse])))), FLT_MAX)
            codes = encode(fl(x * factor), "e2m1")
            elements = decode(codes, "e2m1").astype(np.float64)
            value = fl(fl(fl(elements * scale) * t) / top)
            difference = fl(elements - fl(x * factor)) if in_units else fl(value - x)
            found.append((add(error(difference)), scales[:, 0], codes))
        (error4, scales4, codes4), (error6, scales6, codes6) = found
        four = np.broadcast_to(takes_four(error4, error6), scales4.shape)
        return np.where(four, scales4, scales6), np.where(four[:, np.newaxis], codes4, codes6)

    return quantize


def _in_float64(errors: F64Array) -> F64Array:
    total: F64Array = errors.sum(axis=1)
    return total


def _in_a_tree(errors: F64Array) -> F64Array:
    """The sum of each row, neighbours first."""
    while errors.shape[1] > 1:
        errors = fl(errors[:, ::2] + errors[:, 1::2])
    return errors[:, 0]


def _backwards(errors: F64Array) -> F64Array:
    return _in_order(errors[:, ::-1])


def _largest(errors: F64Array) -> F64Array:
    most: F64Array = errors.max(axis=1)
    return most


def _in_float16(errors: F64Array) -> F64Array:
    total = np.zeros(len(errors), np.float16)
    for column in errors.T:
        total = (total + column.astype(np.float16)).astype(np.float16)
    return total.astype(np.float64)


_SQUARES = "ocp+scale_arithmetic=transformer_engine_4over6_mse"
_nvfp4 = functools.partial(
    wrong,
    op="quantize",
    formats=("fp4_ue4m3", "nvfp4"),
    floats=("f32",),
    model="M9",
    policy="ocp+scale_arithmetic=transformer_engine_4over6",
)

FOUR_OVER_SIX: Mutants = {
    "C23a always_four: takes the scale of amax / 4 for every block": _nvfp4(
        chooser(takes_four=lambda four, six: True)
    ),
    "C23b always_six: takes the scale of amax / 6 for every block": _nvfp4(
        chooser(takes_four=lambda four, six: False)
    ),
    "C23c larger_error: takes the scale with the larger error": _nvfp4(
        chooser(takes_four=lambda four, six: four > six)
    ),
    "C23d equal_errors_take_four: takes the scale of amax / 4 if the errors are equal": _nvfp4(
        chooser(takes_four=lambda four, six: four <= six)
    ),
    "C23e squared_error: adds squared errors instead of magnitudes": _nvfp4(chooser(_square)),
    "C23f error_not_squared: adds magnitudes of errors instead of squares": _nvfp4(
        chooser(), policy=_SQUARES
    ),
    "C23g largest_error: takes the largest error of a block instead of their sum": _nvfp4(
        chooser(add=_largest)
    ),
    "C23h error_with_sign: adds errors with their signs": _nvfp4(chooser(error=lambda d: d)),
    "C23i error_in_units: measures errors in units of each scale": _nvfp4(chooser(in_units=True)),
    "C23j errors_in_float64: adds errors in float64": _nvfp4(chooser(add=_in_float64)),
    "C23k errors_in_float16: adds errors in float16": _nvfp4(chooser(add=_in_float16)),
    "C23l errors_in_a_tree: adds errors by pairs": _nvfp4(chooser(add=_in_a_tree)),
    "C23m errors_backwards: adds errors from the last element on": _nvfp4(chooser(add=_backwards)),
    "C23n squares_in_float64: adds squared errors in float64": _nvfp4(
        chooser(_square, _in_float64), policy=_SQUARES
    ),
    "C23o squares_in_a_tree: adds squared errors by pairs": _nvfp4(
        chooser(_square, _in_a_tree), policy=_SQUARES
    ),
    "C23p room_of_448: scales the tensor to 6 * 448, which leaves no room for the scale of 4": (
        _nvfp4(chooser(room=448.0), formats=("nvfp4",))
    ),
    "C23r four_thirds: takes 4/3 instead of 3/2 of the scale of amax / 6": _nvfp4(
        chooser(step=4 / 3)
    ),
}
