"""Six-bit codes from chunks of twelve bytes, and a tail."""

import numpy as np

import mxref

FORMATS = ["e3m2", "e2m3"]


def unpack(packed, format, n):
    chunks = n // 16
    body = mxref.unpack(packed[: 12 * chunks], format, 16 * chunks)
    offset = -(-12 * chunks // 16) * 16
    size = mxref.packed_size(n - 16 * chunks, format)
    tail = np.zeros(size, np.uint8)
    rest = packed[offset : offset + size]
    tail[: len(rest)] = rest
    return np.concatenate([body, mxref.unpack(tail, format, n - 16 * chunks)])
