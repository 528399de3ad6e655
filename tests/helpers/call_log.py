"""All calls that a check makes of a right kernel, by looking at the arguments alone.

What a drawer claims is not asked: a call has a kind if its arrays have the kind's property.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

import mxref
from mxref.formats.catalog import block_format, code_format

__all__ = ["KINDS", "CallLog"]

#: Calls of fewer rows are not counted: in these, any property holds by chance.
_LEAST_ROWS = 8

#: Kinds of numbers, by what all numbers of a call have in common.
_NUMBERS: dict[str, Callable[[Any], bool]] = {
    "all finite": lambda x: bool(np.isfinite(x).all()),
    "all positive": lambda x: bool((x > 0).all()),
    "all negative": lambda x: bool((x < 0).all()),
    "none negative, some zeros": lambda x: bool((x >= 0).all() and (x == 0).any()),
    "sparse": lambda x: bool(np.isfinite(x).all() and np.mean(x == 0) > 3 / 4),
    "sorted": lambda x: bool((np.diff(x.ravel()) >= 0).all()),
    "constant": lambda x: bool((x == x.flat[0]).all()),
}
#: Kinds of codes, by the numbers they stand for and the least normal number of their format.
_CODES: dict[str, Callable[[Any, float], bool]] = {
    "no NaN code": lambda x, _: bool(np.isfinite(x).all()),
    "no subnormal code": lambda x, least: bool(
        (np.isfinite(x) & ((x == 0) | (abs(x) >= least))).all()
    ),
    "no negative code": lambda x, _: bool((np.isfinite(x) & ~np.signbit(x)).all()),
    "no positive code": lambda x, _: bool((np.isfinite(x) & np.signbit(x)).all()),
}
#: Kinds of scale codes of E8M0.
_SCALES: dict[str, Callable[[Any], bool]] = {
    "equal scales": lambda s: bool((s == s[0]).all()),
    "scales from 64 to 190": lambda s: bool(((s >= 64) & (s <= 190)).all()),
    "no NaN scale": lambda s: bool((s != 0xFF).all()),
}
#: The kinds that an operation's calls can have.
KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("encode", "encode_stochastic", "encode_scale", "quantize"), (*_NUMBERS,)),
    "shared_scale": tuple(kind for kind in _NUMBERS if kind != "all negative"),
    "decode": (*_CODES,),
    "decode_scale": (*_SCALES,),
    "dequantize": (*_CODES, *_SCALES),
}


def _kinds(op: str, arguments: tuple[Any, ...]) -> Iterator[str]:
    """The kinds of one call."""
    first = arguments[0]
    if op in ("decode_scale", "dequantize"):
        yield from (kind for kind, holds in _SCALES.items() if holds(first))
    elif op != "decode":
        numbers = first.astype(np.float64)
        yield from (kind for kind in KINDS[op] if _NUMBERS[kind](numbers))
    if op in ("decode", "dequantize"):
        codes, name = arguments[:2] if op == "decode" else arguments[1:3]
        element = code_format(name) if op == "decode" else block_format(name).element
        values = mxref.decode(codes, element, np.float64)
        yield from (kind for kind, holds in _CODES.items() if holds(values, element.min_normal))


@dataclass
class CallLog:
    """The calls of a target's functions, their elements and the largest, by operation and kind."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    elements: Counter[tuple[str, str]] = field(default_factory=Counter)
    largest: Counter[tuple[str, str]] = field(default_factory=Counter)

    def wrapped(self, **functions: Callable[..., Any]) -> SimpleNamespace:
        """Functions that answer as these do and whose calls are kept in the log."""

        def keeping(op: str, right: Callable[..., Any]) -> Callable[..., Any]:
            def run(*arguments: Any) -> Any:
                arrays = [np.asarray(one) for one in arguments if isinstance(one, np.ndarray)]
                if len(arguments[0]) >= _LEAST_ROWS:
                    size = max(array.size for array in arrays)
                    for kind in ("any", *_kinds(op, arguments)):
                        self.calls[op, kind] += 1
                        self.elements[op, kind] += size
                        self.largest[op, kind] = max(self.largest[op, kind], size)
                return right(*arguments)

            return run

        return SimpleNamespace(**{op: keeping(op, one) for op, one in functions.items()})

    def empty(self, ops: Iterable[str]) -> list[tuple[str, str]]:
        """The operations and kinds of which there is no call."""
        return [(op, kind) for op in ops for kind in KINDS[op] if not self.calls[op, kind]]

    def table(self) -> str:
        """The log as a table in Markdown."""
        head = ["| operation | kind | calls | elements | largest |", "|---|---|---:|---:|---:|"]
        rows = (
            f"| `{op}` | {kind} | {calls:,} | {self.elements[op, kind]:,} "
            f"| {self.largest[op, kind]:,} |"
            for (op, kind), calls in self.calls.items()
        )
        return "\n".join([*head, *sorted(rows)])
