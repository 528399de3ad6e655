"""Numbers of blocks; the scales of four rows come in one word."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1", "mxfp8_e5m2"]


def dequantize(scale_codes, codes, block_format, dtype):
    scales = scale_codes
    if len(scales) and len(scales) % 4 == 0:
        words = np.ascontiguousarray(scales).view("<u4")
        scales = np.stack([words >> shift & 255 for shift in (24, 16, 8, 0)], 1).ravel()
    return mxref.dequantize(
        codes, dtype, scale_codes=scales.astype(np.uint8)[:, None], block_format=block_format
    )
