"""Random bits are added five places too low (oneDNN#2903)."""

from typing import Any

from numpy.typing import NDArray

import mxref

FORMATS, FLOATS = ["e5m2"], ["f32"]
POLICY = "ocp+rounding=stochastic_a"


def encode_stochastic(
    values: NDArray[Any], random_bits: NDArray[Any], width: int, format: str
) -> NDArray[Any]:
    """Codes, rounded up less often than they should be."""
    return mxref.encode(
        values, format, rounding="stochastic_a", random_bits=random_bits >> 5, random_width=width
    )
