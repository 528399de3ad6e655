"""Matrix product; scales of b come as (n, k / 32) or as (k / 32, n)."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3"]
E4M3 = mxref.formats.block_format("mxfp8_e4m3")


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    blocks = codes_b.shape[1] // 32
    if scales_b.shape[0] == blocks:
        scales_b = scales_b.T if scales_b.shape[1] == len(codes_b) else scales_b
    left = mxref.Blocks(codes_a, scales_a, E4M3, 1, codes_a.shape)
    right = mxref.Blocks(codes_b, np.ascontiguousarray(scales_b), E4M3, 1, codes_b.shape)
    return mxref.matmul(left, right.T)
