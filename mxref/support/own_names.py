"""Python's builtins and NumPy's functions, put back where foreign code has replaced them."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

import numpy as np

__all__ = ["keeping_names", "names_kept"]

_SPACES = (vars(builtins), vars(np))
_all, _len, _map = all, len, map  # which may themselves be replaced


@contextlib.contextmanager
def names_kept() -> Iterator[None]:
    """Put back, at the end, what a block has replaced of Python's builtins and NumPy's functions.

    Names that it adds stay.

    >>> with names_kept():
    ...     np.all = lambda _: True
    >>> bool(np.all([False]))
    False
    """
    before = [space.copy() for space in _SPACES]  # new names come last
    try:
        yield
    finally:
        for i in (0, 1):
            space, names = _SPACES[i], before[i]
            gone = _len(space) < _len(names)
            if gone or not _all(_map(is_, space.values(), names.values())):
                space.update(names)


def keeping_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls the given one and then puts names back, as `names_kept` does."""

    def call(*arguments: Any) -> Any:
        with names_kept():
            return function(*arguments)

    return call
