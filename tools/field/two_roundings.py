"""A product with a multiplier of 31 bits is rounded twice (tensorflow#25087)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ["int32-int8", "int32-int16", "int32-int32"]


def rescale(
    values: NDArray[Any], multiplier: NDArray[Any], shift: NDArray[Any], input_zp: Any,
    output_zp: Any, dtype: Any, bits: int,
) -> NDArray[Any]:  # fmt: skip
    """Integers."""
    right = np.maximum(shift.astype(np.int64) - 31, 0)
    x = values.astype(np.int64) - input_zp << np.maximum(31 - shift.astype(np.int64), 0)
    high = x * multiplier + 2**30 >> 31
    rest = high & (1 << right) - 1
    out = (high >> right) + (rest > ((1 << right) - 1 >> 1) + (high < 0)) + output_zp
    ends = np.iinfo(dtype)
    clipped: NDArray[Any] = np.clip(out, ends.min, ends.max).astype(dtype)
    return clipped
