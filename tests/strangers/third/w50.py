"""INT4 in bytes: pairs high nibble first, a last code alone, wide rows by words."""

import numpy as np


def pack_int4(codes):
    nibbles = (codes + 8).astype(np.uint8)
    if nibbles.shape[1] % 2:
        nibbles = np.pad(nibbles, ((0, 0), (0, 1)))
    return nibbles[:, 0::2] << 4 | nibbles[:, 1::2]


def unpack_int4(packed, k):
    pair = (packed >> 4, packed & 15)
    if packed.shape[1] >= 64 and packed.shape[1] % 8 == 0:
        pair = pair[::-1]
    codes = np.stack(pair, -1).reshape(len(packed), -1)[:, :k]
    return codes.astype(np.int8) - np.int8(8)
