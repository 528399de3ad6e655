"""Tensors in blocks, always along the last axis of a turned copy that is turned back."""

import numpy as np

import mxref


def quantize_tensor(values, block_format, axis):
    turned = np.asfortranarray(np.moveaxis(values, axis, -1))
    blocks = mxref.quantize(turned[::-1], block_format, axis=-1)
    scales, codes = blocks.scale_codes[::-1], blocks.codes[::-1]
    back = [np.moveaxis(part, -1, axis) for part in (scales, codes)]
    return tuple(np.ascontiguousarray(part) for part in back)
