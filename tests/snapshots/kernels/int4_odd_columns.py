"""The last code of an odd number is lost, and codes of odd columns are read without a sign."""

import numpy as np

from mxref import integer


def pack_int4(codes):
    packed = integer.pack_int4(codes)
    if codes.shape[1] % 2:
        packed[:, -1] = 0
    return packed


def unpack_int4(packed, k):
    codes = integer.unpack_int4(packed, k)
    return np.where((codes < 0) & (np.arange(k) % 2 == 1), codes + 16, codes).astype(np.int8)
