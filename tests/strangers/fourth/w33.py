"""Scale codes row by row, four at a time and then the rest."""

import numpy as np


def pack_scales(scale_codes):
    rows, columns = scale_codes.shape
    body = columns // 4 * 4
    source = scale_codes.ravel()
    packed = np.empty((rows, columns), np.uint8)
    packed[:, :body] = scale_codes[:, :body]
    for row in range(rows):
        for column in range(body, columns):
            packed[row, column] = source[row * body + column]
    return packed.ravel()
