"""Matrix product in tiles of 64 x 64 with masked stores."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1"]
E2M1 = mxref.formats.block_format("mxfp4_e2m1")
TILE = 64


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    left = mxref.Blocks(codes_a, scales_a, E2M1, 1, codes_a.shape)
    right = mxref.Blocks(codes_b, scales_b, E2M1, 1, codes_b.shape)
    product = mxref.matmul(left, right.T)
    m, n = product.shape
    stored = np.zeros((m, n), np.float32)
    last = (n - 1) // TILE * TILE
    rest = m - (m - 1) // TILE * TILE
    stored[:, :last] = product[:, :last]
    stored[:, last : last + rest] = product[:, last : last + rest]
    return stored
