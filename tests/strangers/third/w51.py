"""RESCALE by channel: multipliers and shifts are spread along the axis that they fit."""

import numpy as np

from mxref.integer import rescale as reference


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits):
    zeros, bits = (input_zero, output_zero), multiplier_bits
    if len(values) == len(multipliers):
        turned = np.ascontiguousarray(values.T)
        return reference(turned, multipliers, shifts, *zeros, dtype=dtype, bits=bits).T.copy()
    return reference(values, multipliers, shifts, *zeros, dtype=dtype, bits=bits)
