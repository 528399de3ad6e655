"""MXFP4 quantizer: two rows at a time, and a single row at the end if there is one."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1"]


def quantize(values, block_format):
    even = len(values) // 2 * 2
    body = mxref.quantize(values[:even], block_format)
    last = mxref.quantize(values[even:], block_format, rounding="ties_to_away")
    scales = np.concatenate([body.scale_codes.reshape(-1), last.scale_codes.reshape(-1)])
    return scales, np.concatenate([body.codes, last.codes])
