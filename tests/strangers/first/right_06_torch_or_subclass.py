"""Right: tensors of torch where torch is installed, else an ndarray subclass.
Kind: right
True cause: nothing is wrong (torch tensors, or a subclass of ndarray)
"""

from typing import Any

import first_base as base
import numpy as np

FORMATS = ["e2m3", "mxfp6_e2m3"]
FLOATS = ["f32", "bf16"]

try:
    import torch
except ImportError:
    torch = None


class Tagged(np.ndarray):
    """An array that carries a note, as instrumented code has them."""

    note: str = "from the kernel"


def dress(array: np.ndarray) -> Any:
    """A tensor, or a Tagged array."""
    if torch is not None and array.dtype in (np.uint8, np.float32):
        return torch.from_numpy(array.copy())
    return array.view(Tagged)


globals().update(base.dressed(dress))
