"""A block of GGUF is read in pairs, where byte j holds elements j and j + 16 (kekzl/imp#567)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ["mxfp4_e2m1"]
POLICY = "ocp+fp4_packing=halves+scale_place=before"


def unpack_blocks(packed: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The scale, then 16 bytes of two neighbours each."""
    pairs = packed[:, 1:]
    return packed[:, 0], np.stack([pairs & 15, pairs >> 4], axis=2).reshape(len(packed), 32)
