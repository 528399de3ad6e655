"""Right: an empty input is refused with a ValueError, as a launch of no threads is.
Kind: right
True cause: nothing is wrong (ValueError on empty input)
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


def dressed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, for inputs that are not empty."""

    def run(*arguments: Any) -> Any:
        if np.size(arguments[0]) == 0:
            raise ValueError("the input must have an element or more")
        return function(*arguments)

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
