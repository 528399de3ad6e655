"""A scale byte of 00 makes the whole block zero (triton#11737)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["mxfp4_e2m1"], ["bf16"]


def dequantize(
    scale_codes: NDArray[Any], codes: NDArray[Any], block_format: str, dtype: Any
) -> NDArray[Any]:
    """The product with the bfloat16 whose exponent field is the byte."""
    scale = (scale_codes.astype(np.uint32) << 23).view(np.float32)
    scale[scale_codes == 255] = np.nan
    with np.errstate(over="ignore"):
        return (mxref.decode(codes, "e2m1") * scale[:, None]).astype(dtype)
