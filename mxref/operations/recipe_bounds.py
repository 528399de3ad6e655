"""The bounds of a layer's results beside one array of all its numbers, and calls by their bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operations.asked_call import AskedCall
from mxref.products.intervals import Bounds

__all__ = ["Asked", "held"]


class Asked:
    """A call that is known by what it is given, bit by bit.

    >>> one = AskedCall((np.ones(2), "name"), np.dtype(np.float32), (2,))
    >>> Asked(one) == Asked(AskedCall((np.ones(2), "name"), one.dtype, (2,)))
    True
    """

    def __init__(self, call: AskedCall) -> None:
        self.call = call
        self._key = tuple(
            (one.shape, one.tobytes()) if isinstance(one, np.ndarray) else one
            for one in call.arguments
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asked) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def held(bounds: Sequence[Bounds], numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers are inside of the bounds of their parts, which lie one behind the other.

    >>> ends = np.float32([1, 2])
    >>> held([Bounds(ends, ends, ends)] * 2, np.float32([1, 2, 2, 2])).tolist()
    [True, True, False, True]
    """
    flat, place, found = numbers.reshape(-1), 0, []
    for one in bounds:
        size = one.lo.size
        found.append(one.hold(flat[place : place + size].reshape(one.lo.shape)).reshape(-1))
        place += size
    return np.concatenate(found)
