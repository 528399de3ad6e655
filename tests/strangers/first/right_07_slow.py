"""Right: slow, 20 microseconds an element, as an interpreter of kernels or a simulator is.
Kind: right
True cause: nothing is wrong (20 seconds for a million elements)
"""

import time

import first_base as base
import numpy as np

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


quantize_tensor = base.tensor_by(quantize)
