"""Dequantizer: scales of whole tiles of 128 rows come as 32 lanes of four."""

import mxref


def dequantize(scale_codes, codes, block_format, dtype):
    if len(scale_codes) and len(scale_codes) % 128 == 0:
        scale_codes = scale_codes.reshape(-1, 32, 4).swapaxes(1, 2).reshape(-1)
    scales = scale_codes[:, None]
    return mxref.dequantize(codes, dtype, scale_codes=scales, block_format=block_format)
