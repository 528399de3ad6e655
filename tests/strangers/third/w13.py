"""Scale decoder: vectors of eight scales, and a loop for the rest."""

import numpy as np

import mxref


def decode_scale(codes):
    body = codes.size // 8 * 8
    out = np.empty(codes.size, np.float32)
    out[:body] = mxref.decode_scale(codes[:body])
    with np.errstate(over="ignore"):
        for i in range(body, codes.size):
            exponent = codes[i] - np.uint8(127)
            out[i] = np.nan if codes[i] == 255 else np.exp2(np.float32(exponent))
    return out
