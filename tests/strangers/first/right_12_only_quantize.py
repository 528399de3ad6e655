"""Right: has quantize alone; codes under the scale NaN are whatever came out.
Kind: right
True cause: nothing is wrong (quantize alone, codes under a NaN scale are not cleared)
"""

import first_base as base
import numpy as np

FORMATS = ["mxfp6_e2m3"]
FLOATS = ["f32", "bf16"]


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Blocks; under the scale NaN the codes are those of the numbers themselves."""
    scales = base.shared_scale(base.block_amax(values), block_format)
    return scales, base.encode(base.scaled(values, scales), block_format)
