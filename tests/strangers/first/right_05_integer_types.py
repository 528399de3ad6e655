"""Right: codes come as int64, uint16, int32 or uint32 in turns.
Kind: right
True cause: nothing is wrong (other integer types)
"""

import itertools

import first_base as base
import numpy as np

FORMATS = ["int8", "mxint8"]
FLOATS = ["f32", "bf16"]

_turn = itertools.cycle([np.int64, np.uint16, np.int32, np.uint32])


def dress(array: np.ndarray) -> np.ndarray:
    """Codes and bytes in a wider integer type; floats as they are."""
    return array.astype(next(_turn)) if array.dtype == np.uint8 else array


globals().update(base.dressed(dress))
