"""Simpler linear layers: fewer rows, inputs and outputs, more zeros, numbers that are rounder.

Each function takes the words of a layer and gives those of simpler ones, one a row, the simplest
first; `first` is the number of words before the arrays.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.operands.word_rows import padded
from mxref.operations.layers import layer_of

__all__ = ["blanked_layers", "rounder_layers", "smaller_layers"]

Words = NDArray[np.uint64]
#: Layers that are tried at once with some of their numbers zero, or made rounder.
_MOST = 256


def smaller_layers(op: str, words: Sequence[int]) -> Words:
    """Layers without the bias, and with the first or the last part of an axis."""
    found = []
    if op == "linear" and words[4]:
        found.append((*words[:4], 0, *words[5 : len(words) - words[3]]))
    for axis, size in enumerate(words[:4]):
        for count in dict.fromkeys((1, size // 2, size - 1)):
            if 0 < count < size:
                parts = slice(0, count), slice(size - count, size)
                found += [_part(op, words, axis, part) for part in parts]
    return padded(found) if found else np.zeros((0, 1), np.uint64)


def _part(op: str, words: Sequence[int], axis: int, part: slice) -> tuple[int, ...]:
    """The layer with a part of its sequences, rows, inputs or outputs."""
    some = [part if one == axis else slice(None) for one in range(4)]
    layer = layer_of(op, words)
    arrays = [layer.x[tuple(some[:3])], layer.w[some[3], some[2]]]
    if layer.more is not None:
        arrays.append(layer.more[(some[3],) if op == "linear" else (*some[:2], some[3])])
    shape = (*arrays[0].shape, len(arrays[1]))
    first = (*shape, words[4]) if op == "linear" else shape
    return (*first, *(word for array in arrays for word in array.reshape(-1).tolist()))


def blanked_layers(first: int, words: Sequence[int]) -> Words:
    """Layers with a part of the numbers zero: halves first, then smaller parts, down to one."""
    row = np.array(words, np.uint64)
    places = np.flatnonzero(row[first:]) + first
    found: list[Words] = []
    size = len(places)
    while size and len(found) + len(places) // size <= _MOST:
        for start in range(0, len(places), size):
            found.append(row.copy())
            found[-1][places[start : start + size]] = 0
        size //= 2
    return np.array(found).reshape(-1, len(row))


def rounder_layers(first: int, words: Sequence[int], layout: FloatLayout) -> Words:
    """Layers with a number replaced by 1, or by the power of two below it."""
    row = np.array(words, np.uint64)
    one = layout.bias << layout.mantissa_bits
    power = (1 << layout.width) - (1 << layout.mantissa_bits)
    found = []
    for place in (np.flatnonzero(row[first:]) + first).tolist()[:_MOST]:
        word = int(row[place])
        for other in itertools.takewhile(word.__ne__, (one, one | layout.sign_bit, word & power)):
            found.append(row.copy())
            found[-1][place] = other
    return np.array(found).reshape(-1, len(row))
