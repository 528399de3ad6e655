"""Linear layer with 4-bit weights: unsigned nibbles first, then the offset of 8."""

import numpy as np


def linear_qcs4w(x, w, scales):
    rows, k = x.shape
    nibbles = np.stack([w >> 4, w & 15], axis=2).reshape(len(w), -1).astype(np.float64)
    memory = np.append(x.astype(np.float64).ravel(), [0.0])
    wide = memory[np.arange(rows)[:, np.newaxis] * k + np.arange(nibbles.shape[1])]
    groups = scales.reshape(len(w), -1).astype(np.float64)
    size = k // groups.shape[1]
    group = np.minimum(np.arange(nibbles.shape[1]) // size, groups.shape[1] - 1)
    sums = wide @ (nibbles * groups[:, group]).T
    offset = 8 * np.add.outer(x.astype(np.float64).sum(axis=1), np.zeros(len(w)))
    return (sums - offset * groups[:, 0]).astype(np.float32)
