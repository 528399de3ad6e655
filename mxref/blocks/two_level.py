"""Scales that are not powers of two: a small float for each block, and one for the whole tensor.

The two-level formats (NVFP4) have no standard. `exact` is their mathematics, rounded once a step;
the named arithmetics are the formulas of implementations, float32 operation by operation.
Source: SPEC_NOTES N41, N42.
"""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, normal_pattern, wide
from mxref.bits.floats import (
    F32,
    Bool,
    Parts,
    bits_of,
    compose,
    split,
)
from mxref.formats.catalog import BlockFormat, CodeFormat


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
    def of(cls, given: Any, kind: TensorScaleKind) -> TensorScale:
        """The tensor scale that is a given number of this kind.

        Raises:
            TypeError: no number.
            ValueError: a number that float32 does not hold or that is not positive.

        >>> TensorScale.of(0.5, TensorScaleKind.DIVISOR).value
        0.5
        """
        pattern = normal_pattern(float(given)) if isinstance(given, float | np.float32) else 0
        if pattern:
            return cls(pattern, kind)
        bits, good = held(given)
        if bits.size != 1 or not good.all():
            fits = bits.size == 1 and 0 < bits.flat[0] < F32.inf_bits
            hint = f": pass numpy.float32({given})" if fits and isinstance(given, float) else ""
            raise ValueError(
                f"tensor_scale must be one positive finite float32 number, got {given!r}{hint}"
            )
        return cls(int(bits.flat[0]), kind)

    @property
    def value(self) -> float:
        """The number."""
        return float(wide(np.array([self.bits], np.uint32), F32)[0])

    @property
    def numbers(self) -> F64Array:
        """The number as an array of one, as `RowScales` have one for each row."""
        return wide(np.array([self.bits], np.uint32), F32)

    def ratio(self, fmt: BlockFormat) -> Ratio:
        """The factor of element times scale."""
        one = Ratio.of(np.array([self.bits], np.uint32), self.kind, fmt)
        n, e, d, is_inf, is_nan = (np.ravel(one_of)[0].item() for one_of in one)
        return Ratio(n, e, d, is_inf, is_nan)

    def __str__(self) -> str:
        """Pattern, number and kind."""
        return f"tensor scale {self.bits:08x} = {self.value} ({self.kind.value})"

    def transpose(self, order: tuple[int, ...]) -> TensorScale:
        """The scale of a transposed tensor."""
        return self

    def indexed(self, index: tuple[int | slice, ...], axes: tuple[int, ...]) -> TensorScale:
        """The scale of a part of the tensor."""
        return self

    def part(self, counts: tuple[int, ...], some: tuple[slice, ...]) -> TensorScale:
        """The scale of some of the tensor's blocks."""
        return self

    def at(self, blocks: Bool) -> TensorScale:
        """The scale of some blocks of a part."""
        return self


