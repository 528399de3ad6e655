"""Products with alpha, beta, C and a bias, which add C as it is."""

import mxref
from mxref.operations.addmm import addmm_blocks

FORMATS = ["mxfp8_e4m3-mxfp8_e4m3-f32"]


def addmm(*arguments):
    a, b, more = addmm_blocks(*arguments)
    return mxref.matmul(a, b.T, arguments[4].dtype, **{**more, "beta": 1.0})
