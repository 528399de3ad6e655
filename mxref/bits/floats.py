"""Floats as integers: the only bit tricks of the package, each with its proof.

Every value enters as its bit pattern before any arithmetic, so nothing here depends on the
processor's rounding mode or on flush-to-zero. Source: SPEC_NOTES N9.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref.support.host_arrays import refuse_masked, unpacked_array

U8: TypeAlias = NDArray[np.uint8]
I64: TypeAlias = NDArray[np.int64]
Bool: TypeAlias = NDArray[np.bool_]
Bits: TypeAlias = NDArray[np.unsignedinteger[Any]]
Floats: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class FloatLayout:
    """The bit layout of an IEEE-style float; an odd-rounded key is one with fewer fraction bits.

    Args:
        name: `f64`, `f32`, `f16` or `bf16`.
        exponent_bits: width of the exponent field.
        mantissa_bits: width of the fraction field.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int

    @cached_property
    def width(self) -> int:
        """Bits of a pattern."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @cached_property
    def bias(self) -> int:
        """Exponent bias."""
        return (1 << (self.exponent_bits - 1)) - 1

    @cached_property
    def emin(self) -> int:
        """Exponent of the smallest normal number."""
        return 1 - self.bias

    @cached_property
    def sign_bit(self) -> int:
        """The sign bit as a mask."""
        return 1 << (self.width - 1)

    @cached_property
    def inf_bits(self) -> int:
        """Pattern of +infinity; a larger magnitude is NaN."""
        return ((1 << self.exponent_bits) - 1) << self.mantissa_bits

    @cached_property
    def nan_bits(self) -> int:
        """Pattern of the canonical quiet NaN, sign clear."""
        return self.inf_bits | 1 << (self.mantissa_bits - 1)

    @cached_property
    def uint(self) -> np.dtype[Any]:
        """The smallest unsigned dtype that holds a whole pattern, whatever its width."""
        return _uint(1 << (self.width - 1).bit_length() >> 3)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy or ml_dtypes float dtype."""
        return _DTYPES[self.name]


@functools.cache
def _uint(size: int) -> np.dtype[Any]:
    return np.dtype(f"u{size}")


F64 = FloatLayout("f64", 11, 52)
F32 = FloatLayout("f32", 8, 23)
F16 = FloatLayout("f16", 5, 10)
BF16 = FloatLayout("bf16", 8, 7)
#: The float types that values come from and go to, by name.
LAYOUTS = {layout.name: layout for layout in (F32, F16, BF16, F64)}
_DTYPES: dict[str, np.dtype[Any]] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}

#: The layouts by their dtypes in native byte order.
_OF_DTYPE = {layout.dtype: layout for layout in LAYOUTS.values()}


def layout_of(dtype: DTypeLike, parameter: str = "dtype") -> FloatLayout:
    """The layout of a float dtype, whatever its byte order.

    >>> layout_of(np.float16).mantissa_bits
    10

    Raises:
        TypeError: not float64, float32, float16 or bfloat16.
    """
    if isinstance(dtype, np.dtype) and dtype in _OF_DTYPE:
        return _OF_DTYPE[dtype]
    known = "float64, float32, float16 or bfloat16"
    if dtype is None:  # which NumPy reads as float64
        raise TypeError(f"{parameter} must be {known}, got None")
    try:
        wanted: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{parameter} must be {known}, got {dtype!r}") from None
    native = wanted.newbyteorder("=") if wanted.kind == "f" else wanted
    if native in _OF_DTYPE:
        return _OF_DTYPE[native]
    raise TypeError(f"{parameter} must be {known}, got {wanted}")


def plain_layout(values: object) -> FloatLayout | None:
    """The layout of a NumPy array of floats in native byte order, which needs no check; else None.

    >>> plain_layout(np.ones(3, np.float32)) == F32, plain_layout([1.0])
    (True, None)
    """
    return _OF_DTYPE.get(values.dtype) if type(values) is np.ndarray else None


def float_array(values: ArrayLike, parameter: str = "values") -> tuple[NDArray[Any], FloatLayout]:
    """A float array of any byte order, and its layout.

    Raises:
        TypeError: not a float64, float32, float16 or bfloat16 array, or a masked one.
    """
    if (layout := plain_layout(values)) is not None:
        return np.asarray(values), layout
    refuse_masked(values, parameter)
    array = unpacked_array(values, parameter, "floats")
    if array.dtype.kind in "biu" or array.dtype == object:
        raise TypeError(
            f"{parameter} must be float64, float32, float16 or bfloat16, got {array.dtype}: "
            f"convert explicitly, for example {parameter}.astype(numpy.float32)"
        )
    return array, layout_of(array.dtype, f"{parameter} dtype")


