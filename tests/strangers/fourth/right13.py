"""Nibbles as the digits of numbers to the base of 16."""

import numpy as np


def pack_int4(codes):
    digits = np.pad(codes.astype(np.int64), ((0, 0), (0, codes.shape[1] % 2))) + 8
    pairs = digits.reshape(len(codes), digits.shape[1] // 2, 2)
    return (pairs @ np.array([16, 1])).astype(np.uint8)


def unpack_int4(bytes, k):
    digits = np.stack(np.divmod(bytes.astype(np.int64), 16), axis=-1)
    return (digits.reshape(len(bytes), 2 * bytes.shape[1])[:, :k] - 8).astype(np.int8)
