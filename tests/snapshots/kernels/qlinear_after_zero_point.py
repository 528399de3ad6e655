"""The zero point is added before the product is rounded: ties of odd zero points go another way."""

import numpy as np

FORMATS = ["int8"]


def qlinear_matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    factor = np.float32(np.float32(a_scale) * np.asarray(b_scale, np.float32)) / np.float32(y_scale)
    sums = (a.astype(np.int64) - a_zero) @ (b.astype(np.int64) - np.asarray(b_zero, np.int64))
    codes = np.rint(sums.astype(np.float32) * factor + np.float32(y_zero))
    return np.clip(codes, *(np.iinfo(a.dtype).min, np.iinfo(a.dtype).max)).astype(a.dtype)
