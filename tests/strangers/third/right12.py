"""Tensor quantizer, one strip of 32 at a time, from the end, into arrays of the full size."""

import numpy as np

import mxref


def quantize_tensor(values, block_format, axis):
    lines = np.moveaxis(values, axis, 0)
    strips = -(-len(lines) // 32)
    scales = np.zeros((strips, lines.shape[1]), np.uint8)
    codes = np.zeros((32 * strips, lines.shape[1]), np.uint8)
    for strip in reversed(range(strips)):
        part = np.zeros((lines.shape[1], 32), values.dtype)
        rows = lines[32 * strip : 32 * strip + 32]
        part[:, : len(rows)] = rows.T
        blocks = mxref.quantize(part, block_format)
        scales[strip] = blocks.scale_codes.reshape(-1)
        codes[32 * strip : 32 * strip + 32] = blocks.codes.T
    return tuple(np.ascontiguousarray(np.moveaxis(part, 0, axis)) for part in (scales, codes))
