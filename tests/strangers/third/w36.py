"""Product: a matrix by its rows, a single row by a path of its own that works in half."""

import numpy as np

import mxref


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    a = mxref.dequantize(codes_a, np.float64, scale_codes=scales_a, block_format=format_a)
    b = mxref.dequantize(codes_b, np.float64, scale_codes=scales_b, block_format=format_b)
    with np.errstate(all="ignore"):
        if len(a) == 1:
            total = np.zeros((1, len(b)), np.float16)
            for start in range(0, a.shape[1], 8):
                total += (a[:, start : start + 8] @ b[:, start : start + 8].T).astype(np.float16)
            return total.astype(np.float32)
        return (a @ b.T).astype(np.float32)
