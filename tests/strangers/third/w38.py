"""Product of MXFP8: numbers as the hardware holds them, partial sums in a narrow register."""

import numpy as np

import mxref

FORMATS = ["mxfp8_e5m2", "mxfp8_e4m3"]


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    normal = 0x07 if format_a == "mxfp8_e4m3" else 0x00
    codes_a = np.where((codes_a & 0x7F) <= normal, codes_a & 0x80, codes_a)
    a = mxref.dequantize(codes_a, np.float64, scale_codes=scales_a, block_format=format_a)
    b = mxref.dequantize(codes_b, np.float64, scale_codes=scales_b, block_format=format_b)
    with np.errstate(all="ignore"):
        out = np.zeros((len(a), len(b)))
        for start in range(0, a.shape[1], 512):
            out += a[:, start : start + 512] @ b[:, start : start + 512].T
            if a.shape[1] >= 512:
                out = out.astype("bfloat16").astype(np.float64)
        return out.astype(np.float32)
