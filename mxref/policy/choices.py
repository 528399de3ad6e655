"""One enum for each choice that the standards leave open; the first member is what `ocp` does.

A member's value is its spelling in policies. Its `standing` says what the texts say of it; the
`Source:` of its class names the clause of SPEC_NOTES that explains the choice and who makes it.
"""

from __future__ import annotations

import numpy as np

from mxref.bits.floats import I64
from mxref.policy.choice import (
    CONTRADICTS,
    PERMITTED,
    RECOMMENDED,
    REQUIRED,
    SILENT,
    Choice,
    Standing,
)

__all__ = [
    "AmaxType",
    "BlockInf",
    "BlockNaN",
    "Choice",
    "Clamp",
    "DecodedZero",
    "FP4Packing",
    "FP6Packing",
    "Int8Emax",
    "Int8Range",
    "NaN",
    "NaNBlockCodes",
    "NaNToFinite",
    "Overflow",
    "PreRounding",
    "ProductOverflow",
    "ProductRounding",
    "Rounding",
    "Scale00",
    "ScaleArithmetic",
    "ScaleByte",
    "ScaleFF",
    "ScaleLayout",
    "ScaleOfInf",
    "ScaleOfNegative",
    "ScaleOfZero",
    "ScaleOverflow",
    "ScalePlace",
    "ScaleRounding",
    "ScaleUnderflow",
    "Scaling",
    "Standing",
    "SubnormalInputs",
    "Tail",
    "TinyScale",
    "UnderflowSign",
    "ZeroBlock",
    "ZeroSign",
]


class Rounding(Choice):
    """To which neighbour an inexact number goes. Source: SPEC_NOTES N17, N18.

    The stochastic ones add random bits R of a width N to the part that is cut off, nu of a unit in
    the last place, and round the magnitude up where the sum reaches a whole unit.
    """

    TIES_TO_EVEN = "ties_to_even", REQUIRED  #: nearest, a tie to the even code
    TIES_TO_AWAY = "ties_to_away", PERMITTED  #: nearest, a tie away from zero
    TIES_TO_ZERO = "ties_to_zero", PERMITTED  #: nearest, a tie toward zero
    TOWARD_ZERO = "toward_zero", PERMITTED  #: truncation
    TOWARD_POSITIVE = "toward_positive", PERMITTED
    TOWARD_NEGATIVE = "toward_negative", PERMITTED
    TO_ODD = "to_odd", PERMITTED  #: the neighbour with the odd code
    STOCHASTIC_A = "stochastic_a", PERMITTED  #: floor(nu 2**N) + R reaches 2**N
    STOCHASTIC_B = "stochastic_b", PERMITTED  #: floor(nu 2**(N+1)) + 2R + 1 reaches 2**(N+1)
    STOCHASTIC_C = "stochastic_c", PERMITTED  #: round(nu 2**N) + R reaches 2**N

    @property
    def stochastic(self) -> bool:
        """Whether the rounding reads random bits."""
        return self in (Rounding.STOCHASTIC_A, Rounding.STOCHASTIC_B, Rounding.STOCHASTIC_C)

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


class Overflow(Choice):
    """What a number that rounds past the largest one, or an infinity, becomes.

    "Special" is infinity, or else NaN, or else the largest number: what the format has.
    Source: OCP MX v1.0 5.3.1 Table 3; SPEC_NOTES N11, N12, N37, N39.
    """

    SATURATE = "saturate", REQUIRED  #: the largest number, sign kept
    NONSATURATING = "nonsaturating", REQUIRED  #: special, in whatever direction the rounding goes
    NONSATURATING_IEEE = "nonsaturating_ieee", PERMITTED  #: largest number if rounding toward zero
    PROPAGATE = "propagate", PERMITTED  #: finite numbers as `saturate`, infinities as special


class Clamp(Choice):
    """When a number counts as too large. Source: SPEC_NOTES N10."""

    AFTER_ROUNDING = "after_rounding", REQUIRED  #: if it rounds past the largest number
    BEFORE_ROUNDING = "before_rounding", CONTRADICTS  #: if it is beyond the largest number


class NaN(Choice):
    """Which NaN code is written, where a format has more than one. Source: SPEC_NOTES N13."""

    POSITIVE = "positive", PERMITTED  #: all ones, sign clear
    SIGNED = "signed", PERMITTED  #: all ones, sign of the input
    NEGATIVE = "negative", PERMITTED  #: all ones, sign set
    SIGNED_QUIET = "signed_quiet", PERMITTED  #: as signed; E5M2 and the like: 7E


class NaNToFinite(Choice):
    """What NaN becomes in a format without NaN. Source: SPEC_NOTES N14."""

    MAX = "max", PERMITTED  #: the largest number
    SIGNED_MAX = "signed_max", PERMITTED  #: the largest number with the sign of the NaN
    ZERO = "zero", PERMITTED
    SIGNED_ZERO = "signed_zero", PERMITTED  #: zero with the sign of the NaN
    OPPOSITE_ZERO = "opposite_zero", PERMITTED  #: zero with the other sign
    ERROR = "error", PERMITTED  #: a ValueError


