"""Right: rows and numbers go in chunks of seven, with a shorter one at the end.
Kind: right
True cause: nothing is wrong (chunks of 7)
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

FORMATS = ["int8", "mxint8"]
FLOATS = ["f32", "bf16"]

CHUNK = 7


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Seven blocks at a time."""
    n = values.shape[0]
    scales, codes = np.empty(n, np.uint8), np.empty((n, base.BLOCK), np.uint8)
    for at in range(0, n, CHUNK):
        part = slice(at, at + CHUNK)
        scales[part], codes[part] = base.quantize(values[part], block_format)
    return scales, codes


def encode(values: np.ndarray, format: str) -> np.ndarray:
    """Seven numbers at a time."""
    codes = np.empty(values.shape, np.uint8)
    for at in range(0, len(values), CHUNK):
        codes[at : at + CHUNK] = base.encode(values[at : at + CHUNK], format)
    return codes


def quantize_tensor(
    values: np.ndarray, block_format: str, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scale codes and codes of a matrix, through the kernel for blocks."""
    return base.quantize_tensor_by(quantize, values, block_format, axis)
