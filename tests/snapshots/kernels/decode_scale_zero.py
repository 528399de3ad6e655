"""The scale 00 becomes zero."""

import numpy as np

import mxref


def decode_scale(codes):
    return np.where(codes == 0, np.float32(0), mxref.decode_scale(codes))
