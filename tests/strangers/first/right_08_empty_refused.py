"""Right: an empty input is refused with a ValueError, as a launch of no threads is.
Kind: right
True cause: nothing is wrong (ValueError on empty input)
"""

from collections.abc import Callable
from typing import Any

import first_base as base
import numpy as np

FORMATS = ["e2m1", "mxfp4_e2m1"]
FLOATS = ["f32", "bf16"]


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result for inputs that are not empty."""
    if np.size(arguments[0]) == 0:
        raise ValueError("the input must have an element or more")
    return function(*arguments)


globals().update(base.wrapped(run))
