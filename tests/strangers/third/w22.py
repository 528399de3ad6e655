"""Quantizer: largest magnitudes by vector maxima, with a check for NaN beside them."""

import numpy as np

import mxref


def quantize(values, block_format):
    lanes = 31 if values.dtype == np.float64 else 32
    largest = np.fmax.reduce(np.abs(values[:, :lanes].astype(np.float64)), axis=1)
    largest[np.isnan(values[:, :16].astype(np.float64)).any(1)] = np.nan
    scales = mxref.shared_scale(largest, block_format[-4:])
    powers = mxref.decode_scale(np.where(scales == 255, 0, scales), np.float64)
    codes = mxref.encode(values.astype(np.float64) / powers[:, None], block_format[-4:])
    return scales, np.where(scales[:, None] == 255, 0, codes)
