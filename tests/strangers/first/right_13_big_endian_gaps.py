"""Right: by way of big-endian floats that lie backwards and with gaps in memory.
Kind: right
True cause: nothing is wrong (big-endian, non-contiguous intermediate buffers)
"""

import first_base as base
import numpy as np

FORMATS = ["e4m3", "mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]


def spread(values: np.ndarray) -> np.ndarray:
    """The numbers as big-endian float64, backwards, in every third place of a buffer."""
    x = base.wide(values)
    buffer = np.full((*x.shape[:-1], 3 * x.shape[-1]), np.nan, ">f8")
    view = buffer[..., ::-1][..., ::3]
    view[...] = x
    return view


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Blocks, from the spread buffer."""
    return base.quantize(spread(values), block_format)


def encode(values: np.ndarray, format: str) -> np.ndarray:
    """Codes, from the spread buffer."""
    return base.encode(spread(values), format)


quantize_tensor = base.tensor_by(quantize)
