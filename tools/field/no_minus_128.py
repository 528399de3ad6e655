"""int8 ends at -127, not at -128 (onnxruntime#3442, tt-metal#56526)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMATS = ["int8"]


def quantize_affine(
    x: NDArray[Any],
    scale: Any,
    zero_point: Any,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    axis: Any,
) -> NDArray[Any]:
    """Codes, as ONNX has them but for the end."""
    with np.errstate(over="ignore"):
        codes = np.rint(x / np.float32(scale)) + np.float32(zero_point)
    return np.clip(np.nan_to_num(codes), max(quant_min, -127), quant_max).astype(dtype)
