"""Arguments of integer operations: numbers, scales and integers, whatever the processor's modes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import as_float32, fl, wide
from mxref.bits.floats import F64, bits_of, layout_of, patterns, refuse_masked
from mxref.support.host_arrays import host_array


def float32_patterns(values: ArrayLike, parameter: str = "values") -> NDArray[np.uint32]:
    """float32, float16 or bfloat16 numbers as float32 patterns; raises TypeError for others."""
    bits, layout = bits_of(values, parameter)
    if layout == F64:
        raise TypeError(f"{parameter} must be float32, float16 or bfloat16: round float64 first")
    return as_float32(bits, layout)


def float32_scales(scale: NDArray[np.float64], parameter: str) -> NDArray[np.float64]:
    """Scales rounded to float32; raises ValueError if one is not a scale there."""
    rounded = fl(scale)
    if not ((rounded > 2.0**-128) & (rounded < 2.0**128)).all():
        raise ValueError(f"{parameter} must be finite and above 2**-128, as float32")
    return rounded


def integers(given: object, parameter: str) -> NDArray[np.int64]:
    """Integers of any dtype as int64; raises TypeError for others."""
    refuse_masked(given, parameter)
    array = host_array(given)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{parameter} must be integers, got {array.dtype}")
    return array.astype(np.int64)


def float64(given: object, parameter: str) -> NDArray[np.float64]:
    """Floats as float64, exactly."""
    refuse_masked(given, parameter)
    array = host_array(given)
    layout = layout_of(array.dtype, parameter)
    bits = patterns(array, layout)
    exact = bits.view(np.float64) if layout == F64 else wide(bits, layout)
    return np.asarray(exact.reshape(array.shape))
