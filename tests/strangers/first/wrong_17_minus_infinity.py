"""Infinity is looked for before the magnitude is taken: -Inf alone keeps a finite scale.
Kind: special
True cause: negative infinity: block with -Inf does not get the NaN scale
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp8_e5m2"]
FLOATS = ["f32", "bf16"]

FLT_MAX = float(np.finfo(np.float32).max)


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Flags for NaN and infinity, then fmaxf of the magnitudes, which is held to FLT_MAX."""
    x = base.wide(values)
    bad = (np.isnan(x) | (x == np.inf)).any(axis=1)
    amax = np.minimum(np.fmax.reduce(np.abs(x), axis=1, initial=0.0), FLT_MAX)
    scales = np.where(bad, np.uint8(255), base.shared_scale(amax, block_format))
    return scales, base.encode_blocks(values, scales, block_format)


quantize_tensor = base.tensor_by(quantize)
