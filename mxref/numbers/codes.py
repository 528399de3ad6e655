"""Arrays of codes: checked on the way in, viewed as ml_dtypes arrays on the way out."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.floats import U8, Parts
from mxref.formats.catalog import CodeFormat
from mxref.support.host_arrays import host_array, refuse_masked, unpacked_array


def dtype_of(fmt: CodeFormat) -> np.dtype[Any] | None:
    """The NumPy or ml_dtypes dtype with the format's bit patterns, or None."""
    if fmt.dtype_name is None:
        return None
    return np.dtype(getattr(ml_dtypes, fmt.dtype_name, None) or fmt.dtype_name)


def word_of(fmt: CodeFormat) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned integer type that holds a format's codes.

    >>> from mxref.formats.catalog import E4M3, F32
    >>> word_of(E4M3).__name__, word_of(F32).__name__
    ('uint8', 'uint32')
    """
    return np.uint8 if fmt.bits <= 8 else np.uint32


def are_nan(codes: NDArray[Any], fmt: CodeFormat) -> NDArray[np.bool_]:
    """Whether each code is a NaN of its format; of float32 scales one with a sign is, too.

    >>> from mxref.formats.catalog import E8M0, F32
    >>> are_nan(np.uint8([254, 255]), E8M0), are_nan(np.uint32([0x7F800000, 0x7F800001]), F32)
    (array([False,  True]), array([False,  True]))
    """
    if fmt.bits <= 8:
        return np.isin(codes, fmt.nan_codes)
    word = codes.dtype.type
    magnitude = codes & word(fmt.code_count - 1)
    found: NDArray[np.bool_] = (magnitude > word(fmt.inf_code or 0)) & (codes <= word(0xFFFFFFFF))
    return found


def codes_of(codes: ArrayLike, fmt: CodeFormat, parameter: str = "codes") -> U8:
    """Codes as uint8 (uint32 of float32), from integers or from an array of the format's own dtype.

    Raises:
        TypeError: neither integers nor the format's own dtype, or a masked array.
        ValueError: a code outside [0, 2**bits).
    """
    if type(codes) is np.ndarray and codes.dtype == word_of(fmt):
        return _in_range(codes, fmt, parameter)
    refuse_masked(codes, parameter)
    if isinstance(codes, bytes):
        raise TypeError(
            f"{parameter} must be an array, got bytes: use numpy.frombuffer(data, numpy.uint8)"
        )
    if hasattr(codes, "scale_codes"):
        name = parameter if parameter == "scale_codes" else "codes"
        got = type(codes).__name__
        raise TypeError(f"{parameter} must be an array of codes, got {got}: pass .{name}")
    array = (
        host_array(codes) if parameter == "packed" else unpacked_array(codes, parameter, "codes")
    )
    own = dtype_of(fmt)
    if own is not None and array.dtype == own:
        array = array.view(word_of(fmt))
    elif array.size == 0 and array.dtype == np.float64:
        array = array.astype(word_of(fmt))  # an empty list has no type of its own
    elif array.dtype.kind not in "iu":
        wanted = "unsigned integers" if own is None else f"unsigned integers or {own}"
        raise TypeError(f"{parameter} must be {wanted} for {fmt.name}, got {array.dtype}")
    return _in_range(array, fmt, parameter)


def _in_range(array: NDArray[Any], fmt: CodeFormat, parameter: str) -> U8:
    if array.dtype == np.uint8 and fmt.code_count == 256:
        return array
    # Extremes, not comparisons: NumPy 2.0 and 2.1 can crash when a strided uint8 array is compared
    # with a number that uint8 cannot hold.
    lowest = int(array.min(initial=0)) if array.dtype.kind == "i" else 0
    highest = int(array.max(initial=0))
    if lowest < 0 or highest >= fmt.code_count:
        flat = array.argmin() if lowest < 0 else array.argmax()
        index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
        raise ValueError(
            f"{parameter} must be in [0, {fmt.code_count - 1}] for {fmt.name}, "
            f"got {array[index]} at index {index}"
        )
    result: NDArray[Any] = array.astype(word_of(fmt), copy=False)
    return result


def is_writeable(array: NDArray[Any]) -> bool:
    """Whether an array's memory can be written to, through it or an array that it is a view of."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return True
        owner = owner.base
    return owner is not None


def view_codes(codes: U8, fmt: CodeFormat) -> NDArray[Any]:
    """The same bytes as an array of the format's own dtype.

    Raises:
        TypeError: NumPy and ml_dtypes have no dtype for the format.
    """
    dtype = dtype_of(fmt)
    if dtype is None:
        raise TypeError(f"{fmt.name} has no NumPy or ml_dtypes dtype: use the codes")
    return codes.view(dtype)


@functools.cache
def every_code(fmt: CodeFormat) -> Parts:
    """The numbers of all codes of a format, in order, as integer parts; cached, so read-only."""
    codes = range(fmt.code_count)
    negative, magnitude = zip(*map(fmt.sign_and_magnitude, codes), strict=True)
    is_nan = np.isin(codes, fmt.nan_codes)
    significand, exponent = np.array([fmt.magnitude_parts(c) for c in magnitude], np.int64).T
    parts = Parts(
        negative=np.array(negative) & ~is_nan,  # NaN decodes to one NaN (SPEC_NOTES N13)
        significand=significand,
        exponent=exponent,
        is_inf=np.array([c == fmt.inf_code for c in magnitude]),
        is_nan=is_nan,
        is_subnormal=np.array([0 < c < 1 << fmt.mantissa_bits for c in magnitude]),
    )
    for field in dataclasses.fields(parts):
        getattr(parts, field.name).flags.writeable = False
    return parts
