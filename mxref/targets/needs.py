"""What a target's functions need: sizes that are multiples, results read at once, scales of rows.

A function that needs calls filled up is wrapped (`filled_calls`), so that it may be asked any size.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxref.operands.returned import array_of
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.text import short, unknown_name
from mxref.targets.filled_calls import filled
from mxref.targets.product_function import MULTIPLES

__all__ = ["Needs", "given_row_scales", "read_at_once"]

#: The most elements that the smallest call may have.
_MOST = 1 << 24

#: The operations whose functions are given the scale of a tensor.
_SCALED = ("quantize", "dequantize")

_Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Needs:
    """What the sizes of a target's calls are multiples of, by operation, one for each size.

    >>> needs = Needs.of({"quantize": 128, "matmul": (16, 8, 64)})
    >>> needs.multiples["quantize"], list(needs.notes())[0]
    ((128,), 'quantize is asked for multiples of 128 (n) alone: calls are filled up to them')
    """

    multiples: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, given: object) -> Needs:
        """Those of a target's `MULTIPLES`: a mapping, or the three of `matmul`.

        Raises:
            ValueError: an operation that is not filled up, or no positive integers, one for each
                of its sizes.
        """
        if not isinstance(given, Mapping):
            some = _integers(given)
            if len(some) != 3:
                raise ValueError(f"MULTIPLES must be three positive integers, got {given!r}")
            return cls({"matmul": some})
        found = {}
        for op, one in given.items():
            sizes = REGISTRY[op].multiples if op in REGISTRY else ()
            if not sizes:
                known = {name: None for name, row in REGISTRY.items() if row.multiples}
                raise ValueError(unknown_name("an operation of MULTIPLES", op, known))
            some = _integers((one,) if type(one) is int else one)
            if len(some) != len(sizes):
                a = "a positive integer" if len(sizes) == 1 else f"{len(sizes)} positive integers"
                names = f" ({', '.join(sizes)})" * (len(sizes) > 1)
                raise ValueError(f"MULTIPLES of {op} must be {a}{names}, got {short(one)}")
            found[op] = some
        return cls(found)

    @classmethod
    def of_functions(cls, given: object, found: Container[str]) -> Needs:
        """Those of the operations that a target has; a tuple is of products alone."""
        if not isinstance(given, Mapping) and "matmul" not in found:
            return cls({})  # a constant of the kernel
        return cls({op: one for op, one in cls.of(given).multiples.items() if op in found})

    def of_products(self) -> tuple[int, ...]:
        """The multiples of `matmul`."""
        return self.multiples.get("matmul", MULTIPLES)

    def hopeless(self) -> Mapping[str, str]:
        """The operations of which every call would be too large, with the reason."""
        return {
            op: f"{op} is not asked: a call with multiples of {self._shown(op)} has more than "
            f"{_MOST:,} elements"
            for op, some in self.multiples.items()
            if math.prod(some) * (32 if REGISTRY[op].blocks else 1) > _MOST
        }

    def notes(self, block: int = 32) -> Iterator[str]:
        """What is never asked, in words; `block` is the smallest of the target's formats."""
        for op, some in self.multiples.items():
            if op not in self.hopeless() and some not in ((1,) * len(some), (1, 1, block)):
                text = f"{op} is asked for multiples of {self._shown(op)} alone"
                yield f"{text}: calls are filled up to them"

    def filling(self, op: str, function: _Function, policy: Policy) -> _Function:
        """A function that may be asked any size, of one that takes these multiples alone."""
        some = self.multiples.get(op, ())
        if op == "matmul" or all(n == 1 for n in some):
            return function  # a `ProductFunction` fills products up itself
        return filled(op, function, some, policy)

    def _shown(self, op: str) -> str:
        names = zip(self.multiples[op], REGISTRY[op].multiples, strict=True)
        return ", ".join(f"{n:,} ({name})" for n, name in names)


def _integers(given: object) -> tuple[int, ...]:
    """Positive integers; none if one of them is not."""
    some = tuple(given) if isinstance(given, Sequence) else ()
    return some if all(type(n) is int and n > 0 for n in some) else ()


def read_at_once(function: _Function) -> _Function:
    """A function whose results are copies of those of one that gives back its own buffer."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return _copied(function(*arguments))

    return call


def given_row_scales(op: str, function: _Function, needs: Needs) -> _Function:
    """A function that says of itself that a tensor has a scale for each row, where it has any.

    Args:
        op: its operation.
        function: the function.
        needs: what the target's sizes are multiples of.

    Raises:
        ValueError: its calls are filled up, for which rows have no scale.
    """
    if op not in _SCALED:
        return function
    if op in needs.multiples:
        raise ValueError(f"MULTIPLES must leave {op} out if there are ROW_SCALES: ask without it")

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    vars(call)["row_scales"] = True
    return call


def _copied(result: Any) -> Any:
    if isinstance(result, tuple | list):
        parts = [_copied(one) for one in result]
        return tuple(parts) if isinstance(result, tuple) else parts
    if hasattr(result, "scale_codes") and hasattr(result, "codes"):
        return _copied(result.scale_codes), _copied(result.codes)
    if isinstance(result, np.ndarray) or hasattr(result, "__dlpack__"):
        return array_of(result).copy()
    return result
