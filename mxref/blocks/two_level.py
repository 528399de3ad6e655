"""Scales that are not powers of two: a small float for each block, and one for the whole tensor.

The two-level formats (NVFP4) have no standard. `exact` is their mathematics, rounded once a step;
the named arithmetics are the formulas of implementations, float32 operation by operation.
Source: SPEC_NOTES N41, N42.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass

import numpy as np

from mxref.bits.float32 import normal_pattern, wide
from mxref.bits.floats import F32, I64, FloatLayout, Parts, bits_of, compose, floor_log2, split
from mxref.formats.catalog import BlockFormat, CodeFormat
from mxref.numbers.codes import every_code
from mxref.numbers.element import encode_parts
from mxref.policy.policy import ElementPolicy

_ONE = 0x3F800000
#: Significant bits of a divisor in `quotient`, and of the quotient beyond 29.
_DIVISOR_BITS = 32
_MORE_BITS = 20


class TensorScaleKind(enum.Enum):
    """The meaning of the stored float32 number of a two-level tensor. Source: SPEC_NOTES N42."""

    FACTOR = "factor"  #: value = element * scale * number
    DIVISOR = "divisor"  #: value = element * scale / number
    AMAX = "amax"  #: value = element * scale * number / (largest element * largest scale)
    AMAX_256 = "amax_256"  #: value = element * scale * number / (largest element * 256)


@dataclass(frozen=True, slots=True)
class TensorScale:
    """The float32 scale of a whole tensor.

    Args:
        bits: float32 pattern of a positive finite number.
        kind: how it enters the value of an element.

    >>> TensorScale(0x3F000000).value, TensorScale(0x3F000000).kind.value
    (0.5, 'factor')

    Raises:
        ValueError: a pattern out of range, or an unknown kind.
    """

    bits: int
    kind: TensorScaleKind = TensorScaleKind.FACTOR

    def __post_init__(self) -> None:
        if type(self.bits) is not int:
            raise TypeError(f"bits must be an integer, got {type(self.bits).__name__}")
        if not 0 <= self.bits < F32.sign_bit:
            raise ValueError(f"bits must be a float32 pattern without sign, got {self.bits:#x}")
        object.__setattr__(self, "kind", TensorScaleKind(self.kind))

    @classmethod
    def of(cls, given: TensorScale | float, kind: TensorScaleKind) -> TensorScale:
        """A tensor scale that was given: as such, or as a number of this kind.

        Raises:
            TypeError: neither a `TensorScale` nor a number.
            ValueError: another kind, a number that float32 does not hold or that is not positive.

        >>> TensorScale.of(0.5, TensorScaleKind.DIVISOR).value
        0.5
        """
        if isinstance(given, TensorScale):
            if given.kind is not kind:
                raise ValueError(
                    f"tensor_scale must be of kind {kind.value} for this scale_arithmetic, "
                    f"got {given.kind.value}"
                )
            if not 0 < given.bits < F32.inf_bits:
                raise ValueError(f"tensor_scale must be positive and finite, got {given.value}")
            return given
        pattern = normal_pattern(given) if isinstance(given, float | np.float32) else 0
        if pattern:
            return cls(pattern, kind)
        try:
            if isinstance(given, bool):
                raise TypeError
            whole = isinstance(given, (int, np.integer))
            number = float(given) if whole or isinstance(given, float) else given
            bits, layout = bits_of(number)
        except (TypeError, OverflowError):
            raise TypeError(
                "tensor_scale must be a TensorScale or a number that a float holds, "
                f"got {type(given).__name__}"
            ) from None
        parts = split(bits.reshape(-1), layout)
        narrow = compose(parts, F32)
        same = compose(split(narrow, F32), layout) == bits.reshape(-1)
        fits = parts.significand.shape == (1,) and 0 < narrow[0] < F32.inf_bits
        if not fits or not same[0] or (whole and number != int(given)):
            rounded = fits and isinstance(number, float)
            hint = f": pass numpy.float32({given})" if rounded else ""
            raise ValueError(
                f"tensor_scale must be one positive finite float32 number, got {given!r}{hint}"
            )
        return cls(int(narrow[0]), kind)

    @property
    def value(self) -> float:
        """The number."""
        return float(wide(np.array([self.bits], np.uint32), F32)[0])

    def ratio(self, fmt: BlockFormat) -> Ratio:
        """The factor of element times scale."""
        parts = split(np.array([self.bits], np.uint32), F32)
        n, e = int(parts.significand[0]), int(parts.exponent[0])
        is_inf, is_nan = bool(parts.is_inf[0]), bool(parts.is_nan[0])
        if self.kind is TensorScaleKind.DIVISOR:
            if is_inf or n == 0:
                return Ratio(numerator=0, is_inf=n == 0, is_nan=is_nan)
            return Ratio(exponent=-e, denominator=n, is_nan=is_nan)
        below = (1, 0)
        if self.kind in (TensorScaleKind.AMAX, TensorScaleKind.AMAX_256):
            (m, f), (c, g) = _largest(fmt.element), _largest(fmt.scale)
            if self.kind is TensorScaleKind.AMAX_256:
                c, g = 1, 8
            below = (m * c, f + g)
        return Ratio(n, e - below[1], below[0], is_inf=is_inf, is_nan=is_nan)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A tensor's scale as numerator * 2**exponent / denominator, or infinity or NaN."""

    numerator: int = 1
    exponent: int = 0
    denominator: int = 1
    is_inf: bool = False
    is_nan: bool = False

    def times(self, scale: Parts) -> Parts:
        """Scales times the ratio's numerator; the caller divides by the denominator."""
        zero = scale.significand == 0
        return dataclasses.replace(
            scale,
            significand=scale.significand * self.numerator,
            exponent=scale.exponent + self.exponent,
            is_inf=scale.is_inf | (self.is_inf & ~zero & ~scale.is_nan),
            is_nan=scale.is_nan | self.is_nan | (self.is_inf & zero),
        )


