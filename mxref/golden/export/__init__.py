"""Export: encoders as tables in C, CUDA and Verilog, and vectors as arrays."""

from mxref.golden.export.array_files import check, files, write
from mxref.golden.export.arrays import read_npy
from mxref.golden.export.tables import EncodeTable, encode_table

__all__ = ["EncodeTable", "check", "encode_table", "files", "read_npy", "write"]
