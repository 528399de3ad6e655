"""The compiled kernel is kept by format only: the float type of the first call is baked in.
Kind: state
True cause: second call with a wider float type is converted to the type of the first call
"""

from typing import Any

import numpy as np
import second_base as base
from second_base import Array, tensor_by

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]
__all__ = ["quantize", "quantize_tensor"]
_COMPILED: dict[str, np.dtype[Any]] = {}


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """What the compiled kernel is given is cast to the type that it was compiled for."""
    dtype = _COMPILED.setdefault(block_format, values.dtype)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return base.quantize(values.astype(dtype), block_format)


quantize_tensor = tensor_by(quantize)
