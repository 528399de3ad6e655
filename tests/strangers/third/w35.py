"""Product in splits of 256 along k, added up in double."""

import numpy as np

import mxref


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    a = mxref.dequantize(codes_a, np.float64, scale_codes=scales_a, block_format=format_a)
    b = mxref.dequantize(codes_b, np.float64, scale_codes=scales_b, block_format=format_b)
    out = np.zeros((len(a), len(b)))
    for start in range(0, max(a.shape[1] - 32, 1), 256):
        out += a[:, start : start + 256] @ b[:, start : start + 256].T
    with np.errstate(over="ignore"):
        return out.astype(np.float32)
