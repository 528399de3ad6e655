"""Numbers of blocks: magnitudes from half a table, then the sign."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1", "mxfp6_e3m2", "mxfp6_e2m3"]


def dequantize(scale_codes, codes, block_format, dtype):
    sign = 8 if block_format == "mxfp4_e2m1" else 32
    magnitudes = mxref.dequantize(
        codes & (sign - 1), dtype, scale_codes=scale_codes[:, None], block_format=block_format
    )
    zero = np.zeros((), magnitudes.dtype)
    numbers = np.where(codes & sign, zero - magnitudes, magnitudes)
    return np.where(np.isnan(magnitudes), magnitudes, numbers)
