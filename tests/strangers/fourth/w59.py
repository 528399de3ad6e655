"""Linear layer with int8 weights; a scale for each group of 32 columns."""

import numpy as np

from mxref import integer

FORMATS = ["int8", "int8_groups"]


def linear_qcs8w(x, w, scales):
    if scales.ndim == 1:
        return integer.linear_qcs8w(x, w, scales)
    group = np.minimum(np.arange(w.shape[1]) // 32, scales.shape[1] - 1)
    return integer.linear_qcs8w(x, w, np.ascontiguousarray(scales[:, group]))
