"""Matrix product in tiles of 128 along K; the accumulator is kept between them."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3"]
E4M3 = mxref.formats.block_format("mxfp8_e4m3")


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    total = None
    for block in range(0, scales_a.shape[1], 4):
        sides = []
        for scales, codes in ((scales_a, codes_a), (scales_b, codes_b)):
            some = codes[:, 32 * block : 32 * block + 128].copy()
            part = scales[:, block : block + 4].copy()
            sides.append(mxref.Blocks(some, part, E4M3, 1, some.shape))
        product = mxref.matmul(sides[0], sides[1].T)
        total = product if total is None else total.astype("bfloat16").astype(np.float32) + product
    return total
