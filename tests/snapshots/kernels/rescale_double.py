"""Rounds twice, as the first versions of TOSA allow: another choice."""

from mxref import integer

FORMATS = ["int8-int8", "int32-int16"]


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, bits):
    return integer.rescale(
        values, multipliers, shifts, input_zero, output_zero, "double", dtype=dtype, bits=bits
    )
