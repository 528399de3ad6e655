"""Compiled kernels are found by format and size: one for bfloat16 is used for float32.
Kind: state
True cause: kernel cache key lacks the dtype: after a bf16 call float32 of the same shape loses bits
"""

from collections.abc import Callable

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]

Kernel = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
_kernels: dict[tuple[str, int], Kernel] = {}


def compile_kernel(block_format: str, dtype: np.dtype) -> Kernel:
    """A kernel that loads numbers of this type."""
    return lambda values: base.quantize(values.astype(dtype), block_format)


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Compile at first sight of a format and a size."""
    key = (block_format, values.shape[0])
    if key not in _kernels:
        _kernels[key] = compile_kernel(block_format, values.dtype)
    return _kernels[key](values)
