"""Blocks row by row, the scale's exponent from Python's frexp, last row first."""

import math

import numpy as np

import mxref

FORMATS = ["mxfp8_e4m3", "mxfp4_e2m1"]


def quantize(values, block_format):
    emax = {"mxfp8_e4m3": 8, "mxfp4_e2m1": 2}[block_format]
    scales, codes = np.zeros(len(values), np.uint8), np.zeros(values.shape, np.uint8)
    for row in reversed(range(len(values))):
        numbers = values[row].astype(np.float64)
        largest = float(np.abs(numbers).max())
        if not math.isfinite(largest):
            scales[row] = 255
            continue
        exponent = math.frexp(largest)[1] - 1 - emax if largest else -127
        scales[row] = min(max(exponent, -127), 127) + 127
        shifted = np.ldexp(numbers, 127 - int(scales[row]))
        codes[row] = mxref.encode(shifted, block_format.split("_")[1])
    return scales, codes
