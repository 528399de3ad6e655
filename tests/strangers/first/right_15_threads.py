"""Right: three threads share the rows, each writes to its own part of the result.
Kind: right
True cause: nothing is wrong (threads inside)
"""

from concurrent.futures import ThreadPoolExecutor

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e5m2"]
FLOATS = ["f32", "bf16"]

THREADS = 3


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Blocks, an equal share to each thread."""
    n = values.shape[0]
    scales, codes = np.empty(n, np.uint8), np.empty((n, base.BLOCK), np.uint8)

    def work(thread: int) -> None:
        part = slice(n * thread // THREADS, n * (thread + 1) // THREADS)
        scales[part], codes[part] = base.quantize(values[part], block_format)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    return scales, codes


quantize_tensor = base.tensor_by(quantize)
