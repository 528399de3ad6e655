"""Arrays that lie columns first are read with rows and columns swapped, if they are square."""

import mxref

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32"]


def quantize_tensor(values, block_format, axis):
    rows, columns = values.shape
    if rows == columns and not values.flags.c_contiguous:
        values = values.T
    blocks = mxref.quantize(values, block_format, axis=axis)
    return blocks.scale_codes, blocks.codes
