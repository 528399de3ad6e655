"""Right: every result is a view with gaps into a larger array full of 0xAA.
Kind: right
True cause: nothing is wrong (strided views as results)
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

FORMATS = ["e2m1", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]


def dress(array: np.ndarray) -> np.ndarray:
    """The array as every second element along each axis of a larger one."""
    shape = tuple(2 * side + 3 for side in array.shape)
    larger = np.full(shape, 0xAA, np.uint8).astype(array.dtype)
    view = larger[tuple(slice(1, 1 + 2 * side, 2) for side in array.shape)]
    view[...] = array
    return view


def dressed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with every array of its result in this dress."""

    def run(*arguments: Any) -> Any:
        result = function(*arguments)
        return tuple(map(dress, result)) if isinstance(result, tuple) else dress(result)

    return run


encode = dressed(base.encode)
decode = dressed(base.decode)
encode_scale = dressed(base.encode_scale)
decode_scale = dressed(base.decode_scale)
shared_scale = dressed(base.shared_scale)
quantize = dressed(base.quantize)
dequantize = dressed(base.dequantize)
pack = dressed(base.pack)
unpack = dressed(base.unpack)
quantize_tensor = dressed(base.quantize_tensor)
