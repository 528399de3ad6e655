"""Matrix product; long K is split over four thread blocks."""

import mxref

FORMATS = ["mxfp8_e4m3"]
E4M3 = mxref.formats.block_format("mxfp8_e4m3")


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    blocks = scales_a.shape[1]
    if blocks >= 16:
        blocks = blocks // 4 * 4
    k = 32 * blocks
    a, b = codes_a[:, :k].copy(), codes_b[:, :k].copy()
    left = mxref.Blocks(a, scales_a[:, :blocks].copy(), E4M3, 1, a.shape)
    right = mxref.Blocks(b, scales_b[:, :blocks].copy(), E4M3, 1, b.shape)
    return mxref.matmul(left, right.T)
