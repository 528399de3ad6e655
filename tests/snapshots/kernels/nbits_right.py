"""Weights in blocks by onnxruntime's rule."""

from mxref import integer

FORMATS = ["uint4", "uint4_zeros"]
matmul_nbits = integer.matmul_nbits
