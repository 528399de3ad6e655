"""Ordinary data in computed calls: arrays of one sign, equal, small, sorted or mostly zero numbers.

Drawn arrays have every sign and every size, and so they never enter what a kernel does for tensors
after ReLU, for one scale, or for small codes. Each kind changes drawn arrays in a way that keeps
magnitudes, so that sums that were exact still are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.checking.call_rules import Features

__all__ = ["Data", "codes_in", "data_words", "ordinary", "repeated"]

Array = NDArray[Any]
#: The largest of small integers, and of how many numbers one is kept in an array of few.
_SMALL, _FEW = 3, 16


def _opposite(array: Array) -> Array:
    """The numbers of the other sign; of integers the complement, which always is one."""
    return ~array if array.dtype.kind in "iu" else -array


def _positive(array: Array) -> Array:
    """Numbers without their signs; in place of zeros the least other one."""
    sizes: Array = np.where(array < 0, _opposite(array), array).astype(array.dtype)
    others = sizes[sizes != 0]
    sizes[sizes == 0] = others.min() if others.size else 1
    return sizes


def _negative(array: Array) -> Array:
    return array.copy() if array.dtype.kind == "u" else _opposite(_positive(array))


def _after_relu(array: Array) -> Array:
    return np.where(array < 0, 0, array).astype(array.dtype)


def _row_signs(array: Array) -> Array:
    """Rows of one sign each, by turns."""
    rows = _positive(array)
    rows[1::2] = _negative(array)[1::2]
    return rows


def _small(array: Array) -> Array:
    if array.dtype.kind not in "iu":
        return array
    wide = array.astype(np.int64)
    found: Array = (np.sign(wide) * (np.abs(wide) % (_SMALL + 1))).astype(array.dtype)
    return found


def _equal(array: Array) -> Array:
    return np.full_like(array, array.flat[array.size // 2])


def _rising(array: Array) -> Array:
    return np.sort(array, axis=None).reshape(array.shape)


def _few(array: Array) -> Array:
    kept = np.arange(array.size).reshape(array.shape) % _FEW == 0
    return np.where(kept, array, 0).astype(array.dtype)


def _one_row(array: Array) -> Array:
    """The first row in place of each; of one row the first number."""
    rows = array.reshape(-1, array.shape[-1])
    first = rows[:1] if len(rows) > 1 else rows[:, :1]
    return np.broadcast_to(first, rows.shape).reshape(array.shape).copy()


def _one_column(array: Array) -> Array:
    """The first number of each row in place of all that are in it."""
    return np.broadcast_to(array[..., :1], array.shape).copy()


#: What is done to numbers, and to parameters, which have to be what they are.
_NUMBERS: Mapping[str, Callable[[Array], Array]] = {
    "positive": _positive,
    "negative": _negative,
    "after ReLU": _after_relu,
    "one sign a row": _row_signs,
    "small": _small,
    "constant": _equal,
    "sorted": _rising,
    "sparse": _few,
}


@dataclass(frozen=True, slots=True)
class Data:
    """A change of some arrays of a call.

    Args:
        name: what they are then, in words.
        change: what makes the arrays ordinary.
        which: the numbers of the arrays.
        is_broken: whether one number in each stays as it was, so that the call is ordinary but for
            that.
        packed: the numbers of the arrays whose bytes hold two codes each, which are changed.
    """

    name: str
    change: Callable[[Array], Array]
    which: tuple[int, ...]
    is_broken: bool = False
    packed: tuple[int, ...] = ()

    def of(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The arrays of a call, changed.

        >>> x = np.float32([1, -2, 3])
        >>> Data("numbers positive", _positive, (0,)).of([x, 7])
        (array([1., 2., 3.], dtype=float32), 7)
        """
        return tuple(
            (_in_codes(self._changed) if i in self.packed else self._changed)(one)
            if i in self.which
            else one
            for i, one in enumerate(arrays)
        )

    def _changed(self, array: Array) -> Array:
        found = self.change(array)
        others = np.flatnonzero(found != array)
        if self.is_broken and len(others):
            place = others[len(others) // 2]
            found.flat[place] = array.flat[place]
        return found


def codes_in(packed: Array) -> Array:
    """All codes of bytes that hold two each."""
    from mxref.integer.layers import unpack_int4

    return unpack_int4(packed, 2 * packed.shape[-1])


def _in_codes(change: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A change of the codes that bytes hold."""
    from mxref.integer.layers import pack_int4

    return lambda packed: pack_int4(change(codes_in(packed)))


def ordinary(
    arrays: Sequence[Any], numbers: int = 1, packed: tuple[int, ...] = ()
) -> Iterator[tuple[Data, Data, tuple[Any, ...]]]:
    """The changes that change a call, each also with one number that stays as it was; and the call.

    Numbers are the first arrays, by default one, and integers with rows and columns, and the codes
    that `packed` arrays hold; parameters become equal alone.

    >>> call = np.int8([[1, 2], [3, -9]]), np.int32([5, 6]), np.int8([2, 3]), 0
    >>> [(one.name, one.which) for one, _, _ in ordinary(call)][-2:]
    [('parameters equal', (2,)), ('parameters equal', (1, 2))]
    """
    places = [i for i, one in enumerate(arrays) if isinstance(one, np.ndarray) and one.size > 1]
    words = [i for i in places if arrays[i].ndim > 1 and arrays[i].dtype.kind != "f"]
    wide = [i for i in places if i < numbers or i in words]
    rest = [i for i in places if i not in wide]
    groups: list[tuple[int, ...]] = [(i,) for i in wide]
    if len(wide) > 1:
        groups.append(tuple(wide))
    some = [
        Data(f"numbers {name}", change, which, packed=packed)
        for which in groups
        for name, change in _NUMBERS.items()
    ]
    parameters = [(i,) for i in rest] + [tuple(rest)] * (len(rest) > 1)
    some += [Data("parameters equal", _equal, which) for which in parameters]
    for one in some:
        changed = one.of(arrays)
        pairs = zip(arrays, changed, strict=True)
        if not all(a is b or np.array_equal(a, b) for a, b in pairs):
            yield one, replace(one, is_broken=True), changed


def repeated(arrays: Sequence[Any]) -> Iterator[Data]:
    """The changes after which every array of a call can have a stride of 0.

    >>> [one.change.__name__ for one in repeated([np.int8([[1, 2], [3, 4]]), 7])]
    ['_one_row', '_one_column', '_equal']
    >>> [one.change.__name__ for one in repeated([np.int8([1, 2])])]
    ['_one_row', '_equal']
    """
    which = tuple(i for i, one in enumerate(arrays) if isinstance(one, np.ndarray) and one.size > 1)
    seen: list[list[bytes]] = []
    for change in (_one_row, _one_column, _equal):
        numbers = [change(arrays[i]).tobytes() for i in which]
        if which and numbers not in seen:
            seen.append(numbers)
            yield Data("repeated", change, which)


def data_words(name: str, array: Array) -> Features:
    """What the numbers of an array have in common, in words.

    >>> data_words("x", np.float32([1, 2]))["x sign"]
    'x >= 0'
    """
    numbers = array.reshape(-1).astype(np.float64)
    low, high = numbers.min(), numbers.max()
    sign = ">= 0" if low >= 0 else "<= 0" if high <= 0 else "of both signs"
    rises = bool((numbers[1:] >= numbers[:-1]).all())
    is_small = max(-low, high) <= _SMALL
    is_zero = np.count_nonzero(numbers) * 8 < numbers.size
    return {
        f"{name} sign": f"{name} {sign}",
        f"{name} equal": f"equal {name}" if low == high else f"{name} that differ",
        f"{name} order": f"rising {name}" if rises else f"{name} in no order",
        f"{name} size": f"{name} within {_SMALL}" if is_small else f"larger {name}",
        f"{name} zeros": f"mostly zero {name}" if is_zero else f"few zeros in {name}",
    }
