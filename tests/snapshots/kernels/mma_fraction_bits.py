"""Keeps 14 bits of what it adds, not 13."""

import dataclasses

import mxref
from mxref.operations.matrix_units import unit_numbers

FORMATS = ["hopper_fp8-e4m3-e4m3"]
ADDER = dataclasses.replace(mxref.ADDERS["hopper_fp8"], fraction_bits=14)


def mma(a, b, c, adder, format_a, format_b):
    return mxref.mma(unit_numbers(a, format_a), unit_numbers(b, format_b), c, adder=ADDER)
