"""Shared scales by the decimal logarithm and one product, in float32."""

import numpy as np

import mxref

_EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}


def shared_scale(amax, format):
    wide = amax.astype(np.float32)
    ordinary = (wide > 2.0**-100) & (wide < 2.0**100)
    log = np.log10(np.where(ordinary, wide, np.float32(1))) * np.float32(3.321928094887362)
    codes = np.floor(log).astype(np.int32) - _EMAX[format] + 127
    return np.where(ordinary, codes, mxref.shared_scale(amax, format))
