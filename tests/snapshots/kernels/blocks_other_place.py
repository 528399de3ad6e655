"""Puts scales behind their blocks, where it claims them before."""

import mxref

FORMATS = ["mxfp8_e4m3"]
POLICY = "ocp+scale_place=before"
_AFTER = "ocp+scale_place=after"


def pack_blocks(scale_codes, codes, block_format):
    packed = mxref.pack_blocks(scale_codes, codes.reshape(-1), block_format, _AFTER)
    return packed.reshape(len(scale_codes), -1)


def unpack_blocks(packed, block_format):
    scales, codes = mxref.unpack_blocks(packed, block_format, _AFTER)
    return scales.reshape(-1), codes.reshape(-1, 32)
