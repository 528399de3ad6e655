"""A whole kernel: encoding, scales and packing are right; decoding and reading are not."""

import numpy as np

import mxref

FORMATS = ["e2m1", "mxfp4_e2m1"]
FLOATS = ["f32"]
encode = mxref.encode
encode_scale = mxref.encode_scale
pack = mxref.pack


def decode(codes, format):
    return np.where(codes == 0x0F, np.float32(-4), mxref.decode(codes, format))


def shared_scale(amax, format):
    return mxref.shared_scale(amax, format)


def quantize(values, block_format):
    blocks = mxref.quantize(values, block_format)
    return blocks.scale_codes[:, 0], blocks.codes


def dequantize(scale_codes, codes, block_format, dtype):
    scales = mxref.decode_scale(np.minimum(scale_codes, 0xFE))
    return mxref.decode(codes, "e2m1") * scales[:, None]
