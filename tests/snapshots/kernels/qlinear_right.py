"""Right."""

from mxref import integer

FORMATS = ["int8", "uint8"]
qlinear_matmul = integer.qlinear_matmul
