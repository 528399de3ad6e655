"""With memory that is not aligned to 16 bytes the peeled head of each row is not in the maximum.
Kind: size
True cause: unaligned memory (address not a multiple of 16): first elements missing from amax
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]

VECTOR_BYTES = 16


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Vector loads from the first aligned address on; scalar code before it."""
    values = np.ascontiguousarray(values)
    address = values.__array_interface__["data"][0]
    head = (-address % VECTOR_BYTES) // values.itemsize  # the same in every row of 32
    amax = base.block_amax(values[:, head:])  # the scalar head only encodes
    scales = base.shared_scale(amax, block_format)
    return scales, base.encode_blocks(values, scales, block_format)
