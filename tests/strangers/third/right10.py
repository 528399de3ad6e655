"""Bytes by the bits: codes are unpacked to single bits, and the bits packed to bytes."""

import numpy as np

_BITS = {"e5m2": 8, "e4m3": 8, "int8": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4}


def pack(codes, format):
    full = np.pad(codes, (0, -len(codes) % {4: 2, 6: 4, 8: 1}[_BITS[format]]))
    bits = np.unpackbits(full.reshape(-1, 1), axis=1, bitorder="little")
    return np.packbits(bits[:, : _BITS[format]].reshape(-1), bitorder="little")


def unpack(packed, format, n):
    bits = np.unpackbits(np.ascontiguousarray(packed), bitorder="little")
    bits = bits[: n * _BITS[format]].reshape(n, _BITS[format])
    return np.packbits(bits, axis=1, bitorder="little").reshape(n)
