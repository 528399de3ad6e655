"""Right: every result is read-only, over memory that is bytes of Python.
Kind: right
True cause: nothing is wrong (read-only arrays)
"""

import first_base as base
import numpy as np

FORMATS = ["e4m3", "mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]


def dress(array: np.ndarray) -> np.ndarray:
    """The array over immutable bytes."""
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


globals().update(base.dressed(dress))
