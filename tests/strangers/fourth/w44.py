"""Matrix product of 8-bit operands; one decoder for each width."""

import mxref

FORMATS = ["mxfp8_e4m3", "mxfp8_e5m2"]
_BITS = {"mxfp8_e4m3": 8, "mxfp8_e5m2": 8, "mxfp4_e2m1": 4}


def _blocks(codes, scales, name):
    return mxref.Blocks(codes, scales, mxref.formats.block_format(name), 1, codes.shape)


def matmul(scales_a, codes_a, scales_b, codes_b, format_a, format_b):
    decoders = {_BITS[format_b]: format_b}
    decoders[_BITS[format_a]] = format_a
    left = _blocks(codes_a, scales_a, decoders[_BITS[format_a]])
    right = _blocks(codes_b, scales_b, decoders[_BITS[format_b]])
    return mxref.matmul(left, right.T)
