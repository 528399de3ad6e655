"""Numbers of blocks column by column, in float64 with ldexp, then narrowed."""

import numpy as np

import mxref


def dequantize(scale_codes, codes, block_format, dtype):
    element = mxref.formats.block_format(block_format).element.name
    exponents = scale_codes.astype(np.int32) - 127
    columns = []
    with np.errstate(all="ignore"):
        for column in codes.T:
            numbers = np.ldexp(mxref.decode(column, element, np.float64), exponents)
            numbers[(scale_codes == 255) | np.isnan(numbers)] = np.nan
            columns.append(numbers.astype(dtype))
        return np.stack(columns, axis=1)
