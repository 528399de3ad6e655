"""Right: tensors of torch where torch is installed, else an ndarray subclass.
Kind: right
True cause: nothing is wrong (torch tensors, or a subclass of ndarray)
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

FORMATS = ["e2m3", "mxfp6_e2m3"]
FLOATS = ["f32", "bf16"]

try:
    import torch
except ImportError:
    torch = None


class Tagged(np.ndarray):
    """An array that carries a note, as instrumented code has them."""

    note: str = "from the kernel"


def dress(array: np.ndarray) -> Any:
    """A tensor, or a Tagged array."""
    if torch is not None and array.dtype in (np.uint8, np.float32):
        return torch.from_numpy(array.copy())
    return array.view(Tagged)


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
