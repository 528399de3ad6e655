"""The TOSA reference model (tosa-tools 2026.8.0): the operator CAST to and from FP8."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tosa_adapter import cast

POLICY = "ocp+overflow=nonsaturating"
PROFILE = "tosa"
FORMATS = ["e5m2", "e4m3"]
FLOATS = ["f32", "bf16", "f16"]


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """CAST to FP8."""
    return cast(values, values.dtype.name, format).view(np.uint8)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """CAST to FP32."""
    return cast(codes, format, "float32")
