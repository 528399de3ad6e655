"""Integers among the arguments of a call."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


def integer(value: Any, parameter: str = "value") -> int:
    """An integer of Python or NumPy as a Python integer.

    Raises:
        TypeError: another type; a bool, too, which Python counts as an integer.

    >>> integer(3)
    3
    """
    if type(value) is int:
        return value
    import numpy as np  # which takes time, and formats are defined without it

    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        what = type(value).__name__
        raise TypeError(f"{parameter} must be an integer, got {what}") from None


def shape_of(shape: Iterable[Any]) -> tuple[int, ...]:
    """A shape as non-negative Python integers.

    Raises:
        TypeError: something else than integers.
        ValueError: a negative one.

    >>> shape_of([2, 3])
    (2, 3)
    """
    try:
        found = tuple(integer(n) for n in shape)
    except TypeError:
        raise TypeError(f"shape must hold integers, got {shape!r}") from None
    if min(found, default=0) < 0:
        raise ValueError(f"shape must hold no negative numbers, got {found}")
    return found


def rounded_up(size: int, multiple: int) -> int:
    """The least multiple that is no less than a size.

    >>> rounded_up(33, 32), rounded_up(0, 8)
    (64, 0)
    """
    return -(-size // multiple) * multiple
