"""The vocabulary of the vectors: operations, coverage models and flags, each explained once."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FLAGS", "MODELS", "OPERATIONS", "READS"]

#: Operations, with the policy choices that each reads.
READS: Mapping[str, tuple[str, ...]] = {
    "encode": ("rounding", "overflow"),
    "decode": (),
    "encode_scale": ("scale_rounding",),
    "decode_scale": (),
    "shared_scale": ("scale_rule",),
    "quantize": ("rounding", "overflow", "scale_rule"),
    "dequantize": (),
}
OPERATIONS = tuple(READS)

MODELS: Mapping[str, str] = {
    "M1": "zeros, smallest and largest numbers, infinities and NaNs of the float type, both signs",
    "M4": "the largest number and the overflow threshold, each and 3 ulp to both sides",
    "M5": "half the smallest subnormal, the smallest subnormal and the smallest normal number, "
    "each and 3 ulp to both sides",
    "M6": "walking sticky bit: a tie with one lower bit set, for each such bit",
    "M7": "every number of the format and every midpoint between two, each and 1 ulp to both sides",
    "M8": "every binade edge of amax, 1 ulp to both sides, and the limits of the known scale rules",
    "M9": "designed blocks: specials, one large element in each position, spreads, clamped scales",
    "M10": "every code, with the scales 00, 01, 7f, fd, fe and ff among others",
    "M14": "binade ladder: first, middle and last significand of every exponent, both signs",
}

FLAGS: Mapping[str, str] = {
    "tie": "exactly midway between two neighbouring numbers of the format",
    "near_tie": "the float next to a tie",
    "overflow": "rounds past the largest number, or is infinite",
    "underflow": "not zero, but rounds to zero",
    "subnormal": "the result is a subnormal number of the format",
    "source_subnormal": "the input is a subnormal number of the float type",
    "zero": "the input is a zero",
    "negative_zero": "the result is -0, or would be if the format had one",
    "inf": "infinite input or element",
    "nan": "NaN input or result; NaN results are compared as one class",
    "binade_edge": "a power of two or the float just below or above it",
    "clamp_low": "the scale would be below 2**-127",
    "clamp_high": "the scale would be above 2**127",
    "zero_block": "every element is a zero",
    "nan_block": "an element is NaN or infinite, so the whole block is NaN",
    "position": "the block's largest element stands alone in one position",
    "product_overflow": "scale times element is beyond the float type",
    "product_subnormal": "scale times element is a subnormal number of the float type",
}
