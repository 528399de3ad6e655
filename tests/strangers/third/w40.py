"""Linear layer: the rows of all sequences as one matrix, put back into sequences."""

import numpy as np

import mxref


def linear(x, w, bias, block_format):
    sequences, rows, k = x.shape
    flat = x.transpose(1, 0, 2).reshape(-1, k)
    out = mxref.linear(flat, w, block_format, bias=bias)
    return np.ascontiguousarray(out.reshape(sequences, rows, len(w)))
