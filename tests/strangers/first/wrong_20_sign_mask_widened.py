"""The sign of lane 31, an int, is widened to 64 bits: it makes the whole second block negative.
Kind: sign
True cause: odd rows turn negative where the last element (31) of the row before is negative
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Two blocks share a mask of 64 sign bits: mask |= (int)sign << lane."""
    sign = np.signbit(values)
    pairs = len(sign) // 2 * 2
    sign[1:pairs:2] |= sign[0:pairs:2, -1:]  # 0x80000000 is extended by ones
    x = np.copysign(base.wide(values), np.where(sign, -1.0, 1.0))
    scales = base.shared_scale(base.block_amax(x), block_format)
    return scales, base.encode_blocks(x, scales, block_format)


quantize_tensor = base.tensor_by(quantize)
