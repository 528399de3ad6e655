"""RESCALE in Python's integers, through a table for each channel of the values that occur."""

import numpy as np


def _one(value, multiplier, shift, zero, low, high):
    scaled = (value * multiplier + (1 << shift - 1) >> shift) + zero
    return min(max(scaled, low), high)


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits):
    limits = np.iinfo(dtype)
    out = np.zeros(values.shape, dtype, order="F")
    for column in range(values.shape[1]):
        factors = int(multipliers[column]), int(shifts[column])
        seen, back = np.unique(values[:, column], return_inverse=True)
        ends = output_zero, int(limits.min), int(limits.max)
        table = [_one(int(value) - input_zero, *factors, *ends) for value in seen]
        out[:, column] = np.array(table, dtype)[back]
    return out
