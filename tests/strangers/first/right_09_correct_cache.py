"""Right: results are kept, by everything that decides them, and copied on the way out.
Kind: right
True cause: nothing is wrong (a correct cache)
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import first_base as base

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


def dressed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a cache before it."""

    def run(*arguments: Any) -> Any:
        key = (function.__name__, *map(part, arguments))
        if key not in _cache:
            if len(_cache) >= LIMIT:
                _cache.pop(next(iter(_cache)))
            _cache[key] = function(*arguments)
        return copied(_cache[key])

    return run


encode = dressed(base.encode)
decode = dressed(base.decode)
encode_scale = dressed(base.encode_scale)
decode_scale = dressed(base.decode_scale)
shared_scale = dressed(base.shared_scale)
quantize = dressed(base.quantize)
dequantize = dressed(base.dequantize)
pack = dressed(base.pack)
unpack = dressed(base.unpack)
quantize_tensor = dressed(base.quantize_tensor)
