"""Product of finite numbers by exact sums: every output from all its terms with fsum."""

import math

import numpy as np

import mxref


@np.errstate(all="ignore")
def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    a = mxref.dequantize(codes_a, np.float64, scale_codes=scales_a, block_format=format_a)
    b = mxref.dequantize(codes_b, np.float64, scale_codes=scales_b, block_format=format_b)
    out = np.empty((len(b), len(a)))
    for i, row in enumerate(a):
        for j, terms in enumerate(row * b):
            finite = np.isfinite(terms).all()
            out[j, i] = math.fsum(terms.tolist()) if finite else terms.sum()
    return out.astype(np.float32).T
