"""The OCP element, scale and block formats, from their defining constants.

Only what a standard defines is stored; every other property is derived from it. Values are Python
floats (binary64), in which every value of every format here is exact.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from mxref._text import unknown_name

__all__ = [
    "BLOCK_FORMATS",
    "E2M1",
    "E2M3",
    "E3M2",
    "E4M3",
    "E5M2",
    "E8M0",
    "ELEMENT_FORMATS",
    "INT8",
    "SCALE_FORMATS",
    "BlockFormat",
    "ElementFormat",
    "ScaleFormat",
    "Specials",
    "block_format",
    "element_format",
    "scale_format",
]


_F = TypeVar("_F")


class Specials(enum.Enum):
    """Which codes of a format are not numbers."""

    NONE = "none"  #: every code is a finite number
    TOP_CODE_NAN = "top_code_nan"  #: only the all-ones magnitude is NaN; no infinity
    IEEE = "ieee"  #: the all-ones exponent holds infinity (fraction 0) and NaN


@dataclass(frozen=True, slots=True)
class _CodeFormat:
    """What element and scale formats share: a magnitude of exponent and fraction bits.

    A magnitude code c stands for ``n * 2**q``, with E and M its fields: ``n = 2**m + M`` and
    ``q = E - bias - m``, or ``n = M`` and ``q = 1 - bias - m`` where E = 0 is subnormal.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    specials: Specials = Specials.NONE
    subnormals: bool = True  #: E = 0 holds zero and the subnormal numbers
    signed: bool = True
    dtype_name: str | None = None  #: the NumPy or ml_dtypes type with these bit patterns

    @property
    def bits(self) -> int:
        """Width of a code in bits."""
        return self.signed + self.exponent_bits + self.mantissa_bits

    @property
    def code_count(self) -> int:
        """Number of codes, 2**bits."""
        return 1 << self.bits

    @property
    def sign_bit(self) -> int:
        """The code's sign bit as a mask; 0 for an unsigned format."""
        return self.code_count >> 1 if self.signed else 0

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number."""
        return (1 if self.subnormals else 0) - self.bias

    @property
    def emax(self) -> int:
        """Exponent of the largest power of two that the format holds (emax_elem of MX §6.3)."""
        return self._exponent(self.max_code)

    @property
    def max_code(self) -> int:
        """Code of the largest finite number."""
        top = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        if self.specials is Specials.IEEE:
            return top - (1 << self.mantissa_bits)
        return top - (self.specials is Specials.TOP_CODE_NAN)

    @property
    def inf_code(self) -> int | None:
        """Code of +infinity, or None."""
        return self.max_code + 1 if self.specials is Specials.IEEE else None

    @property
    def nan_code(self) -> int | None:
        """The NaN code that mxref writes: all ones, sign clear; or None. Source: SPEC_NOTES N13."""
        if self.specials is Specials.NONE:
            return None
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @property
    def nan_codes(self) -> tuple[int, ...]:
        """Every code that reads as NaN."""
        if self.nan_code is None:
            return ()
        first = self.max_code + (2 if self.specials is Specials.IEEE else 1)
        positive = tuple(range(first, self.nan_code + 1))
        return positive + tuple(c | self.sign_bit for c in positive if self.signed)

    @property
    def max_normal(self) -> float:
        """Largest finite number."""
        return self.value(self.max_code)

    @property
    def min_normal(self) -> float:
        """Smallest positive normal number, 2**emin."""
        return math.ldexp(1.0, self.emin)

    @property
    def max_subnormal(self) -> float | None:
        """Largest subnormal number, or None where the format has none."""
        return self.value((1 << self.mantissa_bits) - 1) if self.subnormals else None

    @property
    def min_subnormal(self) -> float | None:
        """Smallest positive subnormal number, or None where the format has none."""
        return self.value(1) if self.subnormals else None

    def _exponent(self, magnitude: int) -> int:
        return max((magnitude >> self.mantissa_bits) - self.bias, self.emin)

    def sign_and_magnitude(self, code: int) -> tuple[bool, int]:
        """Sign and magnitude of a code."""
        return bool(code & self.sign_bit), code & ~self.sign_bit

    def magnitude_parts(self, magnitude: int) -> tuple[int, int]:
        """Integers (n, q) with magnitude value ``n * 2**q``; specials read as if numbers.

        >>> E2M1.magnitude_parts(7)  # 6 = 3 * 2**1
        (3, 1)
        """
        m = self.mantissa_bits
        field, fraction = magnitude >> m, magnitude & ((1 << m) - 1)
        hidden = 0 if self.subnormals and field == 0 else 1 << m
        return hidden + fraction, max(field - self.bias, self.emin) - m

    def value(self, code: int) -> float:
        """The number that a code stands for; exact.

        >>> E4M3.value(0x7E), E2M1.value(0x9), INT8.value(0x80)
        (448.0, -0.5, -2.0)

        Raises:
            ValueError: the code is outside [0, 2**bits).
        Source: OCP MX v1.0 §5.3; OFP8 Rev 1.0 §4.2.
        """
        if not 0 <= code < self.code_count:
            raise ValueError(
                f"code must be in [0, {self.code_count - 1}] for {self.name}, got {code}"
            )
        negative, magnitude = self.sign_and_magnitude(code)
        if magnitude > self.max_code and self.specials is not Specials.NONE:
            result = math.inf if magnitude == self.inf_code else math.nan
        else:
            result = math.ldexp(*self.magnitude_parts(magnitude))
        return -result if negative else result


@dataclass(frozen=True, slots=True)
class ElementFormat(_CodeFormat):
    """An MX element format: what the elements of a block are encoded in.

    INT8 is two's complement with an implicit scale of 2**-6. Its magnitude is that of a format with
    one exponent bit, six fraction bits and bias 1, so only the sign is written differently.

    >>> E4M3.max_normal, E4M3.emax, E4M3.bits, E4M3.nan_codes
    (448.0, 8, 8, (127, 255))

    Source: OCP MX v1.0 §5.3, Tables 2 to 6; OFP8 Rev 1.0 Table 1.
    """

    twos_complement: bool = False

    def sign_and_magnitude(self, code: int) -> tuple[bool, int]:
        """Sign and magnitude of a code."""
        if self.twos_complement and code & self.sign_bit:
            return True, self.code_count - code
        return _CodeFormat.sign_and_magnitude(self, code)


@dataclass(frozen=True, slots=True)
class ScaleFormat(_CodeFormat):
    """A format for the scale that the elements of a block share. It has no sign.

    >>> E8M0.value(0x00) == 2.0**-127, E8M0.value(0xFE) == 2.0**127, E8M0.nan_codes
    (True, True, (255,))

    Source: OCP MX v1.0 §5.4.1, Table 7.
    """

    signed: bool = False


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """A block format: an element format, a scale format and a block size.

    Args:
        name: the name used by functions, vectors and the command line.
        element: format of the elements.
        scale: format of the shared scale.
        block_size: elements that share one scale, at least 1.
        tensor_scale: True where a float32 scale of the whole tensor multiplies every block
            (two-level formats such as NVFP4); none of the six concrete MX formats has one.

    >>> mxfp4 = block_format("mxfp4_e2m1")
    >>> mxfp4.element.name, mxfp4.scale.name, mxfp4.block_size, mxfp4.bits_per_block
    ('e2m1', 'e8m0', 32, 136)

    Raises:
        ValueError: block_size is below 1.
    Source: OCP MX v1.0 §5.1, §5.2 Table 1.
    """

    name: str
    element: ElementFormat
    scale: ScaleFormat
    block_size: int
    tensor_scale: bool = False

    def __post_init__(self) -> None:
        if self.block_size < 1:
            raise ValueError(f"block_size must be at least 1, got {self.block_size}")

    @property
    def bits_per_block(self) -> int:
        """Bits of one block: w + k * d of MX §5.1."""
        return self.scale.bits + self.block_size * self.element.bits


E5M2 = ElementFormat("e5m2", 5, 2, 15, Specials.IEEE, dtype_name="float8_e5m2")
E4M3 = ElementFormat("e4m3", 4, 3, 7, Specials.TOP_CODE_NAN, dtype_name="float8_e4m3fn")
E3M2 = ElementFormat("e3m2", 3, 2, 3, dtype_name="float6_e3m2fn")
E2M3 = ElementFormat("e2m3", 2, 3, 1, dtype_name="float6_e2m3fn")
E2M1 = ElementFormat("e2m1", 2, 1, 1, dtype_name="float4_e2m1fn")
INT8 = ElementFormat("int8", 1, 6, 1, twos_complement=True, dtype_name="int8")
E8M0 = ScaleFormat(
    "e8m0", 8, 0, 127, Specials.TOP_CODE_NAN, subnormals=False, dtype_name="float8_e8m0fnu"
)

#: Element formats by name, in the order of the standard.
ELEMENT_FORMATS: Mapping[str, ElementFormat] = {
    f.name: f for f in (E5M2, E4M3, E3M2, E2M3, E2M1, INT8)
}
#: Scale formats by name.
SCALE_FORMATS: Mapping[str, ScaleFormat] = {E8M0.name: E8M0}
#: The six concrete MX formats by name. Source: OCP MX v1.0 Table 1.
BLOCK_FORMATS: Mapping[str, BlockFormat] = {
    name: BlockFormat(name, element, E8M0, 32)
    for name, element in (
        ("mxfp8_e5m2", E5M2),
        ("mxfp8_e4m3", E4M3),
        ("mxfp6_e3m2", E3M2),
        ("mxfp6_e2m3", E2M3),
        ("mxfp4_e2m1", E2M1),
        ("mxint8", INT8),
    )
}


def element_format(name: str | ElementFormat) -> ElementFormat:
    """The element format of that name; an `ElementFormat` is returned as it is.

    >>> element_format("e2m1").max_normal
    6.0

    Raises:
        ValueError: the name is unknown; the sentence suggests the nearest one.
        TypeError: neither a string nor an `ElementFormat`.
    """
    if isinstance(name, ElementFormat):
        return name
    if isinstance(name, str) and name in BLOCK_FORMATS:
        wanted = BLOCK_FORMATS[name].element.name
        raise ValueError(
            f"format must be an element format, got the block format {name!r}: use {wanted!r}"
        )
    return _look_up("format", name, ELEMENT_FORMATS)


def scale_format(name: str | ScaleFormat) -> ScaleFormat:
    """The scale format of that name; a `ScaleFormat` is returned as it is.

    >>> scale_format("e8m0").bias
    127

    Raises:
        ValueError: the name is unknown.
        TypeError: neither a string nor a `ScaleFormat`.
    """
    if isinstance(name, ScaleFormat):
        return name
    return _look_up("format", name, SCALE_FORMATS)


def block_format(name: str | BlockFormat) -> BlockFormat:
    """The block format of that name; a `BlockFormat` is returned as it is.

    >>> block_format("mxint8").element.name
    'int8'

    Raises:
        ValueError: the name is unknown; for an element format the sentence names its block format.
        TypeError: neither a string nor a `BlockFormat`.
    """
    if isinstance(name, BlockFormat):
        return name
    if isinstance(name, str) and name in ELEMENT_FORMATS:
        wanted = next(b.name for b in BLOCK_FORMATS.values() if b.element.name == name)
        raise ValueError(
            f"block_format must be a block format, got the element format {name!r}: use {wanted!r}"
        )
    return _look_up("block_format", name, BLOCK_FORMATS)


def _look_up(parameter: str, name: object, known: Mapping[str, _F]) -> _F:
    if not isinstance(name, str):
        raise TypeError(f"{parameter} must be a name or a format object, got {type(name).__name__}")
    if name not in known:
        raise ValueError(unknown_name(parameter, name, known))
    return known[name]
