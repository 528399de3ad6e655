"""Right: two-dimensional results in Fortran order, others backwards in memory.
Kind: right
True cause: nothing is wrong (Fortran order, negative strides)
"""

import first_base as base
import numpy as np

FORMATS = ["e3m2", "mxfp6_e3m2"]
FLOATS = ["f32", "bf16"]


def dress(array: np.ndarray) -> np.ndarray:
    """The same array, laid out otherwise."""
    if array.ndim == 2:
        return np.asfortranarray(array)
    return array[::-1].copy()[::-1]


globals().update(base.dressed(dress))
