"""Both halves of a byte are swapped."""

from mxref import integer

FORMATS = ["int4"]


def linear_qcs4w(x, packed, scales):
    return integer.linear_qcs4w(x, packed, scales, nibbles="low_first")
