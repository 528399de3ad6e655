"""Numbers of blocks, computed in the dtype of the result."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e5m2", "mxfp8_e4m3"]


def dequantize(scale_codes, codes, block_format, dtype):
    scales = mxref.decode_scale(scale_codes)
    if np.dtype(dtype) != np.float16:
        return mxref.dequantize(
            codes, dtype, scale_codes=scale_codes[:, np.newaxis], block_format=block_format
        )
    with np.errstate(all="ignore"):
        narrow = scales.astype(np.float16)[:, np.newaxis].astype(np.float32)
        elements = mxref.decode(codes, block_format.split("_")[1])
        return (elements * narrow).astype(np.float16)
