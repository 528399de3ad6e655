"""Products with alpha, beta, C and a bias, rounded once."""

import mxref
from mxref.operations.addmm import addmm_blocks

FORMATS = ["mxfp8_e4m3-mxfp8_e4m3-f32"]


def addmm(*arguments):
    a, b, more = addmm_blocks(*arguments)
    return mxref.matmul(a, b.T, arguments[4].dtype, **more)
