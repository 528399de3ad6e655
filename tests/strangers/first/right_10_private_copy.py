"""Right: works in place, on a copy of its own, which it overwrites step by step.
Kind: right
True cause: nothing is wrong (in place on a private copy)
"""

import first_base as base
import numpy as np

FORMATS = ["e5m2", "mxfp8_e5m2"]
FLOATS = ["f32", "bf16"]


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Scale, clamp and encode in place."""
    work = np.array(base.wide(values), copy=True, order="C")
    scales = base.shared_scale(base.block_amax(work), block_format)
    np.ldexp(work, 127 - scales.astype(np.int32)[:, None], out=work)
    limit = 1e5
    np.clip(work, -limit, limit, out=work)
    codes = base.encode(work, block_format)
    work.fill(np.nan)
    codes[scales == 255] = 0
    return scales, codes


def encode(values: np.ndarray, format: str) -> np.ndarray:
    """Encode a copy, which is spoilt behind it."""
    work = np.array(base.wide(values), copy=True)
    codes = base.encode(work, format)
    work.fill(np.nan)
    return codes


quantize_tensor = base.tensor_by(quantize)
