"""Right, in one order of additions."""

from mxref import integer

FORMATS = ["int8"]


def linear_qcs8w(x, w, scales):
    return integer.linear_qcs8w(x, w, scales, "scale_last")
