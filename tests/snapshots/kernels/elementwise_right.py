"""Right."""

from mxref import integer

FORMATS = ["int8", "uint8"]
qlinear_add, qlinear_mul = integer.qlinear_add, integer.qlinear_mul