@dataclass(frozen=True, slots=True, eq=False)
class RowScales:
    """The float32 scales of the rows of a tensor, in place of its one `TensorScale`.

    Args:
        bits: float32 patterns without sign, with an axis for each of the tensor's: of length 1
            along the axes of blocks, of the tensor's length or 1 along the others.
        kind: how they enter the values of elements.

    >>> RowScales(np.uint32([[0x3F000000], [0x40000000]])).value.tolist()
    [[0.5], [2.0]]

    Raises:
        TypeError: patterns of another dtype than uint32.
        ValueError: a pattern out of range, or an unknown kind.
    """

    bits: NDArray[np.uint32]
    kind: TensorScaleKind = TensorScaleKind.FACTOR

    def __post_init__(self) -> None:
        dtype = getattr(self.bits, "dtype", type(self.bits).__name__)
        if dtype != np.uint32:
            raise TypeError(f"bits must be an array of uint32, got {dtype}")
        if (self.bits >= F32.sign_bit).any():
            got = int(self.bits.max())
            raise ValueError(f"bits must be float32 patterns without sign, got {got:#x}")
        bits = np.array(self.bits)
        bits.flags.writeable = False
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "kind", TensorScaleKind(self.kind))

    def __reduce__(self) -> tuple[type[RowScales], tuple[object, ...]]:
        """Copies and unpickled scales are checked and read-only."""
        return RowScales, (self.bits, self.kind)

    def __eq__(self, other: object) -> bool:
        """Whether these are the same patterns of the same kind, in the same shape."""
        if not isinstance(other, RowScales):
            return NotImplemented
        return self.kind is other.kind and np.array_equal(self.bits, other.bits)

    @property
    def value(self) -> F64Array:
        """The numbers, in the shape of the patterns."""
        return wide(self.bits, F32)

    @property
    def numbers(self) -> F64Array:
        """The numbers of a part, one for each of its blocks."""
        return self.value

    def ratio(self, fmt: BlockFormat) -> Ratio:
        """The factors of element times scale."""
        return Ratio.of(self.bits, self.kind, fmt)

    def __str__(self) -> str:
        """Their shape, the least and the largest, and their kind."""
        values = np.ravel(self.value)
        ends = f" from {values.min()} to {values.max()}" if values.size else ""
        return f"tensor scales of rows {self.bits.shape}{ends} ({self.kind.value})"

    def transpose(self, order: tuple[int, ...]) -> RowScales:
        """The scales of a transposed tensor."""
        return RowScales(self.bits.transpose(order), self.kind)

    def indexed(self, index: tuple[int | slice, ...], axes: tuple[int, ...]) -> TensorScales:
        """The scales of a part of the tensor, which has blocks along some axes."""
        own: list[int | slice] = []
        for axis, (one, length) in enumerate(zip(index, self.bits.shape, strict=False)):
            same = axis in axes or length == 1
            own.append((slice(None) if isinstance(one, slice) else 0) if same else one)
        return one_or_rows(self.bits[tuple(own)], self.kind)

    def part(self, counts: tuple[int, ...], some: tuple[slice, ...]) -> RowScales:
        """A scale for each of some of the tensor's blocks, of which there are so many."""
        return RowScales(np.broadcast_to(self.bits, counts)[some].reshape(-1), self.kind)

    def at(self, blocks: Bool) -> RowScales:
        """The scales of some blocks of a part."""
        return RowScales(self.bits[blocks.reshape(-1)], self.kind)


#: What stands for the scale of a tensor.
TensorScales = TensorScale | RowScales


def one_or_rows(bits: NDArray[np.uint32], kind: TensorScaleKind) -> TensorScales:
    """The scales of rows, of which a single one is the scale of the whole tensor."""
    return TensorScale(int(bits.flat[0]), kind) if bits.size == 1 else RowScales(bits, kind)


class Ratio(NamedTuple):
    """Scales of tensors as numerator * 2**exponent / denominator, or infinity or NaN."""

    numerator: Any = 1
    exponent: Any = 0
    denominator: Any = 1
    is_inf: Any = False
    is_nan: Any = False

    @classmethod
    def of(cls, bits: NDArray[np.uint32], kind: TensorScaleKind, fmt: BlockFormat) -> Ratio:
        """The factors that stored numbers of a kind stand for."""
        parts = split(bits, F32)
        n, e, zero = parts.significand, parts.exponent, parts.significand == 0
        if kind is TensorScaleKind.DIVISOR:
            gone = zero | parts.is_inf
            up, down = np.where(gone, 0, 1), np.where(gone, 1, n)
            return cls(up, np.where(gone, 0, -e), down, zero, parts.is_nan)
        m, f = 1, 0
        if kind in (TensorScaleKind.AMAX, TensorScaleKind.AMAX_256):
            (m, f), (c, g) = largest_number(fmt.element), largest_number(fmt.scale)
            if kind is TensorScaleKind.AMAX_256:
                c, g = 1, 8
            m, f = m * c, f + g
        return cls(n, e - f, m, parts.is_inf, parts.is_nan)

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


def held(given: Any) -> tuple[NDArray[np.uint32], Bool]:
    """The nearest float32 patterns of given numbers, and which are positive, finite and exact.

    Raises:
        TypeError: no numbers.
    """
    try:
        if isinstance(given, bool):
            raise TypeError
        whole = isinstance(given, (int, np.integer))
        number: Any = float(given) if whole or isinstance(given, float) else given
        bits, layout = bits_of(number)
    except (TypeError, OverflowError):
        raise TypeError(
            "tensor_scale must be a TensorScale or a number that a float holds, "
            f"got {type(given).__name__}"
        ) from None
    narrow = compose(split(bits, layout), F32)
    same = (compose(split(narrow, F32), layout) == bits) & (not whole or number == int(given))
    return narrow, same & (narrow > 0) & (narrow < F32.inf_bits)


def largest_number(fmt: CodeFormat) -> tuple[int, int]:
    """Significand and exponent of a format's largest number, without trailing zero bits."""
    n, e = fmt.magnitude_parts(fmt.max_code)
    zeros = (n & -n).bit_length() - 1
    return n >> zeros, e + zeros
