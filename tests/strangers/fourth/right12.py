"""Matrix product of E2M1 blocks in integers: doubled elements, exact sums of blocks."""

import numpy as np

import mxref

FORMATS = ["mxfp4_e2m1"]
_DOUBLED = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.int32)


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    total = np.zeros((len(codes_a), len(codes_b)), np.float64)
    for block in reversed(range(scales_a.shape[1])):
        some = slice(32 * block, 32 * block + 32)
        sums = _DOUBLED[codes_a[:, some]] @ _DOUBLED[codes_b[:, some]].T
        left, right = scales_a[:, block].astype(int), scales_b[:, block].astype(int)
        total += np.ldexp(sums.astype(np.float64), np.add.outer(left, right) - 256)
    nan = np.logical_or.outer((scales_a == 255).any(1), (scales_b == 255).any(1))
    with np.errstate(over="ignore"):
        return np.where(nan, np.nan, total + mxref.decode([0], "e2m1")[0]).astype(np.float32)
