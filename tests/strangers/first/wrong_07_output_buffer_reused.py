"""The arrays returned are the kernel's own buffers, which the next call overwrites.
Kind: state
True cause: result of an earlier call changes after a second call: shared output buffer reused
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]

_scales = np.empty(0, np.uint8)
_codes = np.empty((0, base.BLOCK), np.uint8)


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Outputs are allocated once and grow when they must."""
    global _scales, _codes
    n = values.shape[0]
    if n > len(_scales):
        _scales, _codes = np.empty(n, np.uint8), np.empty((n, base.BLOCK), np.uint8)
    _scales[:n], _codes[:n] = base.quantize(values, block_format)
    return _scales[:n], _codes[:n]
