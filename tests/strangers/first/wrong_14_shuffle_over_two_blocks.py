"""Two blocks to a warp, but the shuffle starts at 16 lanes: even rows include the next row.
Kind: lane
True cause: scale of even rows too large where the next row (neighbour) has a larger maximum
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Sixteen lanes to a block, two numbers to a lane; shfl_down by 16, 8, 4, 2, 1."""
    amax = base.block_amax(values)
    pairs = len(amax) // 2 * 2
    amax[0:pairs:2] = np.maximum(amax[0:pairs:2], amax[1:pairs:2])
    scales = base.shared_scale(amax, block_format)
    return scales, base.encode_blocks(values, scales, block_format)


def quantize_tensor(
    values: np.ndarray, block_format: str, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scale codes and codes of a matrix, through the kernel for blocks."""
    return base.quantize_tensor_by(quantize, values, block_format, axis)
