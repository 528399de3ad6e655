"""Random numbers of a seed, the same on every machine."""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from mxref.operands.splitmix import below, first_output, splitmix64

__all__ = ["Draws", "Ints", "Words"]

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]


class Draws:
    """Random words of a seed, each array from a stream of its own."""

    def __init__(self, name: str) -> None:
        self.name, self._stream = name, 0

    def words(self, shape: tuple[int, ...]) -> Words:
        """Random words of 64 bits."""
        return splitmix64(self._seed(), math.prod(shape)).reshape(shape)

    def below(self, shape: tuple[int, ...], limit: int) -> Ints:
        """Integers from 0 to limit - 1."""
        if shape == ():  # in Python, which takes half of the time
            one: Ints = np.array(first_output(self._seed()) % limit, np.int64)[()]
            return one
        return below(self.words(shape), limit)

    def one_in(self, shape: tuple[int, ...], n: int) -> NDArray[np.bool_]:
        """True once in n times."""
        found: NDArray[np.bool_] = self.below(shape, n) == 0
        return found

    def between(self, low: int, high: int, shape: tuple[int, ...] = ()) -> Ints:
        """Integers from low to high.

        >>> Draws("seed").between(-2, 2, (8,)).tolist()
        [-2, 2, 2, -1, 0, 0, 1, -2]
        """
        found = self.below(shape, high - low + 1)
        found += low  # in its memory, or a number
        return found

    def _seed(self) -> int:
        """That of the next stream."""
        self._stream += 1
        text = f"{self.name} {self._stream}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")
