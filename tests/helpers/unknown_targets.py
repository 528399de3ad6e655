"""Functions that are wrong in ways that no mutant and no policy is, as targets to be described."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from helpers import SOURCES, table
from planting import function_of
from right_calls import dequantize, encode_stochastic, quantized

import mxref
from mxref import integer

Function = Callable[..., Any]


def wide(values: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def quantized_affine(values: Any, *parameters: Any) -> Any:
    _, _, low, high, dtype, _ = parameters
    numbers = np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)
    codes = integer.quantize_affine(numbers, integer.QParams(*parameters))
    return np.where(np.isnan(values), np.clip(0, low, high), codes).astype(dtype)


@dataclass(frozen=True)
class Wrong:
    """A wrong function, where it is put to the test, and the words for it that are pinned."""

    function: Function
    op: str
    format: str
    policy: str = "ocp"
    parts: int = 1
    text: str = ""

    @property
    def name(self) -> str:
        return self.function.__name__


def every(found: Mapping[str, Any], **space: Any) -> list[Wrong]:
    """The wrong functions of a table, which see NumPy and what else is given."""
    space |= {"np": np, "Any": Any}
    functions = {name: function_of(name, text, space) for name, text in found["functions"].items()}
    return [Wrong(functions[one.pop("function")], **one) for one in found["wrong"]]


_TABLE = table("unknown_targets")
NO_PATTERN, ELSEWHERE = _TABLE["no_pattern"], _TABLE["elsewhere"]
WRONG = every(
    _TABLE,
    **{"SOURCES": SOURCES, "mxref": mxref, "wide": wide, "quantized": quantized},
    **{"dequantize": dequantize, "encode_stochastic": encode_stochastic},
)
_INTEGERS = ("QParams", "dequantize_affine", "rescale", "grid_sample", "unpack_int4")
WRONG_INTEGERS = every(
    table("unknown_integers"),
    quantized=quantized_affine,
    **{name: getattr(integer, name) for name in _INTEGERS},
)
