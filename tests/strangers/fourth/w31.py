"""E2M1 codes two to a byte, the first one low."""

import numpy as np

FORMATS = ["e2m1"]


def pack(codes, format):
    pairs = len(codes) // 2
    packed = np.zeros(-(-len(codes) // 2), np.uint8)
    packed[:pairs] = codes[: 2 * pairs : 2] | codes[1 : 2 * pairs : 2] << 4
    if len(codes) % 2:
        packed[pairs] = codes[-1] << 4
    return packed


def unpack(packed, format, n):
    codes = np.empty(2 * len(packed), np.int8)
    codes[0::2] = packed & 15
    codes[1::2] = packed.view(np.int8) >> 4
    return codes[:n]
