"""Right: has encode alone; where there are several codes of NaN it gives an unusual one.
Kind: right
True cause: nothing is wrong (encode alone, another code of NaN)
"""

import first_base as base
import numpy as np

FORMATS = ["e5m2", "e4m3"]
FLOATS = ["f32", "bf16"]


def encode(values: np.ndarray, format: str) -> np.ndarray:
    """Codes; NaN with its sign, and in e5m2 with the smallest payload."""
    codes = base.encode(values, format)
    if base.element(format).nan_code is None:
        return codes
    nan_code = 0x7D if format == "e5m2" else 0x7F
    x = base.wide(values)
    signed = np.where(np.signbit(x), nan_code | 0x80, nan_code).astype(np.uint8)
    return np.where(np.isnan(x), signed, codes)
