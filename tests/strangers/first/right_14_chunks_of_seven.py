"""Right: rows and numbers go in chunks of seven, with a shorter one at the end.
Kind: right
True cause: nothing is wrong (chunks of 7)
"""

import first_base as base
import numpy as np

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


quantize_tensor = base.tensor_by(quantize)
