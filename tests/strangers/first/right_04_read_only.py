"""Right: every result is read-only, over memory that is bytes of Python.
Kind: right
True cause: nothing is wrong (read-only arrays)
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

FORMATS = ["e4m3", "mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]


def dress(array: np.ndarray) -> np.ndarray:
    """The array over immutable bytes."""
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


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