def tensor_scale(amax: int, layout: FloatLayout, fmt: BlockFormat) -> TensorScale:
    """The exact arithmetic's scale of a tensor: amax / (largest element * largest scale).

    Rounded to float32; 1 for a tensor of zeros, and always a positive finite number.

    >>> from mxref import formats
    >>> tensor_scale(0x45280000, F32, formats.block_format("nvfp4"))  # 2688
    TensorScale(bits=1065353216, kind=<TensorScaleKind.FACTOR: 'factor'>)
    """
    parts = split(np.array([amax], layout.uint), layout)
    if not parts.significand[0]:
        return TensorScale(_ONE)
    top = tuple(zip(_largest(fmt.element), _largest(fmt.scale), strict=True))
    ratio = quotient(parts, np.int64(top[0][0] * top[0][1]), np.int64(sum(top[1])))
    return TensorScale(min(max(1, int(compose(ratio, F32)[0])), F32.inf_bits - 1))


def block_scales(amax: Parts, fmt: BlockFormat, tensor: TensorScale | None) -> I64:
    """The exact arithmetic's scale codes: amax / (largest element * tensor scale), rounded once."""
    n, e = _largest(fmt.element)
    m, f = _factor(tensor, fmt)
    ratio = quotient(amax, np.int64(n * m), np.int64(e + f))
    codes: I64 = encode_parts(ratio, fmt.scale, ElementPolicy(), None).astype(np.int64)
    return codes


def scaled(parts: Parts, codes: I64, fmt: BlockFormat, tensor: TensorScale | None) -> Parts:
    """Numbers, one block a row, divided by their block's scale; a scale of 0 counts as 1."""
    scale = every_code(fmt.scale)
    m, f = _factor(tensor, fmt)
    significand = np.maximum(scale.significand, 1) * m
    exponent = scale.exponent + f
    return quotient(parts, significand[codes, np.newaxis], exponent[codes, np.newaxis])


def quotient(parts: Parts, significand: I64 | np.int64, exponent: I64 | np.int64) -> Parts:
    """Numbers divided by significand * 2**exponent (1 to 2**32 - 1), rounded to odd.

    The quotient has 49 bits or more and its last one is sticky, so it rounds to every format of at
    most 47 bits as the exact one does. Two divisions, since one of int64 gives 29 bits.
    """
    up = 61 - floor_log2(parts.significand)
    divisor_up = _DIVISOR_BITS - 1 - floor_log2(np.asarray(significand, np.int64))
    divisor = significand << divisor_up
    whole, rest = np.divmod(parts.significand << up, divisor)
    more, rest = np.divmod(rest << _MORE_BITS, divisor)
    return dataclasses.replace(
        parts,
        significand=whole << _MORE_BITS | more | (rest != 0),
        exponent=parts.exponent - up - _MORE_BITS - (exponent - divisor_up),
    )


def _largest(fmt: CodeFormat) -> tuple[int, int]:
    """Significand and exponent of a format's largest number, without trailing zero bits."""
    n, e = fmt.magnitude_parts(fmt.max_code)
    zeros = (n & -n).bit_length() - 1
    return n >> zeros, e + zeros


def _factor(tensor: TensorScale | None, fmt: BlockFormat) -> tuple[int, int]:
    if tensor is None:
        return 1, 0
    ratio = tensor.ratio(fmt)
    return ratio.numerator, ratio.exponent
