"""A scale byte is put into float32's exponent: 00 is 0, ff is Inf (TransformerEngine#3262)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """The float32 with that exponent field."""
    return (codes.astype(np.uint32) << 23).view(np.float32)
