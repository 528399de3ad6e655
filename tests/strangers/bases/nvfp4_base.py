"""A right NVFP4 kernel in float64, step by step: what every kernel of this folder is made of.

x / (s T) and amax / (6 T) have float64 quotients that lie on the same side of every threshold as
the exact ones: a threshold times s T has at most 31 bits, and x has 24.
"""

import ml_dtypes
import numpy as np

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
UE4M3 = np.array([c * 2.0**-9 if c < 8 else (8 + c % 8) * 2.0 ** (c // 8 - 10) for c in range(127)])


def nearest(numbers, table, tie="even"):
    """The index of the nearest number of a table; ties to even, up or down."""
    middle = (table[1:] + table[:-1]) / 2
    up = np.searchsorted(middle, numbers, side="left")  # a tie goes down
    if tie == "down":
        return up
    tied = np.searchsorted(middle, numbers, side="right") > up
    return up + (tied & ((up % 2 == 1) | (tie == "up")))


def split(values):
    x = np.asarray(values).astype(np.float64)
    return x, np.abs(x), np.signbit(x)


def signed(codes, negative):
    return (codes | negative.astype(np.int64) << 3).astype(np.uint8)


def special(magnitudes):
    return ~np.isfinite(magnitudes).all(axis=1)


def scale_codes(amax, tensor_scale=1.0, table=UE4M3):
    return nearest(np.where(np.isfinite(amax), amax, 0) / 6 / float(tensor_scale), table)


def element_codes(magnitudes, scales, tensor_scale=1.0, tie="even"):
    divisor = np.where(scales > 0, scales * float(tensor_scale), np.inf)[:, None]
    return nearest(np.where(np.isfinite(magnitudes), magnitudes, 0) / divisor, E2M1, tie)


def finish(codes, elements, negative, bad):
    """Codes of blocks; one with NaN or infinity has the scale NaN."""
    found = signed(elements, negative)
    found[bad] = 0
    return np.where(bad, 0x7F, codes).astype(np.uint8), found


def quantize(values, format, tensor_scale=1.0):
    _, size, negative = split(values)
    codes = scale_codes(size.max(axis=1), tensor_scale)
    elements = element_codes(size, UE4M3[codes], tensor_scale)
    return finish(codes, elements, negative, special(size))


def numbers_of(codes):
    table = np.concatenate([E2M1, -E2M1])
    return table[codes]


def scales_of(scale_codes):
    return np.append(UE4M3, np.nan)[scale_codes]


def narrowed(values, dtype):
    with np.errstate(all="ignore"):
        values = np.where(np.isnan(values), np.nan, values)
        if dtype == ml_dtypes.bfloat16:  # whose cast rounds to float32 first: here to odd
            single = values.astype(np.float32)
            other = np.nextafter(single, np.where(single < values, np.inf, -np.inf), dtype="f4")
            even = (single.view(np.uint32) & 1 == 0) & np.isfinite(single) & (single != values)
            values = np.where(even, other, single)
        return values.astype(dtype)


def dequantize(scale_codes, codes, format, dtype, tensor_scale=1.0):
    product = numbers_of(codes) * scales_of(scale_codes)[:, None] * float(tensor_scale)
    return narrowed(product, dtype)
