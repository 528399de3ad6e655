"""The vocabulary of the vectors: coverage models, flags and clauses, each explained once."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from mxref.formats.catalog import OTHER_CODE_FORMATS
from mxref.operands.case_input import OWN

__all__ = ["FLAGS", "SECTIONS", "known_models", "known_rules", "models", "rules"]

_MODELS: Mapping[str, str] = {
    "M1": "zeros, smallest and largest numbers, infinities and NaNs of the float type, both signs",
    "M4": "the largest number and the overflow threshold, each and 3 ulp to both sides",
    "M5": "half the smallest subnormal, the smallest subnormal and the smallest normal number, "
    "each and 3 ulp to both sides",
    "M6": "walking sticky bit: a tie with one lower bit set, for each such bit",
    "M7": "both sides of every step of every rounding and overflow method: each number of the "
    "format and each midpoint between two, and 1 ulp to both sides",
    "M8": "every binade edge of amax, 1 ulp to both sides, the limits of the known scale rules, "
    "and 64 significands",
    "M9": "designed blocks: specials, infinities beside finite elements of every magnitude, one "
    "large element in each position, spreads, clamped scales",
    "M10": "every code, with the scales 00, 01, 7f, fd, fe and ff among others",
    "M11": "layouts: ramps of awkward lengths, bits and elements alone, the address of every bit, "
    "matrices of awkward shapes, tails on both axes",
    "M12": "dot products: one product in every binade, sums that no order of additions changes, "
    "swamping, cancellation, pairs of scales, specials, overflow on the way, ties, tails",
    "M13": "linear layers: rows and columns of different magnitudes, several sequences, tails",
    "M15": "numbers an eighth, a quarter, ... of a unit above another, with the random bits that "
    "just carry and just do not",
    "M16": "rounding inside blocks: both neighbours of every midpoint, the walking sticky bit, and "
    "elements far below the scale",
    "M17": "lanes: one NaN, infinity or largest element in each lane, both signs; equal largest "
    "elements, pairs of ties, elements alone; codes in another order",
    "M18": "affine quantization: midpoints of codes and their neighbours, the ends of ranges, of "
    "int32 and int64, zero points with ties, the ends of the scales, axes and groups, every code",
    "M19": "int4: every byte, and rows of 1, 2, 3, 7, 8 and 9 codes",
    "M20": "RESCALE: every int8 code or numbers around powers of two under 12 ratios, the ends of "
    "the value for shifts from 2 to 62, zero points, channels",
    "M21": "grid sampling: one pixel, two by two, ramps; corners, ties, coordinates outside",
    "M22": "weight-only linear layers: every code, each lane alone, sums that no order changes, "
    "cancellation, scales of rows and of groups, no columns, odd ones, both ends of float32",
    "M23": "formats beside those of MX: each number and each midpoint with 1 ulp to both sides, "
    "signs in turn",
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
    "ramp": "codes that count up or down",
    "one_hot": "one bit, or one element, alone",
    "address": "each bit holds one digit of its own number: together they tell all bits apart",
    "odd_length": "codes that do not fill their last byte or block",
    "filler": "bits and bytes that hold no code are ones: they are not to be read",
    "ragged": "an axis that is no multiple of the block, or of the tile",
    "straddle": "one large element beside the border between two rows",
    "strided": "`mxref verify` hands these values over in memory that is not contiguous",
    "scale_subnormal": "the scale is a subnormal number of its format, or zero",
    "one_product": "one product alone is not zero",
    "swamping": "large products that cancel beside small ones that may be lost between them",
    "cancellation": "the sum is far smaller than the largest product",
    "scale_pair": "scales from the ends of E8M0, whose product may be beyond it",
    "sum_overflow": "a sum on the way may be beyond the float type",
}

#: Clauses that decide an answer: sections of OCP MX v1.0, and clauses of SPEC_NOTES.
_RULES: Mapping[str, str] = {
    "MX-5.1": "value of a block's element",
    "MX-5.3.1": "FP8 encoding and rounding",
    "MX-5.3.1-T3": "FP8 overflow: saturating and non-saturating, Table 3",
    "MX-5.3.2": "FP6 encoding, rounding and clamping",
    "MX-5.3.3": "FP4 encoding, rounding and clamping",
    "MX-5.3.4": "INT8 encoding, rounding and clamping",
    "MX-5.4.1": "E8M0 encoding",
    "MX-6.1": "dot product of two blocks",
    "MX-6.2": "dot product of several blocks",
    "MX-6.3": "scale from the largest magnitude, elements divided by it",
    "formats": "numbers of a format beside those of MX: SPEC_NOTES, Formats",
    "N2": "exactness of log2: just below a power of two",
    "N4": "NaN in a block",
    "N5": "infinity in a block",
    "N6": "scale of a block of zeros",
    "N7": "scale below 2**-127",
    "N8": "scale above 2**127",
    "N11": "overflow",
    "N13": "NaN code and sign",
    "N14": "NaN to a format without NaN",
    "N15": "INT8: is -2 used",
    "N17": "rounding of an element",
    "N18": "stochastic rounding: how many random bits, and where they are added",
    "N20": "product beyond the output type",
    "N21": "rounding of the product to the output type",
    "N22": "scale codes 00 and FF",
    "N23": "float to E8M0",
    "N25": "sign of zero and of negative underflow",
    "N29": "tails: an axis that is no multiple of the block",
    "N30": "axis along which blocks run",
    "N32": "layout in memory",
    "N36": "float64 sources: one rounding or two",
    "N41": "scales that are not powers of two",
    "N43": "products: precision and order of the additions",
    "N44": "linear layers: the axes of blocks, what is quantized, and bias",
    "N48": "float32 scales: the least number that stands for the largest magnitude",
    "N49": "float32 scales: how the scale follows from the largest magnitude",
    "N50": "float32 scales: powers of two",
    "N51": "float32 scales: how elements are divided",
    "N45": "NVFP4's 4 over 6: which of two scales a block takes",
    "N46": "approximate reciprocals, which have bounds",
    "Q1": "affine quantization",
    "Q2": "affine quantization: reciprocal or quotient",
    "Q3": "affine quantization: the zero point before or after rounding",
    "Q4": "affine quantization: NaN",
    "Q5": "affine quantization: infinities and what no integer holds",
    "Q6": "affine quantization: int32",
    "Q7": "codes back to numbers",
    "Q9": "int4 in bytes",
    "Q10": "weight-only linear layers",
    "Q11": "weight-only linear layers: exact in every order",
    "Q12": "RESCALE",
    "Q13": "grid sampling",
}


@functools.cache
def rules() -> Mapping[str, str]:
    """The clauses that decide an answer, those that one operation brings included."""
    from mxref.operations.registry import REGISTRY

    brought = (row.clauses for row in REGISTRY.values() if not row.is_own)
    return {**_RULES} | {name: text for one in brought for name, text in one.items()}


@functools.cache
def models() -> Mapping[str, str]:
    """The coverage models of the vectors, those that one operation brings included."""
    from mxref.operations.registry import REGISTRY

    brought = (row.models for row in REGISTRY.values() if not row.is_own)
    return {**_MODELS} | {name: text for one in brought for name, text in one.items()}


def known_rules(op: str) -> Mapping[str, str]:
    """The clauses that may decide an answer of an operation, which may be from outside of mxref."""
    from mxref.operations.registry import REGISTRY

    own = "what such an operation says of itself"
    return {**_RULES, **REGISTRY[op].clauses, OWN: own}


def known_models(op: str) -> Mapping[str, str]:
    """The coverage models of its cases."""
    from mxref.operations.registry import REGISTRY

    own = "inputs of an operation that mxref has not"
    return {**_MODELS, **REGISTRY[op].models, OWN: own}


#: The clause on the numbers of each element format, and on encoding them.
SECTIONS: Mapping[str, str] = {
    "e5m2": "MX-5.3.1",
    "e4m3": "MX-5.3.1",
    "e3m2": "MX-5.3.2",
    "e2m3": "MX-5.3.2",
    "e2m1": "MX-5.3.3",
    "int8": "MX-5.3.4",
    **dict.fromkeys(OTHER_CODE_FORMATS, "formats"),
}
