"""Right: every result is a view with gaps into a larger array full of 0xAA.
Kind: right
True cause: nothing is wrong (strided views as results)
"""

import first_base as base
import numpy as np

FORMATS = ["e2m1", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]


def dress(array: np.ndarray) -> np.ndarray:
    """The array as every second element along each axis of a larger one."""
    shape = tuple(2 * side + 3 for side in array.shape)
    larger = np.full(shape, 0xAA, np.uint8).astype(array.dtype)
    view = larger[tuple(slice(1, 1 + 2 * side, 2) for side in array.shape)]
    view[...] = array
    return view


globals().update(base.dressed(dress))
