"""CUDA 13.5 headers: what the constructors of its types call, __nv_fp8_e4m3(x) and its like."""

from typing import Any

import numpy as np
from cuda_adapter import FORMATS, decode, decode_scale, encoder, scale_encoder
from numpy.typing import NDArray

__all__ = ["FORMATS", "decode", "decode_scale", "encode", "encode_scale"]
POLICY = "ocp+scale_rounding=toward_positive+scale_of_inf=largest"
PROFILE = "cuda"
encode = encoder(1)


def encode_scale(values: NDArray[Any]) -> NDArray[Any]:
    """That of __half is by way of float."""
    exact = values.astype(np.float32) if values.dtype == np.float16 else values
    result: NDArray[Any] = scale_encoder(1, 2)(exact)
    return result
