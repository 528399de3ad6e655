"""Codes of four bits with an offset of 8, the first one high."""

import numpy as np


def pack_int4(codes):
    rows, k = codes.shape
    nibbles = np.zeros((rows, (k + 1) // 2 * 2), np.uint8)
    nibbles[:, :k] = codes + np.int8(8)
    return nibbles[:, 0::2] << 4 | nibbles[:, 1::2]


def unpack_int4(bytes, k):
    rows = len(bytes)
    memory = np.ascontiguousarray(bytes).ravel()
    row, column = np.indices((rows, k))
    byte = memory[row * (k // 2) + column // 2]
    return (np.where(column % 2, byte & 15, byte >> 4).astype(np.int8) - 8).astype(np.int8)
