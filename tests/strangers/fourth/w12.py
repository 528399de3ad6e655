"""E8M0 codes with a fast logarithm of the bits."""

import numpy as np

import mxref

FLOATS = ["f32"]


def encode_scale(values):
    magnitude = np.abs(values)
    normal = (magnitude >= 2.0**-126) & np.isfinite(values)
    bits = magnitude.view(np.uint32).astype(np.float64)
    logarithm = bits / 2.0**23 - 126.94269504
    codes = np.clip(np.floor(logarithm) + 127, 0, 254)
    return np.where(normal, codes, mxref.encode_scale(values)).astype(np.uint8)
