"""APyTypes 0.5.1: floats of any width, which are those of IEEE 754, so that of MX it has E5M2."""

from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

apytypes = peer("apytypes", "apytypes==0.5.1")

POLICY = "ocp+overflow=nonsaturating+nan=signed"
PROFILE = "apytypes"
FORMATS = ["e5m2"]


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`APyFloatArray.from_float`, to the nearest."""
    exact = values.astype(np.float64)
    return np.array(apytypes.APyFloatArray.from_float(exact, 5, 2).to_bits(), np.uint8)


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`APyFloatArray.from_bits`."""
    numbers = apytypes.APyFloatArray.from_bits(codes.astype(np.int64), 5, 2)
    return np.asarray(numbers.to_numpy(), np.float32)
