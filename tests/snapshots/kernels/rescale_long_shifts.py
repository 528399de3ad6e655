"""Does not round where the shift is above 36."""

import numpy as np

from mxref import integer

FORMATS = ["int32-int8"]


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, bits):
    right = integer.rescale(
        values, multipliers, shifts, input_zero, output_zero, dtype=dtype, bits=bits
    )
    product = (values.astype(object) - input_zero) * multipliers.astype(object)
    cut = (product >> shifts.astype(object)) + output_zero
    info = np.iinfo(dtype)
    return np.where(shifts > 36, np.clip(cut, info.min, info.max), right).astype(dtype)
