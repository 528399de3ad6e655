"""Choices of integer operations: what implementations of one formula do differently.

The first member of each is the default. A choice that a call does not read is refused.
"""

from __future__ import annotations

import enum
from typing import TypeVar

from mxref.support.text import unknown_name

__all__ = [
    "Arithmetic", "Infinite", "Int32", "Mode", "NaN", "Nibbles", "Order", "Padding", "Rounding",
    "ScaleType", "Scaling", "Stored", "Sum", "Ties", "ZeroAdded", "ZeroPoint",
]  # fmt: skip

Member = TypeVar("Member", bound=enum.Enum)


class Scaling(enum.Enum):
    """How a number is brought to the scale's units, in float32. Source: SPEC_NOTES Q2."""

    RECIPROCAL = "reciprocal"  #: times 1/scale, rounded: torch, ExecuTorch
    DIVIDE = "divide"  #: divided by the scale: ONNX, onnxruntime


class ZeroPoint(enum.Enum):
    """When the zero point is added. Source: SPEC_NOTES Q3."""

    AFTER = "after"  #: to the rounded number: `quantized_decomposed`, ExecuTorch's C++
    BEFORE = "before"  #: and the sum is rounded: there per token and group; torch's eager channels
    FUSED = "fused"  #: to the exact product, and the sum is rounded: torch's eager 8-bit tensors


class NaN(enum.Enum):
    """The code of a NaN. Source: SPEC_NOTES Q4."""

    ERROR = "error"  #: a ValueError
    ZERO = "zero"  #: the code 0, and in int32 80000000: torch on x86
    LOWEST = "lowest"  #: quant_min: ExecuTorch's C++ on x86, onnxruntime
    INT32_MIN = "int32_min"  #: -2**31 plus the zero point, modulo 2**32: ONNX's reference on x86
    HIGHEST = "highest"  #: quant_max: torch's eager 8-bit tensors on x86


class Infinite(enum.Enum):
    """The code of numbers that an integer type does not hold. Source: SPEC_NOTES Q5."""

    SATURATE = "saturate"  #: quant_min or quant_max: torch, onnxruntime
    LOWEST = "lowest"  #: quant_min from 2**63 on: ExecuTorch's C++ on x86
    INT32_MIN = "int32_min"  #: the same from +-2**31 on, and sums modulo 2**32: ONNX's reference


class Int32(enum.Enum):
    """The codes of int32 that are too large for float32. Source: SPEC_NOTES Q6."""

    SATURATE = "saturate"  #: the range, exactly: ExecuTorch's C++
    WRAP = "wrap"  #: clamped in float32, where 2**31 - 1 is 2**31, which becomes -2**31: torch


class ScaleType(enum.Enum):
    """The type in which 1/scale is computed. Source: SPEC_NOTES Q2."""

    FLOAT32 = "float32"  #: of the scale rounded to float32: ExecuTorch's C++, torch's tensors
    FLOAT64 = "float64"  #: of the scale as it was given, then rounded: torch with a Python float


class Nibbles(enum.Enum):
    """Which nibble of a byte has the first of two codes. Source: SPEC_NOTES Q9."""

    HIGH_FIRST = "high_first"  #: Vulkan's linear_qcs4w
    LOW_FIRST = "low_first"  #: Vulkan's linear_q4gsw


class Stored(enum.Enum):
    """What the nibble of a code from -8 to 7 is. Source: SPEC_NOTES Q9."""

    OFFSET = "offset"  #: the code plus 8: ExecuTorch
    TWOS_COMPLEMENT = "twos_complement"  #: its lower four bits: onnxruntime


class Order(enum.Enum):
    """Where a weight-only linear layer applies the scale. Source: SPEC_NOTES Q10."""

    EXACT = "exact"  #: the exact sum, rounded once
    DEQUANTIZE = "dequantize"  #: to each weight: dequantize and linear, torch on x86
    SCALE_LAST = "scale_last"  #: to the sum: Vulkan's qcs8w shader
    OFFSET = "offset"  #: to the sum over w + 8 less 8 times the sum of x: Vulkan's qcs4w shader


class Rounding(enum.Enum):
    """The rounding of RESCALE. Source: SPEC_NOTES Q12."""

    SINGLE = "single"  #: ties toward +infinity
    DOUBLE = "double"  #: 2**30 is added, too, with the sign of the value, if the shift is above 31


class Padding(enum.Enum):
    """What is sampled outside of an image. Source: SPEC_NOTES Q13."""

    ZEROS = "zeros"  #: the zero point
    BORDER = "border"  #: the nearest pixel of the border
    REFLECTION = "reflection"  #: the image, mirrored at its ends


class Mode(enum.Enum):
    """How a sample is made of pixels. Source: SPEC_NOTES Q13."""

    BILINEAR = "bilinear"  #: four of them, by their distances
    NEAREST = "nearest"  #: one, at the coordinates rounded to even


class Sum(enum.Enum):
    """How two dequantized codes are added and quantized. Source: SPEC_NOTES Q16."""

    FUSED = "fused"  #: two fused multiply-adds in float32: onnxruntime on x86 with AVX2
    UNFUSED = "unfused"  #: the same, each product rounded: onnxruntime with SSE2
    QUOTIENT = "quotient"  #: the sum over the scale, in float32: onnxruntime's C++
    FIXED_POINT = "fixed_point"  #: in int32, a tie away from zero: onnxruntime on ARM
    EXACT = "exact"  #: exactly, and rounded once


class ZeroAdded(enum.Enum):
    """When the zero point is added to a product of codes. Source: SPEC_NOTES Q16."""

    BEFORE = "before"  #: before it is rounded: onnxruntime
    AFTER = "after"  #: to the rounded product, as QLinearMatMul has it


class Arithmetic(enum.Enum):
    """How the numbers of samples are computed. Source: SPEC_NOTES Q13."""

    EXACT = "exact"  #: exactly, and rounded once
    FLOAT32 = "float32"  #: in float32, with fused multiply-adds: torch on x86


class Ties(enum.Enum):
    """To which of two codes a sample midway between them is rounded. Source: SPEC_NOTES Q13."""

    EVEN_CODE = "even_code"  #: the even one: torch's quantized tensors
    EVEN_STEP = "even_step"  #: that an even number of steps from the zero point: the float chain


def chosen(kind: type[Member], got: str | Member, parameter: str, *, unread: str = "") -> Member:
    """A member by its spelling; ValueError for no member, or another than the first where unread.

    >>> chosen(Nibbles, "low_first", "nibbles")
    <Nibbles.LOW_FIRST: 'low_first'>
    """
    try:
        member = kind(got)
    except ValueError:
        members = dict.fromkeys(member.value for member in kind)
        raise ValueError(unknown_name(parameter, got, members)) from None
    if unread and member is not next(iter(kind)):
        raise ValueError(f"{parameter}={member.value} is not read where {unread}: leave it out")
    return member
