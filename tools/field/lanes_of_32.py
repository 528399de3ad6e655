"""A block of 16 takes its scale from 32 lanes, but in the first 32 (mlx#3557)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["nvfp4"], ["f32"]


def quantize(
    values: NDArray[Any], block_format: str, tensor_scale: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The blocks, from such as have the larger amax in a lane."""
    own = np.abs(values).max(axis=1)
    amax = own.copy()
    for first in range(2, len(amax) - 1, 2):
        amax[first : first + 2] = amax[first : first + 2].max()

    def with_amax_in(lane: int) -> mxref.Blocks:
        changed = values.copy()
        changed[:, lane] = np.where(amax > own, amax, changed[:, lane])
        return mxref.quantize(changed, block_format, tensor_scale=tensor_scale)

    blocks = with_amax_in(0)
    codes = blocks.codes.reshape(values.shape).copy()
    codes[:, 0] = with_amax_in(1).codes.reshape(values.shape)[:, 0]
    return blocks.scale_codes.reshape(-1), codes
