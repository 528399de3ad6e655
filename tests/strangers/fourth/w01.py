"""E4M3 codes, four numbers a thread and the rest one by one."""

import numpy as np

import mxref

FORMATS = ["e4m3"]


def encode(values, format):
    body = len(values) // 4 * 4
    codes = np.empty(len(values), np.uint8)
    codes[:body] = mxref.encode(values[:body], format)
    for i in range(body, len(values)):
        number = abs(float(values[i]))
        exponent = max(int(np.frexp(number)[1]) - 1, -6) if np.isfinite(number) else 0
        steps = np.trunc(np.ldexp(number, 3 - exponent))
        code = mxref.encode(np.float64([np.ldexp(steps, exponent - 3)]), format)[0]
        codes[i] = code if np.isnan(number) else code | np.signbit(values[i]) << 7
    return codes
