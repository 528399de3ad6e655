"""Integers rescaled from one zero point to another, in the types of the codes."""

import numpy as np

from mxref import integer


def rescale(values, multipliers, shifts, input_zero, output_zero, dtype, multiplier_bits):
    with np.errstate(over="ignore"):
        zero = np.asarray(input_zero).astype(values.dtype)
        centred = np.subtract(values, zero, dtype=values.dtype)
        signed = centred.view(np.int8) if centred.dtype == np.uint8 else centred
        kind = np.int8 if np.dtype(dtype) == np.uint8 else dtype
        codes = integer.rescale(
            signed, multipliers, shifts, dtype=kind, bits=multiplier_bits
        ).astype(dtype)
        return np.add(codes, np.asarray(output_zero).astype(dtype), dtype=dtype)
