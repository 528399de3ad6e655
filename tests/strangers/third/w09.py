"""E4M3 decoder: the code's bits are moved to those of float32, the bias by one product."""

import numpy as np

FORMATS = ["e4m3"]


def decode(codes, format):
    wide = codes.astype(np.uint32)
    bits = (wide & 0x7F) << 20 | (wide & 0x80) << 24
    values = bits.view(np.float32) * np.float32(2.0**120)
    values[codes == 0x7F] = np.nan
    return values
