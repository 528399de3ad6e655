"""Right: codes come as int64, uint16, int32 or uint32 in turns.
Kind: right
True cause: nothing is wrong (other integer types)
"""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

FORMATS = ["int8", "mxint8"]
FLOATS = ["f32", "bf16"]

_turn = itertools.cycle([np.int64, np.uint16, np.int32, np.uint32])


def dress(array: np.ndarray) -> np.ndarray:
    """Codes and bytes in a wider integer type; floats as they are."""
    return array.astype(next(_turn)) if array.dtype == np.uint8 else array


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
