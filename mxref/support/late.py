"""What is worth making for many numbers only: made when it has cost as much not to have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["CALL", "InTime"]

_Made = TypeVar("_Made")

#: A call of the general path costs as much as so many more numbers in it.
CALL = 2048


class InTime(Generic[_Made]):
    """Something that is made late, so that the wait and the making cost twice the best at most.

    Args:
        make: makes it; whether and when changes no result.
        cost: what making it costs, in numbers that the general path does meanwhile.

    >>> table = InTime(lambda: "made", 5000)
    >>> [table.after(count) for count in (100, 100, 1000)]
    [None, None, 'made']
    """

    def __init__(self, make: Callable[[], _Made], cost: int) -> None:
        self.make, self.left = make, cost
        self.made: _Made | None = None

    def after(self, count: int) -> _Made | None:
        """It, or nothing if a call with so many numbers more does not make it worth its cost."""
        if self.made is None:
            self.left -= count + CALL
            if self.left <= 0:
                self.made = self.make()
        return self.made
