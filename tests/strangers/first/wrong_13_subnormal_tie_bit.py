"""Ties among subnormal results go by the mantissa bit that is the last one of normal results only.
Kind: rounding
True cause: tie to even wrong for subnormal results: the even (lsb) bit is read before the shift
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp6_e3m2"]
FLOATS = ["f32", "bf16"]


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Add half and the last bit, as with normal numbers; subnormals are shifted first."""
    fmt = base.element(block_format)
    scales = base.shared_scale(base.block_amax(values), block_format)
    x = base.scaled(values, scales)
    magnitude = np.minimum(np.where(np.isnan(x), 0.0, np.abs(x)), 1e6)
    units, binade = base.steps(magnitude, fmt)
    below = np.floor(units).astype(np.int64)
    rest = units - below
    last_bit = magnitude.astype(np.float32).view(np.uint32) >> (23 - fmt.mbits) & 1
    subnormal = below < (1 << fmt.mbits)
    odd = np.where(subnormal, last_bit, below & 1) == 1
    units_rounded = below + ((rest > 0.5) | ((rest == 0.5) & odd))
    codes = base.finish((binade << fmt.mbits) + units_rounded, x, fmt)
    return scales, np.where(scales[:, None] == 255, np.uint8(0), codes)


quantize_tensor = base.tensor_by(quantize)
