"""Golden vectors: coverage models, cases, records, files and their checks."""

from mxref.golden.read import VectorError, read_vectors, vectors_folder
from mxref.golden.records import Case, VectorFile
from mxref.golden.regen import build, check, write

__all__ = [
    "Case",
    "VectorError",
    "VectorFile",
    "build",
    "check",
    "read_vectors",
    "vectors_folder",
    "write",
]
