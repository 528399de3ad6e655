"""What an operation of calls says of the sizes of computed calls, beside their units."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CallSizes", "Sizes"]

#: One for each of the `units` of an operation.
Sizes = tuple[int, ...]


class CallSizes(NamedTuple):
    """Sizes of calls that are asked beside small ones, along each axis.

    Args:
        further: those of large calls, of equal sizes and of one long one.
        longest: long ones along one axis, asked of the first format alone; () if the usual ones.
        empty: those of a call without a value, where it has a result.
        telling: the places of sizes that are asked by themselves where calls are wrong.
    """

    further: tuple[Sizes, ...] = ()
    longest: Sizes = ()
    empty: Sizes | None = None
    telling: Sizes = ()