class ZeroSign(Choice):
    """Whether an exact zero keeps its sign. Source: SPEC_NOTES N25."""

    KEPT = "kept", REQUIRED
    DROPPED = "dropped", CONTRADICTS


class UnderflowSign(Choice):
    """Whether a number that rounds to zero keeps its sign. Source: SPEC_NOTES N25."""

    KEPT = "kept", REQUIRED
    DROPPED = "dropped", CONTRADICTS


class SubnormalInputs(Choice):
    """Whether subnormal inputs count. Source: SPEC_NOTES N9."""

    KEPT = "kept", RECOMMENDED
    FLUSHED = "flushed", PERMITTED  #: a zero of the same sign


class Int8Range(Choice):
    """Whether INT8 reaches -128/64. Source: SPEC_NOTES N15."""

    SYMMETRIC = "symmetric", PERMITTED  #: -127 to 127
    FULL = "full", PERMITTED  #: -128 to 127


class PreRounding(Choice):
    """A narrower type that the input is rounded to first. Source: SPEC_NOTES N3, N36."""

    NONE = "none", SILENT
    FLOAT32 = "float32", SILENT
    BFLOAT16 = "bfloat16", SILENT
    FLOAT16 = "float16", SILENT


class ScaleRounding(Choice):
    """To which power of two a number's magnitude goes in E8M0. Source: SPEC_NOTES N23.

    As `Rounding`; even and odd are meant of the code, and a tie is midway between the numbers.
    """

    TOWARD_ZERO = "toward_zero", SILENT
    TIES_TO_EVEN = "ties_to_even", SILENT
    TIES_TO_AWAY = "ties_to_away", SILENT
    TIES_TO_ZERO = "ties_to_zero", SILENT
    TOWARD_POSITIVE = "toward_positive", SILENT
    TOWARD_NEGATIVE = "toward_negative", SILENT
    TO_ODD = "to_odd", SILENT


class BlockNaN(Choice):
    """What a NaN does to its block. Source: SPEC_NOTES N4."""

    NAN_BLOCK = "nan_block", SILENT  #: scale FF, every code 00
    IGNORE = "ignore", SILENT  #: the scale comes from the other elements


class BlockInf(Choice):
    """What an infinity does to its block. Source: SPEC_NOTES N5."""

    NAN_BLOCK = "nan_block", SILENT  #: scale FF, every code 00
    LARGEST_SCALE = "largest_scale", SILENT  #: scale FE
    IGNORE = "ignore", SILENT  #: the scale comes from the other elements


class ZeroBlock(Choice):
    """The scale of a block of zeros. Source: SPEC_NOTES N6."""

    CODE_00 = "code_00", SILENT
    CODE_01 = "code_01", SILENT
    ONE = "one", SILENT  #: code 7F
    MINUS_EMAX = "minus_emax", SILENT  #: 2**-emax
    NAN = "nan", SILENT  #: code FF


class ScaleOverflow(Choice):
    """What a scale above 2**127 becomes. Source: SPEC_NOTES N8."""

    CLAMP = "clamp", SILENT  #: code FE
    NAN = "nan", SILENT  #: code FF
    WRAP = "wrap", CONTRADICTS  #: the exponent modulo 256


class ScaleUnderflow(Choice):
    """What a scale below 2**-127 becomes. Source: SPEC_NOTES N7."""

    CLAMP = "clamp", SILENT  #: code 00
    NAN = "nan", SILENT  #: code FF
    WRAP = "wrap", CONTRADICTS  #: the exponent modulo 256
    FLUSH = "flush", SILENT  #: code 00, and every element a zero


class AmaxType(Choice):
    """A narrower type that amax is rounded to. Source: SPEC_NOTES N3, N34."""

    SOURCE = "source", SILENT
    FLOAT32 = "float32", SILENT
    BFLOAT16 = "bfloat16", SILENT
    FLOAT16 = "float16", SILENT


class Int8Emax(Choice):
    """The emax of INT8: powers of two are positive, but |-2| is 2**1. Source: SPEC_NOTES N16."""

    ZERO = "zero", RECOMMENDED
    ONE = "one", CONTRADICTS


class NaNBlockCodes(Choice):
    """The element codes of a NaN block, which no reader looks at. Source: SPEC_NOTES N24."""

    ZEROS = "zeros", SILENT
    ONES = "ones", SILENT  #: every bit set


class Scaling(Choice):
    """How elements are divided by the scale. Source: SPEC_NOTES N19."""

    DIVIDE = "divide", RECOMMENDED
    RECIPROCAL_FLUSHED = "reciprocal_flushed", CONTRADICTS  #: by a reciprocal that is 0 for FE


class ScaleArithmetic(Choice):
    """How scales that are no powers of two are computed and applied. Source: SPEC_NOTES N41."""

    EXACT = "exact", SILENT  #: quotients and products exact, each rounded once
    TORCHAO = "torchao", SILENT
    TRANSFORMER_ENGINE = "transformer_engine", SILENT
    CUBLAS = "cublas", SILENT
    COMPRESSED_TENSORS = "compressed_tensors", SILENT


