"""Right: slow, 20 microseconds an element, as an interpreter of kernels or a simulator is.
Kind: right
True cause: nothing is wrong (20 seconds for a million elements)
"""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

FORMATS = ["e4m3", "mxfp8_e4m3"]
FLOATS = ["f32"]

SECONDS = 20e-6


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Quantize, and take the time of a simulator for it."""
    time.sleep(SECONDS * values.size)
    return base.quantize(values, block_format)


def encode(values: np.ndarray, format: str) -> np.ndarray:
    """Encode, and take the time of a simulator for it."""
    time.sleep(SECONDS * values.size)
    return base.encode(values, format)


def quantize_tensor(
    values: np.ndarray, block_format: str, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scale codes and codes of a matrix, through the kernel for blocks."""
    return base.quantize_tensor_by(quantize, values, block_format, axis)
