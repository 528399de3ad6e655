"""Blocks with their scale before them: eight blocks at a time, equal blocks only once."""

import numpy as np

import mxref

POLICY = "ocp+scale_place=before"


def pack_blocks(scale_codes, codes, block_format):
    body = len(scale_codes) // 8 * 8
    scales = scale_codes.copy()
    scales[body:] = scales[body : body + 1]
    out = mxref.pack_blocks(scales[:, None], codes, block_format, POLICY)
    return out.reshape(len(scales), -1)


def unpack_blocks(packed, block_format):
    keys = np.ascontiguousarray(packed[:, :8]).view(np.uint64)[:, 0]
    _, first, back = np.unique(keys, return_index=True, return_inverse=True)
    once = packed[first][:, None]
    scales, codes = mxref.unpack_blocks(once, block_format, POLICY)
    return scales.reshape(-1)[back], codes.reshape(len(first), 32)[back]