def patterns(array: NDArray[Any], layout: FloatLayout) -> Bits:
    """Bit patterns of a float array, native byte order. No float arithmetic."""
    if array.dtype.isnative:
        return array.view(layout.uint)
    return array.view(layout.uint.newbyteorder()).astype(layout.uint)


def bits_of(values: ArrayLike, parameter: str = "values") -> tuple[Bits, FloatLayout]:
    """Bit patterns of what is a float array, and their layout; raises as `float_array` does."""
    array, layout = float_array(values, parameter)
    return patterns(array, layout), layout


def floats_from(bits: NDArray[Any], layout: FloatLayout) -> Floats:
    """The float array with these patterns."""
    return bits.astype(layout.uint, copy=False).view(layout.dtype)


def floor_log2(n: I64) -> I64:
    """floor(log2 n) of integers 1 <= n < 2**53; 0 for n = 0.

    Proof: such an integer is exact in binary64 and at least 1, hence a normal number whatever the
    processor's rounding and flushing modes are, and its exponent field is floor(log2 n) + 1023.
    """
    exponents: I64 = np.maximum(n, 1).astype(np.float64).view(np.int64) >> 52
    return exponents - 1023


@dataclass(frozen=True, slots=True)
class Parts:
    """Numbers ``(-1)**negative * significand * 2**exponent``, infinities and NaN."""

    negative: Bool
    significand: I64
    exponent: I64
    is_inf: Bool
    is_nan: Bool
    is_subnormal: Bool

    @classmethod
    def finite(cls, negative: Bool, significand: I64, exponent: I64) -> Parts:
        """Finite numbers, none of them marked as subnormal."""
        no = np.zeros(negative.shape, bool)
        return cls(negative, significand, exponent, no, no, no)


@dataclass(frozen=True, slots=True)
class Stochastic:
    """Random bits R of a width N, added to the part that rounding cuts off.

    With nu the cut-off part as a fraction of a unit in the last place, the magnitude is rounded up
    where the sum reaches a whole unit. Source: IEEE P3109 interim report v4.0 4.7.4.

    Args:
        variant: `a`: floor(nu 2**N) + R; `b`: floor(nu 2**(N+1)) + 2R + 1, against 2**(N+1);
            `c`: nu 2**N rounded to the nearest integer, ties to even, plus R.
        bits: R, from 0 to 2**N - 1.
        width: N, from 1 to 32.
    """

    variant: str
    bits: NDArray[np.integer[Any]]
    width: int

    def increments(self, rest: I64, drop: I64) -> I64:
        """1 where ``nu = rest / 2**drop`` (0 where drop is not positive) is rounded up."""
        width = self.width + (self.variant == "b")
        whole, cut = _shift_right(rest, drop - width)
        if self.variant == "c":
            half = np.int64(1) << np.clip(drop - width - 1, 0, 61)
            whole = whole + ((cut > half) | ((cut == half) & ((whole & 1) != 0)))
        bits = self.bits.astype(np.int64)
        added = 2 * bits + 1 if self.variant == "b" else bits
        result: I64 = (whole + added) >> width
        return result


def _shift_right(n: I64, count: I64) -> tuple[I64, I64]:
    """floor(n / 2**count), a left shift where count is negative, and the bits cut off."""
    right = np.clip(count, 0, 62)
    return n >> right << np.maximum(-count, 0), n & ((np.int64(1) << right) - 1)


def split(bits: NDArray[Any], layout: FloatLayout) -> Parts:
    """The integer parts of float patterns (or of odd-rounded keys, which are shorter floats)."""
    wide = bits.astype(np.uint64).view(np.int64)
    magnitude = wide & (layout.sign_bit - 1)
    m = layout.mantissa_bits
    field = magnitude >> m
    hidden = np.minimum(field, 1) << m
    return Parts(
        negative=(wide & _as_int64(layout.sign_bit)) != 0,
        significand=(magnitude & ((1 << m) - 1)) | hidden,
        exponent=np.maximum(field, 1) - (layout.bias + m),
        is_inf=magnitude == layout.inf_bits,
        is_nan=magnitude > layout.inf_bits,
        is_subnormal=(field == 0) & (magnitude != 0),
    )


