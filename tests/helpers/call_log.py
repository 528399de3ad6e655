"""All calls that a check makes of a right kernel, by looking at the arguments alone.

What a drawer claims is not asked: a call has a kind if its arrays have the kind's property.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from helpers import table
from numpy.typing import NDArray

import mxref
from mxref import integer
from mxref.formats.catalog import block_format, code_format
from mxref.operations.registry import REGISTRY

__all__ = ["ABSENT", "KINDS", "CallLog", "head", "kinds_of"]

Array = NDArray[Any]

#: Arrays of fewer elements have no kind: in these, any property holds by chance; scales are fewer.
_LEAST, _LEAST_SCALES = 32, 8

#: Kinds of data, by what all numbers of a call, or what they stand for, have in common.
_OF_NUMBERS: dict[str, Callable[[Array], bool]] = {
    "finite": lambda x: bool(np.isfinite(x).all()),
    "> 0": lambda x: bool((x > 0).all()),
    "< 0": lambda x: bool((x < 0).all()),
    "≥ 0, some 0": lambda x: bool((x >= 0).all() and (x == 0).any()),
    "mostly 0": lambda x: bool(np.mean(x == 0) > 3 / 4),
    "rising": lambda x: bool((np.diff(x.ravel()) >= 0).all()),
    "equal": lambda x: bool((x == x.flat[0]).all()),
}
#: Of floats, with the least normal number.
_NORMAL = "no subnormal"
#: Of scales and other parameters, and those that only codes of E8M0 can have.
_OF_SCALES: dict[str, Callable[[Array], bool]] = {
    "equal scales": lambda s: bool((s == s.flat[0]).all()),
    "scales 64–190": lambda s: bool(((s >= 64) & (s <= 190)).all()),
    "no NaN scale": lambda s: bool((s != 0xFF).all()),
}
#: All kinds, in the order of the columns.
KINDS = ("finite", _NORMAL, *(one for one in _OF_NUMBERS if one != "finite"), *_OF_SCALES)

#: The kinds that operations' calls cannot have, by the reason.
ABSENT: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    reason: (tuple(one["operations"]), tuple(one["kinds"]))
    for reason, one in table("absent_kinds").items()
}

#: Parameters of operations that are scales, or other numbers beside the values.
_SCALES = {
    *("scale_codes", "scales_a", "scales_b", "scales", "scale", "zero_point"),
    *("multipliers", "shifts", "b_scale", "b_zero"),
}
#: Those that hold values or codes.
_VALUES = {"values", "amax", "x", "w", "codes", "a", "b", "codes_a", "codes_b"}


def kinds_of(op: str) -> tuple[str, ...]:
    """The kinds that an operation's calls can have."""
    absent = {kind for ops, kinds in ABSENT.values() if op in ops for kind in kinds}
    return tuple(kind for kind in KINDS if kind not in absent)


def _named(op: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """The arguments of a call by their names, with what packed bytes hold."""
    found = dict(zip(REGISTRY[op].parameters.split(", "), arguments, strict=False))
    if op == "unpack":
        found["codes"] = mxref.unpack(*arguments)
    elif op == "unpack_scales":
        found["scale_codes"] = mxref.unpack_scales(*arguments, scale_layout="tiles_128x4")
    elif op == "unpack_blocks":
        found["scale_codes"], found["codes"] = mxref.unpack_blocks(*arguments, scale_place="before")
    elif op == "unpack_int4":
        found["codes"] = integer.unpack_int4(*arguments)
    elif op == "linear_qcs4w":
        found["w"] = integer.unpack_int4(found["w"], found["x"].shape[-1])
    elif op == "decode_scale":
        found["scale_codes"] = found.pop("codes")
    if op in ("decode", "dequantize", "matmul", "addmm"):
        for name in [name for name in found if name.startswith("codes")]:
            format = found[name.replace("codes", "format")]
            element = code_format(format) if op == "decode" else block_format(format).element
            found[name] = mxref.decode(found[name], element, np.float64)
            found["least"] = element.min_normal
    if op in ("pack_scales", "unpack_scales"):
        found["values"] = found["scale_codes"]
    return found


def _kinds(op: str, arguments: Sequence[Any]) -> Iterator[str]:
    """The kinds of one call."""
    named = _named(op, arguments)
    arrays = {name: one for name, one in named.items() if isinstance(one, np.ndarray)}
    numbers = [one for name, one in arrays.items() if name in _VALUES and one.size >= _LEAST]
    scales = [one for name, one in arrays.items() if name in _SCALES and one.size >= _LEAST_SCALES]
    wide = [one.astype(np.float64) for one in numbers]
    least = [named.get("least") or _least_normal(one.dtype) for one in numbers]
    if numbers:
        yield from (kind for kind, holds in _OF_NUMBERS.items() if all(map(holds, wide)))
        if all(map(_is_normal, wide, least)):
            yield _NORMAL
    if scales:
        yield from (kind for kind, holds in _OF_SCALES.items() if all(map(holds, scales)))


def _least_normal(dtype: np.dtype[Any]) -> float:
    """The least normal number of a float type; of integers there is none that is not."""
    return 0.0 if dtype.kind in "iu" else float(ml_dtypes.finfo(dtype).smallest_normal)


def _is_normal(numbers: Array, least: float) -> bool:
    return bool((np.isfinite(numbers) & ((numbers == 0) | (abs(numbers) >= least))).all())


def head() -> str:
    """The first two lines of the table."""
    return (
        f"| operation | calls | {' | '.join(KINDS)} | elements |\n|---|{'---:|' * (len(KINDS) + 2)}"
    )


@dataclass
class CallLog:
    """The calls of a target's functions, their elements and the largest, by operation and kind."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    elements: Counter[tuple[str, str]] = field(default_factory=Counter)
    largest: Counter[tuple[str, str]] = field(default_factory=Counter)

    def wrapped(self, **functions: Callable[..., Any]) -> SimpleNamespace:
        """Functions that answer as these do and whose calls are kept in the log."""

        def keeping(op: str, right: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(right)
            def run(*arguments: Any) -> Any:
                size = max(one.size for one in arguments if isinstance(one, np.ndarray))
                for kind in ("any", *_kinds(op, arguments)):
                    self.calls[op, kind] += 1
                    self.elements[op, kind] += size
                    self.largest[op, kind] = max(self.largest[op, kind], size)
                return right(*arguments)

            return run

        return SimpleNamespace(**{op: keeping(op, one) for op, one in functions.items()})

    def row(self, op: str) -> str:
        """The operation's row of the table: numbers of calls, and of all elements."""
        own = kinds_of(op)
        cells = (f"{self.calls[op, kind]:,}" if kind in own else "–" for kind in KINDS)
        calls, elements = self.calls[op, "any"], self.elements[op, "any"]
        return f"| `{op}` | {calls:,} | {' | '.join(cells)} | {elements / 1e6:,.1f} million |"
