"""Choices of finding and encoding a scale; see `mxref.policy.choices`."""

from __future__ import annotations

from mxref.policy.choice import CONTRADICTS, RECOMMENDED, SILENT, Choice

__all__ = [
    "AmaxType",
    "BlockInf",
    "BlockNaN",
    "Int8Emax",
    "NaNBlockCodes",
    "ScaleArithmetic",
    "ScaleOfInf",
    "ScaleOfNegative",
    "ScaleOfZero",
    "ScaleOverflow",
    "ScaleRounding",
    "ScaleUnderflow",
    "Scaling",
    "TinyScale",
    "ZeroBlock",
]


class ScaleRounding(Choice):
    """The power of two that a number's magnitude is rounded to in E8M0. Source: SPEC_NOTES N23.

    As `Rounding`: even and odd refer to codes, and a tie is midway between two numbers.
    """

    TOWARD_ZERO = "toward_zero", SILENT  #: the power of two at or below
    TIES_TO_EVEN = "ties_to_even", SILENT  #: nearest, a midpoint to the even code
    TIES_TO_AWAY = "ties_to_away", SILENT  #: nearest, a midpoint up
    TIES_TO_ZERO = "ties_to_zero", SILENT  #: nearest, a midpoint down
    TOWARD_POSITIVE = "toward_positive", SILENT  #: the power of two at or above
    TOWARD_NEGATIVE = "toward_negative", SILENT  #: the power of two at or below
    TO_ODD = "to_odd", SILENT  #: of the two neighbours that with the odd code


class BlockNaN(Choice):
    """The effect of a NaN on its block. Source: SPEC_NOTES N4."""

    NAN_BLOCK = "nan_block", SILENT  #: scale FF, every code 00
    IGNORE = "ignore", SILENT  #: the scale comes from the other elements


class BlockInf(Choice):
    """The effect of an infinity on its block. Source: SPEC_NOTES N5."""

    NAN_BLOCK = "nan_block", SILENT  #: scale FF, every code 00
    LARGEST_SCALE = "largest_scale", SILENT  #: scale FE
    IGNORE = "ignore", SILENT  #: the scale comes from the other elements


class ZeroBlock(Choice):
    """The scale of a block of zeros. Source: SPEC_NOTES N6."""

    CODE_00 = "code_00", SILENT  #: 2**-127
    CODE_01 = "code_01", SILENT  #: 2**-126
    ONE = "one", SILENT  #: code 7F
    MINUS_EMAX = "minus_emax", SILENT  #: 2**-emax
    NAN = "nan", SILENT  #: code FF


class ScaleOverflow(Choice):
    """The code for a scale above 2**127. Source: SPEC_NOTES N8."""

    CLAMP = "clamp", SILENT  #: code FE
    NAN = "nan", SILENT  #: code FF
    WRAP = "wrap", CONTRADICTS  #: the exponent modulo 256


class ScaleUnderflow(Choice):
    """The code for a scale below 2**-127. Source: SPEC_NOTES N7."""

    CLAMP = "clamp", SILENT  #: code 00
    NAN = "nan", SILENT  #: code FF
    WRAP = "wrap", CONTRADICTS  #: the exponent modulo 256
    FLUSH = "flush", SILENT  #: code 00, and every element a zero
    #: code 00; every element of a block whose amax is below 2**-126 is a zero
    FLUSH_SUBNORMAL = "flush_subnormal", SILENT


class AmaxType(Choice):
    """A narrower type that amax is rounded to. Source: SPEC_NOTES N3, N34."""

    SOURCE = "source", SILENT  #: none: amax as it is
    FLOAT32 = "float32", SILENT  #: amax rounded to float32
    BFLOAT16 = "bfloat16", SILENT  #: amax rounded to bfloat16
    FLOAT16 = "float16", SILENT  #: amax rounded to float16


class Int8Emax(Choice):
    """The emax of INT8: powers of two are positive, but |-2| is 2**1. Source: SPEC_NOTES N16."""

    ZERO = "zero", RECOMMENDED  #: 2**0, the largest positive power
    ONE = "one", CONTRADICTS  #: 2**1, of -2: every scale is half as large


class NaNBlockCodes(Choice):
    """The element codes of a NaN block, which have no meaning. Source: SPEC_NOTES N24."""

    ZEROS = "zeros", SILENT  #: every code 00
    ONES = "ones", SILENT  #: every bit set


class Scaling(Choice):
    """The division of elements by the scale. Source: SPEC_NOTES N19."""

    DIVIDE = "divide", RECOMMENDED  #: the exact quotient
    RECIPROCAL_FLUSHED = "reciprocal_flushed", CONTRADICTS  #: by a reciprocal that is 0 for FE


class ScaleArithmetic(Choice):
    """The arithmetic of scales that are no powers of two. Source: SPEC_NOTES N41, N45."""

    EXACT = "exact", SILENT  #: quotients and products exact, each rounded once
    TORCHAO = "torchao", SILENT  #: torchao's formulas in float32
    TRANSFORMER_ENGINE = "transformer_engine", SILENT  #: Transformer Engine's formulas in float32
    #: of the scales amax / 6 and amax / 4 the one whose block has the smaller absolute error
    TRANSFORMER_ENGINE_4OVER6 = "transformer_engine_4over6", SILENT
    TRANSFORMER_ENGINE_4OVER6_MSE = "transformer_engine_4over6_mse", SILENT  #: the squared error
    CUBLAS = "cublas", SILENT  #: the formulas of cuBLAS's documentation
    COMPRESSED_TENSORS = "compressed_tensors", SILENT  #: compressed-tensors' formulas in float32


class ScaleOfZero(Choice):
    """The E8M0 code of zero. Source: SPEC_NOTES N23."""

    CODE_00 = "code_00", SILENT  #: 2**-127
    NAN = "nan", SILENT  #: code FF


class ScaleOfNegative(Choice):
    """The E8M0 code of a negative number. Source: SPEC_NOTES N23."""

    MAGNITUDE = "magnitude", SILENT  #: that of the number without its sign
    NAN = "nan", SILENT  #: code FF
    CODE_00 = "code_00", SILENT  #: for every pattern with the sign bit set
    CODE_00_IF_FINITE = "code_00_if_finite", SILENT  #: the same, but FF for -Inf and -NaN


class ScaleOfInf(Choice):
    """The E8M0 code of infinity. Source: SPEC_NOTES N23."""

    NAN = "nan", SILENT  #: code FF
    LARGEST = "largest", SILENT  #: code FE


class TinyScale(Choice):
    """The rounding of numbers below 2**-126 to E8M0. Source: SPEC_NOTES N23."""

    EXACT = "exact", SILENT  #: 2**-127 is a number like the others
    AS_IF_ZERO = "as_if_zero", SILENT  #: nearest: what is above 2**-127 goes up
    ALWAYS_UP = "always_up", SILENT  #: as_if_zero, and rounding upward even 2**-127 goes up
