"""Product for operands in either order: the one with fewer rows goes to the left."""

import numpy as np

import mxref


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    a = mxref.dequantize(codes_a, np.float64, scale_codes=scales_a, block_format=format_a)
    b = mxref.dequantize(codes_b, np.float64, scale_codes=scales_b, block_format=format_b)
    swapped = len(b) <= len(a)
    with np.errstate(all="ignore"):
        out = (b @ a.T if swapped else a @ b.T).astype(np.float32)
    return out.T.copy() if len(b) < len(a) else out
