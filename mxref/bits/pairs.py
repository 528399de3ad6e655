"""Tables of the float patterns of two codes, which one lookup reads at once.

Two codes that lie beside each other in memory are one uint16, the index of such a table. Its rows
are made from the same bytes, so the byte order of the processor does not matter.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.support.scratch import scratch

#: Codes of the smallest call that reads pairs. To make their table, which is kept, takes as long as
#: reading 2**18 codes in pairs saves.
MANY = 1 << 15
#: Bytes of the largest table whose pairs are made: theirs are 512 KiB, which processors keep near.
_LARGEST = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table that caches know by its identity, so it must not change.

    Args:
        array: its entries.
    """

    array: NDArray[Any]

    def write(self, codes: U8, target: NDArray[Any], *, in_pairs: bool) -> None:
        """Write the entries of codes (n,) to a target (n,).

        Args:
            codes: the codes.
            target: C-contiguous.
            in_pairs: whether two codes at a time may be read.
        """
        if not in_pairs or self.array.nbytes > _LARGEST:
            self.array.take(codes, out=target, mode="wrap")
            return
        even = codes.size & ~1
        index, pairs = scratch("index", even >> 1, np.intp), np.ascontiguousarray(codes[:even])
        np.copyto(index, pairs.view(np.uint16))
        _pairs(self).take(index, axis=0, out=target[:even].reshape(-1, 2), mode="wrap")
        if even != codes.size:
            target[even] = self.array[codes[even]]


@functools.lru_cache(maxsize=16)
def _pairs(table: Table) -> NDArray[Any]:
    """Entries of both codes of a pair, by the uint16 that they are: 512 KiB at most."""
    pairs = np.arange(257 * (len(table.array) - 1) + 1, dtype=np.uint16)
    return np.take(table.array, pairs.view(np.uint8).reshape(-1, 2), mode="wrap")
