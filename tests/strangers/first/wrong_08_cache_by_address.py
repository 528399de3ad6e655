"""Weights are quantized once: the cache goes by address and misses changes in place.
Kind: state
True cause: cache keyed by address: stale result when the same array is changed in place
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]

LIMIT = 64
_cache: dict[tuple[object, ...], tuple[np.ndarray, np.ndarray]] = {}


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Quantize, or find what was quantized before."""
    interface = values.__array_interface__
    key = (interface["data"][0], values.shape, values.strides, str(values.dtype), block_format)
    if key not in _cache:
        if len(_cache) >= LIMIT:
            _cache.pop(next(iter(_cache)))
        _cache[key] = base.quantize(values, block_format)
    scales, codes = _cache[key]
    return scales.copy(), codes.copy()
