"""Scales from C0 on are half as large as they are."""

import numpy as np

import mxref


def decode_scale(codes):
    numbers = mxref.decode_scale(codes)
    return np.where((codes >= 0xC0) & (codes < 0xFF), numbers / np.float32(2), numbers)
