"""float32 arithmetic as fast as the processor's modes allow, with the same bits under each of them.

Under the usual modes (rounding to nearest even, subnormals kept) NumPy's own float32 is used. Under
other modes each operation is done on float64 numbers, and `mxref.bits.float32.fl` rounds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import as_float32, fl, wide
from mxref.bits.floats import (
    F32,
    F64,
    I64,
    bits_of,
    compose,
    layout_of,
    patterns,
    split,
)
from mxref.support.host_arrays import refuse_masked, unpacked_array

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Single:
    """The float32 operations of one call.

    Args:
        dtype: dtype of the arrays that hold float32 numbers.
        of: turns float64 numbers that float32 holds into such an array.
        rounded: turns float64 numbers into the nearest ones in such an array.
        read: turns float32 patterns into such an array; may be a view.
        write: turns such an array into float32 patterns; may be a view.
        fl: to be applied to each sum, product, quotient and converted integer.
        nearest: the nearest integers, ties to even; into `out` if it is given.
    """

    dtype: np.dtype[Any]
    of: Callable[[Array], Array]
    rounded: Callable[[Array], Array]
    read: Callable[[Array], Array]
    write: Callable[[Array], Array]
    fl: Callable[[Array], Array]
    nearest: Callable[..., Array]


def single() -> Single:
    """The operations for the modes that are in force in this thread.

    >>> s = single()
    >>> s.nearest(s.fl(s.read(np.uint32([0x3F800000])) * s.dtype.type(2.5))).tolist()
    [2.0]
    """
    usual = (_ONE * _OTHER).tobytes() == _PRODUCT
    return NATIVE if usual else CAREFUL


# Products that differ under other modes: one that would be rounded down, a negative one, one that
# would be rounded up, one with a subnormal operand, one with a subnormal result.
_ONE = np.array([0x3F800001, 0xBF800001, 0x3FC00001, 1, 0x0D800000], np.uint32).view("f4")
_OTHER = np.array([0x3F800001, 0x3F800001, 0x3FC00001, 0x3F800000, 0x2B800000], np.uint32).view(
    np.float32
)
_PRODUCT = np.array([0x3F800002, 0xBF800002, 0x40100002, 1, 0x200], np.uint32).tobytes()


def _nearest(x: Array, out: Array | None = None) -> Array:
    """Integers nearest to float64 numbers, found in their patterns; from 2**52 on all are integers.

    A pattern is cut at the bit of the unit, after adding half a unit less the parity; the carry
    moves into the exponent by itself. A magnitude of at most a half becomes 0, one below 1 is 1.
    """
    bits = np.asarray(x, np.float64, order="C").view(np.int64)
    magnitude = bits & np.int64(0x7FFF_FFFF_FFFF_FFFF)
    cut = np.clip(1075 - (magnitude >> 52), 0, 52)
    unit = np.int64(1) << cut
    carried = (magnitude + (unit >> 1) - 1 + ((magnitude >> cut) & 1)) & -unit
    rounded = np.where(cut == 0, magnitude, carried)
    one = np.int64(1023 << 52)
    rounded = np.where(magnitude < one, np.where(magnitude > one - (1 << 52), one, 0), rounded)
    result: Array = (rounded | (bits & ~np.int64(0x7FFF_FFFF_FFFF_FFFF))).view(np.float64)
    if out is None:
        return result
    out[...] = result
    return out


NATIVE = Single(
    dtype=F32.dtype,
    of=lambda numbers: numbers.astype(np.float32),
    rounded=lambda numbers: numbers.astype(np.float32),
    read=lambda bits: bits.view(np.float32),
    write=lambda x: x.view(np.uint32),
    fl=lambda x: x,
    nearest=np.rint,
)
CAREFUL = Single(
    dtype=F64.dtype,
    of=lambda numbers: numbers,
    rounded=fl,
    read=lambda bits: wide(bits, F32),
    write=lambda x: compose(split(np.asarray(x, order="C").view(np.uint64), F64), F32),
    fl=fl,
    nearest=_nearest,
)


def float32_patterns(values: ArrayLike, parameter: str) -> NDArray[np.uint32]:
    """Patterns of float32, or of float16 and bfloat16 as float32; raises TypeError for others.

    >>> float32_patterns(np.float16([0.5]), "x").tolist() == [0x3F000000]
    True
    """
    bits, layout = bits_of(values, parameter)
    if layout == F64:
        raise TypeError(
            f"{parameter} must be float32, float16 or bfloat16, got float64: round first, for "
            f"example {parameter}.astype(numpy.float32)"
        )
    return as_float32(bits, layout)


def float64_numbers(given: object, parameter: str) -> NDArray[np.float64]:
    """Floats of any layout as float64, exactly; raises TypeError for others.

    >>> float64_numbers(np.float16([0.1]), "x")
    array([0.09997559])
    """
    if type(given) is float:
        return np.array(given)
    refuse_masked(given, parameter)
    array = unpacked_array(given, parameter, "floats")
    layout = layout_of(array.dtype, parameter)
    bits = patterns(array, layout)
    exact = bits.view(np.float64) if layout == F64 else wide(bits, layout)
    return np.asarray(exact.reshape(array.shape))


def integer_array(given: object, parameter: str) -> Array:
    """Integers in their own dtype, in native byte order; raises TypeError for others.

    >>> integer_array([1, 2], "x").dtype.kind
    'i'
    """
    refuse_masked(given, parameter)
    array = unpacked_array(given, parameter, "integers")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{parameter} must be integers, got {array.dtype}")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def int64_array(given: object, parameter: str) -> I64:
    """Integers as int64; raises TypeError for others, and ValueError for one from 2**63 on.

    >>> int64_array(np.uint8([255]), "x")
    array([255])
    """
    if type(given) is int and -1 << 63 <= given < 1 << 63:
        return np.array(given, np.int64)
    array = integer_array(given, parameter)
    if array.dtype == np.uint64 and array.max(initial=0) >= 1 << 63:
        raise ValueError(f"{parameter} must be below 2**63, got {array.max()}")
    return array.astype(np.int64)
