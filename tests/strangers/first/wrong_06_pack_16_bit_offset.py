"""The offset in bits of a packed code is kept in 16 bits: longer outputs wrap to their start.
Kind: size
True cause: pack of many codes (more than 65536 bits): offset overflows 16 bits and wraps around
"""

import first_base as base
import numpy as np

FORMATS = ["e2m1", "e3m2"]
FLOATS = ["f32", "bf16"]

unpack = base.unpack


def pack(codes: np.ndarray, format: str) -> np.ndarray:
    """One thread to a code, which ORs its bits into the output."""
    bits = base.element(format).bits
    size = base.pack(np.zeros(len(codes), np.uint8), format).size
    offset = (np.arange(len(codes)) * bits) & 0xFFFF  # uint16_t offset
    lit = np.unpackbits(np.asarray(codes, np.uint8)[:, None], axis=1, bitorder="little")
    stream = np.zeros(8 * size, np.uint8)
    for bit in range(bits):
        stream[(offset + bit)[lit[:, bit] == 1]] = 1
    return np.packbits(stream, bitorder="little")
