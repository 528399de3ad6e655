"""One entry of the table is wrong."""

import numpy as np

import mxref

FORMATS = ["e4m3"]


def decode(codes, format):
    return np.where(codes == 0x3B, np.float32(3), mxref.decode(codes, format))
