"""Integers times a multiplier and a shift for each channel, four channels a step."""

import numpy as np


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits):
    channels = values.shape[1]
    body = channels // 4 * 4
    taken = shifts.astype(np.int64)
    if body < channels:
        taken[body:] = taken[body]
    product = (values.astype(np.int64) - input_zero) * multipliers.astype(np.int64)
    product = (product + (np.int64(1) << (taken - 1))) >> taken
    info = np.iinfo(dtype)
    return np.clip(product + output_zero, info.min, info.max).astype(dtype)
