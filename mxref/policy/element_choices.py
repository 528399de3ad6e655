"""Choices of encoding an element; see `mxref.policy.choices`."""

from __future__ import annotations

import numpy as np

from mxref.bits.floats import I64
from mxref.policy.choice import CONTRADICTS, PERMITTED, RECOMMENDED, REQUIRED, SILENT, Choice

__all__ = [
    "Clamp",
    "Int8Range",
    "NaN",
    "NaNToFinite",
    "Overflow",
    "PreRounding",
    "Rounding",
    "SubnormalInputs",
    "UnderflowSign",
    "ZeroSign",
]


class Rounding(Choice):
    """The neighbour that an inexact number is rounded to. Source: SPEC_NOTES N17, N18.

    The stochastic ones add random bits R of a width N to the part that is cut off, nu of a unit in
    the last place, and round the magnitude up where the sum reaches a whole unit.
    """

    TIES_TO_EVEN = "ties_to_even", REQUIRED  #: nearest, a tie to the even code
    TIES_TO_AWAY = "ties_to_away", PERMITTED  #: nearest, a tie away from zero
    TIES_TO_ZERO = "ties_to_zero", PERMITTED  #: nearest, a tie toward zero
    TOWARD_ZERO = "toward_zero", PERMITTED  #: truncation
    TOWARD_POSITIVE = "toward_positive", PERMITTED  #: the neighbour above
    TOWARD_NEGATIVE = "toward_negative", PERMITTED  #: the neighbour below
    TO_ODD = "to_odd", PERMITTED  #: the neighbour with the odd code
    STOCHASTIC_A = "stochastic_a", PERMITTED  #: floor(nu 2**N) + R reaches 2**N
    STOCHASTIC_B = "stochastic_b", PERMITTED  #: floor(nu 2**(N+1)) + 2R + 1 reaches 2**(N+1)
    STOCHASTIC_C = "stochastic_c", PERMITTED  #: round(nu 2**N) + R reaches 2**N

    @property
    def stochastic(self) -> bool:
        """Whether the rounding reads random bits."""
        return self in _STOCHASTIC

    def increments(self) -> I64:
        """The 16 round-up decisions that `mxref.bits.floats.round_to_code` looks up."""
        table = [
            self._rounds_up(
                negative=bool(i & 8), odd=bool(i & 4), half=bool(i & 2), rest=bool(i & 1)
            )
            for i in range(16)
        ]
        return np.array(table, np.int64)

    def _rounds_up(self, *, negative: bool, odd: bool, half: bool, rest: bool) -> bool:
        match self:
            case Rounding.TIES_TO_EVEN:
                return half and (rest or odd)
            case Rounding.TIES_TO_AWAY:
                return half
            case Rounding.TIES_TO_ZERO:
                return half and rest
            case Rounding.TOWARD_ZERO:
                return False
            case Rounding.TOWARD_POSITIVE:
                return (half or rest) and not negative
            case Rounding.TOWARD_NEGATIVE:
                return (half or rest) and negative
            case Rounding.TO_ODD:
                return (half or rest) and not odd
        raise ValueError(f"{self.value} needs random bits")


_STOCHASTIC = {Rounding.STOCHASTIC_A, Rounding.STOCHASTIC_B, Rounding.STOCHASTIC_C}


class Overflow(Choice):
    """The result for numbers that round past the largest one, and for infinities.

    "Special" is infinity, or else NaN, or else the largest number: what the format has.
    Source: OCP MX v1.0 5.3.1 Table 3; SPEC_NOTES N11, N12, N37, N39.
    """

    SATURATE = "saturate", REQUIRED  #: the largest number, sign kept
    NONSATURATING = "nonsaturating", REQUIRED  #: special, for every rounding
    NONSATURATING_IEEE = "nonsaturating_ieee", PERMITTED  #: largest number if rounding toward zero
    PROPAGATE = "propagate", PERMITTED  #: finite numbers as `saturate`, infinities as special


class Clamp(Choice):
    """The test for numbers that are too large. Source: SPEC_NOTES N10."""

    AFTER_ROUNDING = "after_rounding", REQUIRED  #: if it rounds past the largest number
    BEFORE_ROUNDING = "before_rounding", CONTRADICTS  #: if it is beyond the largest number


class NaN(Choice):
    """The NaN code that is written where a format has several. Source: SPEC_NOTES N13."""

    POSITIVE = "positive", PERMITTED  #: all ones, sign clear
    SIGNED = "signed", PERMITTED  #: all ones, sign of the input
    NEGATIVE = "negative", PERMITTED  #: all ones, sign set
    SIGNED_QUIET = "signed_quiet", PERMITTED  #: as signed; E5M2 and the like: 7E


class NaNToFinite(Choice):
    """The result for NaN in a format without NaN. Source: SPEC_NOTES N14."""

    MAX = "max", PERMITTED  #: the largest number
    SIGNED_MAX = "signed_max", PERMITTED  #: the largest number with the sign of the NaN
    ZERO = "zero", PERMITTED  #: +0
    SIGNED_ZERO = "signed_zero", PERMITTED  #: zero with the sign of the NaN
    OPPOSITE_ZERO = "opposite_zero", PERMITTED  #: zero with the other sign
    ERROR = "error", PERMITTED  #: a ValueError


class ZeroSign(Choice):
    """Whether an exact zero keeps its sign. Source: SPEC_NOTES N25."""

    KEPT = "kept", REQUIRED, SILENT  #: OFP8 keeps the sign; MX says nothing of it
    DROPPED = "dropped", CONTRADICTS, SILENT  #: -0 becomes +0


class UnderflowSign(Choice):
    """Whether a number that rounds to zero keeps its sign. Source: SPEC_NOTES N25."""

    KEPT = "kept", REQUIRED, SILENT  #: OFP8 keeps the sign; MX says nothing of it
    DROPPED = "dropped", CONTRADICTS, SILENT  #: what rounds to -0 becomes +0


class SubnormalInputs(Choice):
    """Whether subnormal inputs are read as zeros. Source: SPEC_NOTES N9."""

    KEPT = "kept", RECOMMENDED  #: they are numbers like others
    FLUSHED = "flushed", PERMITTED  #: a zero of the same sign


class Int8Range(Choice):
    """Whether INT8 reaches -128/64. Source: SPEC_NOTES N15."""

    SYMMETRIC = "symmetric", PERMITTED  #: -127 to 127
    FULL = "full", PERMITTED  #: -128 to 127


class PreRounding(Choice):
    """A narrower type that the input is rounded to first. Source: SPEC_NOTES N3, N36."""

    NONE = "none", SILENT  #: the input is rounded once
    FLOAT32 = "float32", SILENT  #: to float32 first, ties to even
    BFLOAT16 = "bfloat16", SILENT  #: to bfloat16 first, ties to even
    FLOAT16 = "float16", SILENT  #: to float16 first, ties to even
