"""Tensor quantizer for both axes: transposed where the summed axis is not yet the last."""

import numpy as np

import mxref


def quantize_tensor(values, block_format, axis):
    summed = values.shape[axis]
    turned = values if values.shape[-1] == summed else values.T
    blocks = mxref.quantize(turned, block_format, axis=1)
    scales, codes = blocks.scale_codes, blocks.codes
    if turned is not values:
        scales, codes = scales.T, codes.T
    shape = list(values.shape)
    shape[axis] = -(-summed // 32)
    scales = np.ascontiguousarray(scales).reshape(shape)
    shape[axis] *= 32
    return scales, np.ascontiguousarray(codes).reshape(shape)
