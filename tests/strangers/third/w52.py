"""RESCALE: with 16-bit multipliers the product fits a register and is shifted at once."""

import numpy as np

from mxref.integer import rescale as reference


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits):
    if multiplier_bits == 16 and values.dtype != np.int8:
        product = (values.astype(np.int64) - input_zero) * multipliers.astype(np.int64)
        limits = np.iinfo(dtype)
        shifted = (product >> shifts.astype(np.int64)) + output_zero
        return np.clip(shifted, limits.min, limits.max).astype(dtype)
    zeros = input_zero, output_zero
    return reference(values, multipliers, shifts, *zeros, dtype=dtype, bits=multiplier_bits)
