"""Tables of the float patterns of codes, which are read by two codes at once.

Two codes that lie beside each other in memory are one uint16, the index of a table of pairs. Its
rows are made from the same bytes, so the byte order of the processor does not matter.

Entries that are the codes as int8 times one power of two, as those of INT8, are computed. Whether
they are so is read off the table. The conversion of an int8 is exact, and so are products of two
normal numbers, or of zero, that are normal numbers themselves: no processor mode changes them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64, U8
from mxref.support.scratch import scratch

#: Codes of the smallest call that reads pairs. To make their table, which is kept, takes as long as
#: reading 2**18 codes in pairs saves.
MANY = 1 << 15
#: Bytes of the largest table whose pairs are made: theirs are 512 KiB, which processors keep near.
_LARGEST = 1 << 10
#: Types of twice the size of an item. Nothing is computed in them.
_TWICE: dict[int, np.dtype[Any]] = {
    2: np.dtype(np.uint32),
    4: np.dtype(np.uint64),
    8: np.dtype(np.complex128),
}


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
            in_pairs: whether the call is large enough for quicker ways than one code at a time.
        """
        if in_pairs and (factor := _of_integers(self)) is not None:
            numbers = target.view(factor.dtype)
            np.copyto(numbers, codes.view(np.int8))
            np.multiply(numbers, factor, out=numbers)
            return
        if not in_pairs or self.array.nbytes > _LARGEST:
            self.array.take(codes, out=target, mode="wrap")
            return
        even = codes.size & ~1
        index, pairs = scratch("index", even >> 1, np.intp), np.ascontiguousarray(codes[:even])
        np.copyto(index, pairs.view(np.uint16))
        _pairs(self).take(index, out=two_by_two(target[:even]), mode="wrap")
        if even != codes.size:
            target[even] = self.array[codes[even]]


@functools.lru_cache(maxsize=64)
def _of_integers(table: Table) -> NDArray[Any] | None:
    """The power of two by which all codes as int8 must be multiplied; None if there is none."""
    layout = next((one for one in (F32, F64) if one.uint == table.array.dtype), None)
    if layout is None or table.array.size != 1 << 8:
        return None
    one, m = int(table.array[1]), layout.mantissa_bits
    # The factor and all products, which are up to 2**7 times as large, are normal numbers.
    if one & ((1 << m) - 1) or not 1 <= one >> m < (layout.inf_bits >> m) - 7:
        return None
    factor = table.array[1:2].view(layout.dtype)
    numbers = np.arange(1 << 8, dtype=np.uint8).view(np.int8) * factor
    return factor if np.array_equal(numbers.view(layout.uint), table.array) else None


@functools.lru_cache(maxsize=16)
def _pairs(table: Table) -> NDArray[Any]:
    """Entries of both codes of a pair, by the uint16 that they are: 512 KiB at most."""
    pairs = np.arange(257 * (len(table.array) - 1) + 1, dtype=np.uint16)
    return two_by_two(np.take(table.array, pairs.view(np.uint8), mode="wrap"))


def two_by_two(array: NDArray[Any]) -> NDArray[Any]:
    """The items of C-contiguous memory two by two, as items of twice the size, which move as one.

    >>> two_by_two(np.zeros(6, np.uint16)).size
    3
    """
    pairs: NDArray[Any] = array.reshape(-1).view(_TWICE[array.itemsize])
    return pairs
