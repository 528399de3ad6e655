"""Memory without gaps is taken as it lies: blocks in Fortran order are read across rows.
Kind: layout
True cause: input in Fortran order (column-major, transposed strides) read as if it were C order
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp6_e3m2"]
FLOATS = ["f32", "bf16"]


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """A dense input needs no copy; any other is brought into order first."""
    n = values.shape[0]
    memory = values.ravel(order="K")  # is_non_overlapping_and_dense: take the pointer
    return base.quantize(memory.reshape(n, base.BLOCK), block_format)
