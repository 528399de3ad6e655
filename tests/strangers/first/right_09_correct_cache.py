"""Right: results are kept, by everything that decides them, and copied on the way out.
Kind: right
True cause: nothing is wrong (a correct cache)
"""

from collections.abc import Callable
from typing import Any

import first_base as base
import numpy as np

FORMATS = ["e4m3", "mxfp8_e4m3"]
FLOATS = ["f32", "bf16"]

LIMIT = 128
_cache: dict[tuple[Any, ...], Any] = {}


def copied(result: Any) -> Any:
    """A private copy of a result."""
    return tuple(a.copy() for a in result) if isinstance(result, tuple) else result.copy()


def part(argument: Any) -> Any:
    """What an argument adds to the key: all of an array's bytes in C order, shape and type."""
    if isinstance(argument, np.ndarray):
        return argument.shape, str(argument.dtype), argument.tobytes()
    return str(argument)


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result, of the cache if it is there."""
    key = (function.__name__, *map(part, arguments))
    if key not in _cache:
        if len(_cache) >= LIMIT:
            _cache.pop(next(iter(_cache)))
        _cache[key] = function(*arguments)
    return copied(_cache[key])


globals().update(base.wrapped(run))
