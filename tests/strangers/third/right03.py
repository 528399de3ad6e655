"""Decoder that makes its numbers block by block in a generator, each from exact fractions."""

from fractions import Fraction

import numpy as np

FORMATS = ["e3m2", "e2m3", "e2m1"]
_FIELDS = {"e3m2": (3, 2, 3), "e2m3": (2, 3, 1), "e2m1": (2, 1, 1)}


def _number(code, exponent_bits, mantissa_bits, bias):
    fraction = Fraction(code & (1 << mantissa_bits) - 1, 1 << mantissa_bits)
    exponent = code >> mantissa_bits & (1 << exponent_bits) - 1
    value = (fraction + (exponent > 0)) * Fraction(2) ** (max(exponent, 1) - bias)
    return -float(value) if code >> exponent_bits + mantissa_bits else float(value)


def _numbers(codes, fields):
    for start in range(0, len(codes), 37):
        yield from (_number(int(code), *fields) for code in codes[start : start + 37])


def decode(codes, format):
    return np.fromiter(_numbers(codes, _FIELDS[format]), np.float32, len(codes))
