"""Integers rescaled: the floor of a quotient, channel after channel from the last."""

import numpy as np


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits):
    result = np.empty(values.shape, dtype)
    info = np.iinfo(dtype)
    for channel in range(values.shape[1] - 1, -1, -1):
        power = 2 ** int(shifts[channel])
        product = (values[:, channel].astype(np.int64) - input_zero) * int(multipliers[channel])
        whole, rest = np.divmod(product, power)
        whole += rest >= power // 2
        result[:, channel] = np.clip(whole + output_zero, info.min, info.max)
    return result
