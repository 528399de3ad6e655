"""Code and element formats: fields, ranges and special codes, derived from defining constants."""

from __future__ import annotations

import enum
import functools
import math
import operator
from dataclasses import dataclass
from functools import cached_property
from typing import SupportsIndex

from mxref.support.integers import integer


class Specials(enum.Enum):
    """Which codes of a format are not numbers."""

    __hash__ = object.__hash__  # Enum's own is slow, and formats are keys of tables

    NONE = "none"  #: every code is a finite number
    TOP_CODE_NAN = "top_code_nan"  #: only the all-ones magnitude is NaN; no infinity
    IEEE = "ieee"  #: the all-ones exponent holds infinity (fraction 0) and NaN
    FNUZ = "fnuz"  #: the code that would be -0 is NaN; no infinity
    P3109 = "p3109"  #: the code that would be -0 is NaN; the all-ones magnitude is infinity
    INF_BELOW_NAN = "inf_below_nan"  #: the all-ones magnitude is NaN, the one below it infinity


#: The largest bias of a format of at most 8 bits, and of a wider one. float64 holds the numbers of
#: the former and their quotients.
_LARGEST_BIAS = 300, 1 << 12


@dataclass(frozen=True)
class CodeFormat:
    """Base of element and scale formats: a magnitude of exponent and fraction bits.

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

    def __post_init__(self) -> None:
        for name in ("exponent_bits", "mantissa_bits", "bias"):
            object.__setattr__(self, name, integer(getattr(self, name), name))
        most = _LARGEST_BIAS[self.bits > 8]
        if min(self.exponent_bits, self.mantissa_bits) < 0 or abs(self.bias) > most:
            raise ValueError(
                f"{self.name} must have fields of no negative width and a bias within {most}, got "
                f"{self.exponent_bits}, {self.mantissa_bits} and {self.bias}"
            )
        if not isinstance(self.specials, Specials):
            raise TypeError(f"specials must be a Specials, got {self.specials!r}")
        if self.specials is Specials.IEEE and not self.mantissa_bits:
            raise ValueError(
                f"mantissa_bits must be at least 1 for infinity and NaN in {self.name}"
            )
        if self.max_code < self.subnormals:
            raise ValueError(f"{self.name} must have a number above zero: give it more bits")

    def __hash__(self) -> int:
        """By the fields that tell formats apart nearly always: formats are keys of tables."""
        return hash((self.name, self.exponent_bits, self.mantissa_bits, self.bias))

    @cached_property
    def bits(self) -> int:
        """Width of a code in bits."""
        return self.signed + self.exponent_bits + self.mantissa_bits

    @cached_property
    def code_count(self) -> int:
        """Number of codes, 2**bits."""
        return 1 << self.bits

    @cached_property
    def sign_bit(self) -> int:
        """The code's sign bit as a mask; 0 for an unsigned format."""
        return self.code_count >> 1 if self.signed else 0

    @property
    def has_negative_zero(self) -> bool:
        """Whether zero has two codes."""
        integer = self.sign_and_magnitude(self.sign_bit)[1] != 0
        return self.signed and self.nan_code != self.sign_bit and not integer

    @cached_property
    def emin(self) -> int:
        """Exponent of the smallest normal number."""
        return (1 if self.subnormals else 0) - self.bias

    @cached_property
    def emax(self) -> int:
        """Exponent of the largest power of two that the format holds (emax_elem of MX 6.3)."""
        return self._exponent(self.max_code)

    @cached_property
    def max_code(self) -> int:
        """Code of the largest finite number."""
        if self.specials is Specials.IEEE:
            return self._top - (1 << self.mantissa_bits)
        if self.specials is Specials.INF_BELOW_NAN:
            return self._top - 2
        return self._top - (self.specials in (Specials.TOP_CODE_NAN, Specials.P3109))

    @property
    def inf_code(self) -> int | None:
        """Code of +infinity, or None."""
        with_inf = (Specials.IEEE, Specials.P3109, Specials.INF_BELOW_NAN)
        return self.max_code + 1 if self.specials in with_inf else None

    @cached_property
    def nan_code(self) -> int | None:
        """The NaN code that `ocp` writes: all ones, sign clear, if that is a NaN; or None.

        Source: SPEC_NOTES N13.
        """
        if self.specials is Specials.NONE:
            return None
        return self.sign_bit if self._nan_is_minus_zero else self._top

    @property
    def nan_codes(self) -> tuple[int, ...]:
        """Every code that reads as NaN; for formats of few bits."""
        return _nan_codes(self)

    def is_nan(self, code: int) -> bool:
        """Whether a code reads as NaN.

        >>> from mxref.formats.catalog import E4M3
        >>> E4M3.is_nan(0x7F), E4M3.is_nan(0x7E)
        (True, False)
        """
        code = operator.index(code)
        if self.specials is Specials.NONE:
            return False
        if self._nan_is_minus_zero:
            return code == self.sign_bit
        return self.max_code < code & ~self.sign_bit != self.inf_code

    @property
    def _top(self) -> int:
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @property
    def _nan_is_minus_zero(self) -> bool:
        return self.specials in (Specials.FNUZ, Specials.P3109)

    @cached_property
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
        return self.value((1 << self.mantissa_bits) - 1) if self._has_subnormals else None

    @property
    def min_subnormal(self) -> float | None:
        """Smallest positive subnormal number, or None where the format has none."""
        return self.value(1) if self._has_subnormals else None

    @property
    def _has_subnormals(self) -> bool:
        return self.subnormals and self.mantissa_bits > 0

    def _exponent(self, magnitude: int) -> int:
        return max((magnitude >> self.mantissa_bits) - self.bias, self.emin)

    def sign_and_magnitude(self, code: int) -> tuple[bool, int]:
        """Sign and magnitude of a code."""
        code = operator.index(code)
        return bool(code & self.sign_bit), code & ~self.sign_bit

    def magnitude_parts(self, magnitude: int) -> tuple[int, int]:
        """Integers (n, q) with magnitude value ``n * 2**q``; specials as if they were numbers.

        >>> from mxref.formats.catalog import E2M1
        >>> E2M1.magnitude_parts(7)  # 6 = 3 * 2**1
        (3, 1)
        """
        m = self.mantissa_bits
        field, fraction = magnitude >> m, magnitude & ((1 << m) - 1)
        hidden = 0 if self.subnormals and field == 0 else 1 << m
        return hidden + fraction, max(field - self.bias, self.emin) - m

    def value(self, code: SupportsIndex) -> float:
        """The number that a code stands for; exact.

        >>> from mxref.formats.catalog import E2M1, E4M3, INT8
        >>> E4M3.value(0x7E), E2M1.value(0x9), INT8.value(0x80)
        (448.0, -0.5, -2.0)

        Raises:
            ValueError: the code is outside [0, 2**bits).
        Source: OCP MX v1.0 5.3; OFP8 Rev 1.0 4.2.
        """
        code = operator.index(code)  # a NumPy integer would wrap around below
        if not 0 <= code < self.code_count:
            raise ValueError(
                f"code must be in [0, {self.code_count - 1}] for {self.name}, got {code}"
            )
        negative, magnitude = self.sign_and_magnitude(code)
        if self.is_nan(code):
            result = math.nan
        elif magnitude == self.inf_code:
            result = math.inf
        else:
            result = math.ldexp(*self.magnitude_parts(magnitude))
        return -result if negative else result


@dataclass(frozen=True)
class ElementFormat(CodeFormat):
    """An MX element format: what the elements of a block are encoded in.

    INT8 is two's complement with an implicit scale of 2**-6. Its magnitude is that of a format with
    one exponent bit, six fraction bits and bias 1, so only the sign is written differently.

    >>> from mxref.formats.catalog import E4M3
    >>> E4M3.max_normal, E4M3.emax, E4M3.bits, E4M3.nan_codes
    (448.0, 8, 8, (127, 255))

    Source: OCP MX v1.0 5.3, Tables 2 to 6; OFP8 Rev 1.0 Table 1.
    """

    twos_complement: bool = False

    __hash__ = CodeFormat.__hash__  # else a dataclass makes one of all fields

    def sign_and_magnitude(self, code: int) -> tuple[bool, int]:
        """Sign and magnitude of a code."""
        code = operator.index(code)
        if self.twos_complement and code & self.sign_bit:
            return True, self.code_count - code
        return CodeFormat.sign_and_magnitude(self, code)


@functools.cache
def _nan_codes(fmt: CodeFormat) -> tuple[int, ...]:
    return tuple(code for code in range(fmt.code_count) if fmt.is_nan(code))
