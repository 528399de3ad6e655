"""The NaN of E8M0 is looked for in the number, not in the byte: 128 for 255 (sglang#25519)."""

import numpy as np
from numpy.typing import NDArray


def decode_scale(codes: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Powers of two."""
    with np.errstate(over="ignore"):
        numbers = np.ldexp(np.float32(1), codes.astype(np.int64) - 127)
    return np.where(numbers == 128, np.float32(np.nan), numbers)
