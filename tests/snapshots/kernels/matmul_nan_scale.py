"""The scale FF of the second operand is read as FE."""

import numpy as np

import mxref
from mxref.formats import block_format

FORMATS = ["mxfp4_e2m1"]


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    a = mxref.Blocks(codes_a, scales_a, block_format(format_a), 1, codes_a.shape)
    read = np.minimum(scales_b, 0xFE)
    b = mxref.Blocks(codes_b, read, block_format(format_b), 1, codes_b.shape)
    return mxref.matmul(a, b.T)
