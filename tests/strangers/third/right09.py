"""Dequantizer: the element by a table, the scale as an exponent added in double."""

import numpy as np

import mxref

_COUNT = {"mxfp8": 256, "mxint8": 256, "mxfp6": 64, "mxfp4": 16}


@np.errstate(all="ignore")
def dequantize(scale_codes, codes, block_format, dtype):
    every = np.arange(_COUNT[block_format.split("_")[0]], dtype=np.uint8)
    table = mxref.decode(every, block_format[-4:], np.float64)
    exponents = scale_codes.astype(np.int32)[:, None] - 127
    products = np.ldexp(table[codes], exponents)
    products[(scale_codes == 255), :] = np.nan
    return np.asfortranarray(products).astype(dtype)
