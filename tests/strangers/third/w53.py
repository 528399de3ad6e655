"""RESCALE to int8: multiply, round, saturate to the register, then add the zero point."""

import numpy as np

from mxref.integer import rescale as reference


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits):
    bits = multiplier_bits
    if np.dtype(dtype) != np.int8:
        zeros = input_zero, output_zero
        return reference(values, multipliers, shifts, *zeros, dtype=dtype, bits=bits)
    codes = reference(values, multipliers, shifts, input_zero, 0, dtype=np.int8, bits=bits)
    return np.clip(codes.astype(np.int16) + output_zero, -128, 127).astype(np.int8)
