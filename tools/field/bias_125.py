"""Scale codes are stored two too small, with a bias of 125 (compressed-tensors#538)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS = ["mxfp4_e2m1"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The scale's exponent, 127 - 2."""
    blocks = mxref.quantize(values, block_format)
    return np.maximum(blocks.scale_codes.astype(int) - 2, 0).astype(np.uint8), blocks.codes
