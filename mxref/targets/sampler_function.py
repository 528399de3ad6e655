"""A target's `grid_sample`, whose further parameters are given by name where it has them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["named_parameters", "with_options"]

#: Arguments that are given by place.
_PLACES = 5


def named_parameters(function: object, *, filled: bool = False) -> frozenset[str]:
    """Those of `NAMED` that a function has; none of one whose calls are filled up.

    >>> def kernel(codes, grid, align_corners, padding, zero_point, mode="bilinear"):
    ...     return codes
    >>> sorted(named_parameters(kernel)), sorted(named_parameters(None))
    (['mode'], [])
    """
    try:
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):  # of a builtin
        return frozenset()
    if filled:
        return frozenset()
    from mxref.operations.sampling import NAMED

    return frozenset(name for name in NAMED if name in parameters)


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A target's `grid_sample` that is given all its arguments by place; None is not given.

    >>> def kernel(codes, grid, align_corners, padding, zero_point, mode="bilinear"):
    ...     return mode
    >>> call = with_options(kernel)
    >>> call(*range(5)), call(*range(5), "nearest", None, None, None, None, None)
    ('bilinear', 'nearest')
    """
    from mxref.operations.sampling import NAMED

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        further = zip(NAMED, arguments[_PLACES:], strict=False)
        named = {name: value for name, value in further if value is not None}
        return function(*arguments[:_PLACES], **named)

    return call
