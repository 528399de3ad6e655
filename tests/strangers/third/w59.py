"""Weight-only layer of 4 bits: all nibbles in a row, cut into rows of k."""

import numpy as np

from mxref import integer


def linear_qcs4w(x, w, scales):
    n, k = len(w), x.shape[1]
    nibbles = np.stack([w >> 4, w & 15], -1).reshape(-1).astype(np.int8) - np.int8(8)
    return integer.linear_qcs8w(x, nibbles[: n * k].reshape(n, k), scales)
