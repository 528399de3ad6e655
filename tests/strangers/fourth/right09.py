"""Shared scales from the exponent in the hexadecimal text of a number."""

import math

import numpy as np

_EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}


def shared_scale(amax, format):
    codes = []
    for number in map(float, amax):
        if not math.isfinite(number):
            codes.append(255)
            continue
        text = abs(number).hex() if number else "0x1p-1000"
        lead, exponent = text.split("p")
        shift = 0 if lead.startswith("0x1") else math.frexp(number)[1] - 1 - int(exponent)
        codes.append(min(max(int(exponent) + shift - _EMAX[format] + 127, 0), 254))
    return np.array(codes, np.int32)