def _as_int64(mask: int) -> int:
    """The int64 with the same 64 bits."""
    return mask - (1 << 64) if mask >> 63 else mask


def round_to_code(
    significand: I64,
    exponent: I64 | int,
    negative: Bool,
    mantissa_bits: int,
    emin: int,
    increments: I64 | Stochastic,
    first_code: int = 0,
) -> I64:
    """Magnitude codes of ``significand * 2**exponent``, rounded once, with no upper limit.

    The target has subnormals below 2**emin, and a code counts its values upwards from zero, so
    that a carry out of the fraction moves into the exponent by itself. Codes above the target's
    largest one are its overflow.

    With k = max(floor(log2 x), emin) the unit in the last place is 2**(k - m) and
    x = (n + r) * 2**(k - m), 0 <= r < 1. For k = emin the code is n; each further binade has
    2**m codes and its n carries the hidden 2**m, so the code is (k - emin) * 2**m + n throughout.

    Args:
        significand: 0 <= n < 2**53.
        exponent: of the significand's last bit.
        negative: signs, for the directed roundings.
        mantissa_bits: m of the target.
        emin: exponent of the target's smallest normal number.
        increments: 16 entries, 1 where the magnitude is rounded up, indexed by
            8 * negative + 4 * (code odd) + 2 * (r >= 1/2) + (r is neither 0 nor 1/2);
            or random bits.
        first_code: what to subtract where codes do not count from zero: 2**m in a format without
            subnormals, whose numbers below 2**emin then come out negative.
    """
    k: I64 = np.where(significand == 0, emin, floor_log2(significand) + exponent)
    k = np.maximum(k, np.int64(emin))
    drop = k - mantissa_bits - exponent
    # A left shift adds at most m - floor(log2 n) bits. 62 suffices to the right: n < 2**53 is then
    # below one quarter of the unit, as it would be for every larger shift.
    right = np.minimum(np.maximum(drop, 0), 62)
    left = np.maximum(-drop, 0)
    code = ((k - emin) << mantissa_bits) + ((significand << left) >> right) - first_code
    rest = significand & ((np.int64(1) << right) - 1)
    if isinstance(increments, Stochastic):
        drawn: I64 = code + increments.increments(rest, drop)
        return drawn
    half = (np.int64(1) << right) >> 1
    guard = (rest & half) != 0
    sticky = (rest & ~half) != 0
    case = (negative.astype(np.int64) << 3) | ((code & 1) << 2) | (guard.astype(np.int64) << 1)
    result: I64 = code + increments[case | sticky]
    return result


#: Increments of roundTiesToEven.
TIES_TO_EVEN = np.array([0, 0, 0, 1, 0, 0, 1, 1] * 2, np.int64)


def compose(parts: Parts, layout: FloatLayout) -> NDArray[Any]:
    """Float patterns of numbers in integer parts, rounded once (ties to even).

    Beyond the largest finite number the result is infinity; NaN is the canonical quiet one.
    """
    magnitude = round_to_code(
        parts.significand,
        parts.exponent,
        parts.negative,
        layout.mantissa_bits,
        layout.emin,
        TIES_TO_EVEN,
    )
    too_large = floor_log2(parts.significand) + parts.exponent > layout.bias
    is_inf = parts.is_inf | (too_large & (parts.significand != 0))
    magnitude = np.where(is_inf, layout.inf_bits, np.minimum(magnitude, layout.inf_bits))
    magnitude = np.where(parts.is_nan, layout.nan_bits, magnitude)
    sign = parts.negative.astype(np.uint64) << np.uint64(layout.width - 1)
    return (magnitude.astype(np.uint64) | sign).astype(layout.uint)


def to_odd(bits: NDArray[Any], drop: int, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """The top bits of patterns rounded to odd: the last bit kept becomes sticky.

    With m = 2**drop - 1, ``(bits & m) + m`` carries into bit `drop` exactly when one of the low
    bits is set, and the OR then sets the last kept bit. A number rounded to odd with two or more
    bits beyond a target's precision lies on the same side of every value and midpoint of the
    target, so it rounds there as the number itself does. Infinity keeps its pattern, NaN stays NaN.
    """
    m = bits.dtype.type((1 << drop) - 1)
    key: NDArray[Any] = np.bitwise_and(bits, m, out=out)
    np.add(key, m, out=key)
    np.bitwise_or(key, bits, out=key)
    np.right_shift(key, bits.dtype.type(drop), out=key)
    return key
