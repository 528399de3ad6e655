"""The maximum of a tail block is taken of 32 numbers in memory, so of the next row's, too.
Kind: size
True cause: tail block (length not a multiple of 32): amax reads past the end into the next row
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]

quantize = base.quantize


def quantize_tensor(
    values: np.ndarray, block_format: str, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Loads are bounded by the end of the buffer, stores by the end of the row."""
    blocks = base.tensor_blocks(values, axis)
    lines, count, _ = blocks.shape
    flat = base.wide(np.moveaxis(np.asarray(values), axis, -1)).ravel()
    flat = np.append(flat, np.zeros(base.BLOCK))
    length = values.shape[axis]
    start = np.arange(lines)[:, None] * length + np.arange(count) * base.BLOCK
    loaded = flat[np.minimum(start[..., None] + np.arange(base.BLOCK), flat.size - 1)]
    scales = base.shared_scale(base.block_amax(loaded), block_format)
    codes = base.encode_blocks(blocks, scales, block_format).reshape(lines, -1)
    scales, codes = np.moveaxis(scales, -1, axis), np.moveaxis(codes, -1, axis)
    return np.ascontiguousarray(scales), np.ascontiguousarray(codes)
