"""Python's builtins and NumPy's functions, put back where foreign code has replaced them."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterator
from operator import is_
from typing import Any

import numpy as np

__all__ = ["keeping_names", "names_kept"]

_Names = list[dict[str, Any]]

_SPACES = (vars(builtins), vars(np))
_all, _len, _map = all, len, map  # which may themselves be replaced
#: The names at the beginning of the blocks that this process is in, the innermost last.
_blocks: list[_Names] = []


@contextlib.contextmanager
def names_kept() -> Iterator[None]:
    """Put back, at the end, what a block has replaced of Python's builtins and NumPy's functions.

    Names that it adds stay.

    >>> with names_kept():
    ...     np.all = lambda _: True
    >>> bool(np.all([False]))
    False
    """
    before = _now()
    _blocks.append(before)
    try:
        yield
    finally:
        _blocks.pop()
        _put_back(before)


def keeping_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls the given one and then puts names back, as `names_kept` does.

    In a block of that they become what they were at its beginning.
    """

    def call(*arguments: Any) -> Any:
        before = _blocks[-1] if _blocks else _now()
        try:
            return function(*arguments)
        finally:
            _put_back(before)

    return call


def _now() -> _Names:
    return [space.copy() for space in _SPACES]  # new names come last


def _put_back(before: _Names) -> None:
    for i in (0, 1):
        space, names = _SPACES[i], before[i]
        gone = _len(space) < _len(names)
        if gone or not _all(_map(is_, space.values(), names.values())):
            space.update(names)
