"""The bias is quantized, too."""

import mxref

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32"]


def linear(x, w, bias, block_format):
    if bias is not None:
        bias = mxref.quantize(bias, block_format).dequantize()
    return mxref.linear(x, w, block_format, bias=bias)
