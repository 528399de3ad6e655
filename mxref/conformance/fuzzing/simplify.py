"""Simplify a counterexample: simple numbers, few nonzero elements, in the first places.

Hypothesis shrinks to a local minimum of its own choices. Here one word is replaced by every simpler
one, all in one call, and the simplest that still fails is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mxref.bits import simplicity
from mxref.bits.floats import F32, LAYOUTS
from mxref.cases.records import VectorFile
from mxref.conformance.fuzzing.smaller_layers import (
    blanked_layers,
    rounder_layers,
    smaller_layers,
)
from mxref.formats.catalog import E8M0, block_format
from mxref.operands.word_rows import padded, stripped
from mxref.operations.registry import CALL_OPERATIONS

__all__ = ["attempts", "simplest", "smaller_calls"]

Words = NDArray[np.uint64]
#: From cases, one a row, to whether a target answers each wrongly.
Wrong = Callable[[Words], NDArray[np.bool_]]
#: From a case to simpler cases to try, the simplest first.
Attempt = Callable[[Words], Words]

#: Largest distance of tried exponents from 0.
_SCALARS, _IN_BLOCKS, _IN_TENSORS = 200, 16, 2


def simplest(wrong: Wrong, file: VectorFile, row: Words) -> Words:
    """The simplest case found that a target still answers wrongly.

    Args:
        wrong: which cases it answers wrongly.
        file: operation, format and float type.
        row: words of a case that it answers wrongly.
    """
    before = None
    while before is None or not np.array_equal(before, row):
        before = row
        for attempt in attempts(file, len(row)):
            found = _first(wrong, attempt(row))
            while found is not None:
                row = found
                found = _first(wrong, attempt(row))
    return row


def _first(wrong: Wrong, rows: Words) -> Words | None:
    """The first case that is answered wrongly, if it is when asked alone, too."""
    if not len(rows):
        return None
    for index in np.flatnonzero(wrong(rows))[:1].tolist():
        if wrong(rows[index : index + 1])[0]:
            found: Words = rows[index]
            return found
    return None


def attempts(file: VectorFile, count: int) -> Iterator[Attempt]:
    """Ways to simplify a case of `count` words of an operation."""
    match file.op:
        case op if op in CALL_OPERATIONS:
            yield partial(smaller_calls, op, file.format)
        case "encode" | "encode_scale" | "encode_stochastic" | "shared_scale":
            yield _floats(file, 0, _SCALARS)
        case "decode":
            yield _codes(0, 0)
        case "decode_scale":
            yield _codes(0, E8M0.bias)
        case "quantize_tensor":
            yield lambda row: _dropped(row, 3)
            yield from (_floats(file, place, _IN_TENSORS) for place in range(3, count))
        case "linear" | "linear_gradients":
            yield lambda row: smaller_layers(file.op, stripped(row))
            yield lambda row: blanked_layers(file.op, stripped(row))
            yield lambda row: rounder_layers(file.op, stripped(row), LAYOUTS[file.float])
        case "matmul":
            yield lambda row: _dropped(row, 0)
            yield from (_codes(place, 0) for place in range(count))
        case "quantize" | "dequantize":
            fmt = block_format(file.format)
            first = count - fmt.elements_per_block
            yield lambda row: _dropped(row, first)
            yield lambda row: _moved(row, first)
            if fmt.tensor_scale:
                one = F32.bias << F32.mantissa_bits
                yield lambda row: _replaced(row, 0, [one] * (int(row[0]) != one))
            if file.op == "dequantize":
                yield _codes(first - 1, fmt.scale.bias << fmt.scale.mantissa_bits)
                yield from (_codes(place, 0) for place in range(first, count))
            else:
                yield from (_floats(file, place, _IN_BLOCKS) for place in range(first, count))


def smaller_calls(op: str, format: str, row: Words) -> Words:
    """Calls to try instead of one, the simplest first, padded, without those that have no answer.

    >>> row = padded([(1, 3, 0, 5, 0)])[0]
    >>> [stripped(one) for one in smaller_calls("pack_int4", "int4", row)[:4]]
    [(1, 1, 0), (1, 1, 5), (1, 2, 5, 0), (1, 2, 0, 5)]
    """
    words, operation = stripped(row), CALL_OPERATIONS[op]
    first = operation.first_policy(format)

    def has_answer(case: Sequence[int]) -> bool:
        try:
            operation.answer(format, case, first)
        except ValueError:
            return False
        return True

    tried = dict.fromkeys(tuple(one) for one in operation.smaller(format, words))
    legal = [one for one in tried if one != words and has_answer(one)]
    return padded(legal) if legal else np.empty((0, len(words)), np.uint64)


def _floats(file: VectorFile, place: int, reach: int) -> Attempt:
    """Simpler floats; only magnitudes for `shared_scale`."""
    layout, magnitudes = LAYOUTS[file.float], file.op == "shared_scale"

    def attempt(row: Words) -> Words:
        words = simplicity.simpler(int(row[place]), layout, reach)
        if magnitudes:
            words = [word for word in words if word < layout.sign_bit]
        return _replaced(row, place, words)

    return attempt


def _codes(place: int, one: int) -> Attempt:
    """Codes nearer to the simplest one, `one`."""

    def attempt(row: Words) -> Words:
        distance = abs(int(row[place]) - one)
        near = (one + sign * step for step in range(distance) for sign in (1, -1))
        return _replaced(row, place, [code for code in dict.fromkeys(near) if code >= 0])

    return attempt


def _replaced(row: Words, place: int, words: list[int]) -> Words:
    """Copies of a case with each of these words in a place."""
    rows = np.tile(row, (len(words), 1))
    rows[:, place] = words
    return rows


def _dropped(row: Words, first: int) -> Words:
    """Copies of a block with one nonzero element set to zero, the last element first."""
    places = np.flatnonzero(row[first:])[::-1] + first
    rows = np.tile(row, (len(places), 1))
    rows[np.arange(len(places)), places] = 0
    return rows


def _moved(row: Words, first: int) -> Words:
    """Copies of a block with one nonzero element moved to a zero before it."""
    pairs = [
        (zero, place)
        for place in np.flatnonzero(row[first:]) + first
        for zero in range(first, place)
        if row[zero] == 0
    ]
    rows = np.tile(row, (len(pairs), 1))
    for moved, (zero, place) in zip(rows, pairs, strict=True):
        moved[zero], moved[place] = row[place], 0
    return rows