class ScaleOfZero(Choice):
    """The E8M0 code of zero. Source: SPEC_NOTES N23."""

    CODE_00 = "code_00", SILENT
    NAN = "nan", SILENT


class ScaleOfNegative(Choice):
    """The E8M0 code of a negative number. Source: SPEC_NOTES N23."""

    MAGNITUDE = "magnitude", SILENT  #: that of the number without its sign
    NAN = "nan", SILENT
    CODE_00 = "code_00", SILENT  #: for every pattern with the sign bit set


class ScaleOfInf(Choice):
    """The E8M0 code of infinity. Source: SPEC_NOTES N23."""

    NAN = "nan", SILENT
    LARGEST = "largest", SILENT  #: code FE


class TinyScale(Choice):
    """How numbers below 2**-126 are rounded to E8M0. Source: SPEC_NOTES N23."""

    EXACT = "exact", SILENT  #: 2**-127 is a number like the others
    AS_IF_ZERO = "as_if_zero", SILENT  #: nearest: what is above 2**-127 goes up
    ALWAYS_UP = "always_up", SILENT  #: the same, and upward even 2**-127 goes up


class Scale00(Choice):
    """What scale code 00 stands for. Source: SPEC_NOTES N22."""

    POWER = "power", REQUIRED  #: 2**-127
    ZERO = "zero", CONTRADICTS


class ScaleFF(Choice):
    """What scale code FF stands for. Source: SPEC_NOTES N22."""

    NAN = "nan", REQUIRED
    INF = "inf", CONTRADICTS
    POWER = "power", CONTRADICTS  #: 2**128


class ProductOverflow(Choice):
    """What scale times element beyond the output type becomes. Source: SPEC_NOTES N20."""

    INF = "inf", PERMITTED
    NAN = "nan", PERMITTED
    SATURATE = "saturate", PERMITTED  #: the largest finite number of the type


class ProductRounding(Choice):
    """How scale times element is rounded. Source: SPEC_NOTES N21."""

    ONCE = "once", SILENT  #: the exact product
    SCALE_FIRST = "scale_first", SILENT  #: the scale first, then the product


class DecodedZero(Choice):
    """Whether a decoded zero keeps its sign. Source: SPEC_NOTES N25."""

    KEPT = "kept", SILENT
    DROPPED = "dropped", SILENT


class Tail(Choice):
    """What happens to the rest of an axis that whole blocks do not fill. Source: SPEC_NOTES N29."""

    ZERO_PADDED = "zero_padded", SILENT  #: filled up with +0, whose codes are stored
    SHORT = "short", SILENT  #: a shorter last block
    REFUSED = "refused", SILENT  #: a ValueError


class FP4Packing(Choice):
    """Where 4-bit codes lie in bytes. Source: SPEC_NOTES N32."""

    LOW_NIBBLE_FIRST = "low_nibble_first", PERMITTED  #: code 2j low, code 2j + 1 high
    HIGH_NIBBLE_FIRST = "high_nibble_first", PERMITTED  #: code 2j high, code 2j + 1 low
    HALVES = "halves", PERMITTED  #: in each block code j low, code j + block_size / 2 high
    MIDDLE_BITS = "middle_bits", PERMITTED  #: one to a byte, in its bits 5 to 2
    BYTE_EACH = "byte_each", PERMITTED  #: one to a byte, in its low bits


class FP6Packing(Choice):
    """Where 6-bit codes lie in bytes, four in three or one in one. Source: SPEC_NOTES N32.

    `hi` and `lo` are the upper and lower bits of a code; a byte is written from its top bit.
    """

    LSB_FIRST = "lsb_first", PERMITTED  #: code i in bits 6i to 6i + 5, counted from the first byte
    QUARK = "quark", PERMITTED  #: hi2 of codes 0 1 2 3; lo4 of 0 1; lo4 of 2 3
    TORCHAO_PLANAR = "torchao_planar", PERMITTED  #: in each block all hi4 of 0 1, of 2 3, all lo2
    TORCHAO_QUADS = "torchao_quads", PERMITTED  #: hi4 of 0 1; hi4 of 3 2; lo2 of 0 1 3 2
    BYTE_EACH = "byte_each", PERMITTED  #: one to a byte, in its low bits


class ScalePlace(Choice):
    """Where the scale of a block stands. Source: SPEC_NOTES N32."""

    SEPARATE = "separate", PERMITTED  #: in an array of its own
    BEFORE = "before", PERMITTED  #: the byte before the elements of its block
    AFTER = "after", PERMITTED  #: the byte after them


class ScaleByte(Choice):
    """What byte stands for an E8M0 scale beside its elements. Source: SPEC_NOTES N32."""

    BIASED = "biased", REQUIRED  #: the E8M0 code
    SIGNED = "signed", CONTRADICTS  #: the exponent in two's complement; NaN 80


class ScaleLayout(Choice):
    """In what order a matrix of scales is stored. Source: SPEC_NOTES N32."""

    ROW_MAJOR = "row_major", PERMITTED
    TILES_128X4 = "tiles_128x4", PERMITTED  #: tiles of 128 x 4 in 512 bytes, filled up with 00
