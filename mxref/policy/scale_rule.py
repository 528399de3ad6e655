"""Scale rules: every one is a limit that amax / scale may not exceed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from mxref.formats.catalog import ElementFormat
from mxref.policy.choice import CONTRADICTS, PERMITTED, RECOMMENDED, Choice


@dataclass(frozen=True, slots=True)
class ScaleLimit:
    """The largest amax / scale that a scale rule allows: up to `limit`, and that too if `closed`.

    Args:
        limit: the limit, or its square if `root`.
        closed: whether amax / scale may equal the limit.
        root: whether the limit is the square root of `limit`.

    >>> ScaleLimit(Fraction(448), closed=True).threshold(3)  # 1.75 is the last one that fits
    (8, 15)
    """

    limit: Fraction
    closed: bool
    root: bool = False

    def threshold(self, bits: int) -> tuple[int, int]:
        """The limit's binade F, and the first significand in units of 2**-bits that is too large.

        With amax = p * 2**E and the limit l * 2**F, both significands in [1, 2), the smallest k
        with amax / 2**k within the limit is E - F, or one more if p is too large, that is if
        p > l, or p = l where the limit is not closed.
        """
        power = 2 if self.root else 1
        binade = 0
        while self.limit >= Fraction(2) ** ((binade + 1) * power):
            binade += 1
        while self.limit < Fraction(2) ** (binade * power):
            binade -= 1
        # The significand times 2**bits, or its square, and the largest integer not above it.
        scaled = self.limit * Fraction(2) ** ((bits - binade) * power)
        whole = scaled.numerator // scaled.denominator
        below = math.isqrt(whole) if self.root else whole
        exact = below**power == scaled
        return binade, below if exact and not self.closed else below + 1


class ScaleRule(Choice):
    """How a block's largest magnitude gives its scale: the smallest one within a limit.

    Source: OCP MX v1.0 6.3, which recommends FLOOR and permits others; SPEC_NOTES N1, N2, N19.
    """

    FLOOR = "floor", RECOMMENDED  #: floor(log2 amax) - emax: amax / scale < 2**(emax + 1)
    CEIL = "ceil", PERMITTED  #: amax / scale <= 2**emax
    RCEIL = "rceil", PERMITTED  #: amax / scale <= max: no element is beyond the largest number
    EVEN = "even", PERMITTED  #: amax rounded to the element's precision, ties away, then FLOOR
    TOSA = "tosa", PERMITTED  #: no element rounds (ties to even) past the largest number
    NEAREST = "nearest", PERMITTED  #: the power of two nearest to amax / max, a midpoint up
    NEAREST_LOG2 = "nearest_log2", PERMITTED  #: log2(amax / max) to the nearest integer
    NEAREST_LOG2_POWER = "nearest_log2_power", PERMITTED  #: of log2(amax / 2**emax)
    # Rules of implementations that compute in float32 and miss the exact rule.
    FLOOR_LOG2_FLOAT32 = "floor_log2_float32", CONTRADICTS  #: FLOOR with a rounded logarithm
    FLOOR_EXPONENT_FIELD = "floor_exponent_field", CONTRADICTS  #: FLOOR, subnormals as 2**-127
    RCEIL_RECIPROCAL = "rceil_reciprocal", PERMITTED  #: RCEIL of float32(amax * float32(1 / max))

    @property
    def is_quirk(self) -> bool:
        """Whether the rule computes in float32 instead of having an exact limit."""
        return self in (
            ScaleRule.FLOOR_LOG2_FLOAT32,
            ScaleRule.FLOOR_EXPONENT_FIELD,
            ScaleRule.RCEIL_RECIPROCAL,
        )

    def limit(self, fmt: ElementFormat) -> ScaleLimit:
        """The limit of amax / scale for elements of a format.

        >>> from mxref.formats.catalog import E4M3
        >>> ScaleRule.TOSA.limit(E4M3)  # 464 is a tie that rounds down, to 448
        ScaleLimit(limit=Fraction(464, 1), closed=True, root=False)
        """
        power = Fraction(2) ** fmt.emax
        largest = Fraction(fmt.max_normal)
        n, exponent = fmt.magnitude_parts(fmt.max_code + 1)  # as if there was a next number
        midpoint = (largest + n * Fraction(2) ** exponent) / 2
        match self:
            case ScaleRule.FLOOR:
                return ScaleLimit(2 * power, closed=False)
            case ScaleRule.CEIL:
                return ScaleLimit(power, closed=True)
            case ScaleRule.RCEIL:
                return ScaleLimit(largest, closed=True)
            case ScaleRule.EVEN:
                step = Fraction(1, 2 << fmt.mantissa_bits)
                return ScaleLimit((2 - step) * power, closed=False)
            case ScaleRule.TOSA:
                return ScaleLimit(midpoint, closed=fmt.max_code % 2 == 0)
            case ScaleRule.NEAREST:
                return ScaleLimit(largest * 3 / 2, closed=False)
            case ScaleRule.NEAREST_LOG2:
                return ScaleLimit(2 * largest**2, closed=False, root=True)
            case ScaleRule.NEAREST_LOG2_POWER:
                return ScaleLimit(2 * power**2, closed=False, root=True)
        raise ValueError(f"{self.value} has no limit, it is a quirk")
