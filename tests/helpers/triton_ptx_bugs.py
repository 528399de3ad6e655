"""Bugs planted in the compiled Triton kernels: where each is asked for, and what finds it."""

__all__ = ["FOUND_BY"]

OUTSIDE = "is out of bounds"
#: An architecture, and words of what is said of the first thing that is wrong.
FOUND_BY = {
    "loads without a mask": ("90", OUTSIDE),
    "codes without a mask": ("90", OUTSIDE),
    "scales without a mask": ("90", OUTSIDE),
    "offsets of 32 bits within a tile": ("90", OUTSIDE),
    "tile offsets of 32 bits": ("90", "seed 1"),
    "a seed that is specialised": ("90", "kernels of two seeds"),
    "exchanged operands of a conversion": ("90", "mxfp8_e4m3"),
    "exchanged words of a conversion": ("90", "mxfp8_e4m3"),
    "codes of a block with a NaN": ("90", "mxfp8_e4m3"),
    "a factor by half": ("90", "mxfp8_e4m3"),
    "a product that flushes": ("90", "subnormal numbers"),
    "another format's conversion": ("90", "mxfp8_e4m3"),
    "a conversion that does not saturate": ("90", "not saturated"),
    "FP6 packed by words of 16 bits": ("100", "mxfp6_e2m3"),
    "a conversion that an architecture lacks": ("80", "ptxas"),
}
