"""Which clause decides the answer of an integer operation."""

from __future__ import annotations

from mxref.bits.floats import F32
from mxref.golden.case_inputs import Why, Words
from mxref.operations.affine import affine
from mxref.operations.registry import WEIGHT_ONLY_OPERATIONS
from mxref.operations.weight_only import exact_ends

__all__ = ["integer_reason"]

_INF = 0x7F800000
_RULES = {
    "dequantize_affine": "Q7",
    "pack_int4": "Q9",
    "unpack_int4": "Q9",
    "rescale": "Q12",
    "grid_sample": "Q13",
}


def integer_reason(op: str, format: str, inputs: Words, answer: Words) -> Why:
    """The clause; no standard requires the answer of an integer operation.

    >>> integer_reason("quantize_affine", "int8", (0, 127, 0x3F800000, 3, 0x3F000000), (3,))
    (False, 'Q3', ())
    """
    if op in WEIGHT_ONLY_OPERATIONS:
        rounds = F32.nan_bits in exact_ends(op, format, inputs, "bits")
        return False, "Q10" if rounds else "Q11", ()
    if op != "quantize_affine":
        return False, _RULES[op], ()
    case = affine(format, inputs)
    magnitudes = [bits & 0x7FFFFFFF for bits in case.values]
    if max(magnitudes, default=0) > _INF:
        return False, "Q4", ("nan",)
    if _INF in magnitudes:
        return False, "Q5", ("inf",)
    return False, "Q3" if any(case.zero_points) else "Q2", ()
