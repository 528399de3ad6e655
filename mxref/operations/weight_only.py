"""Weight-only linear layers: words of cases, the interval of each number of an answer, and answers.

Words of `linear_qcs8w`: rows M of x, rows N of w, K, groups G of a row of w, and then N times G
scales, N times K codes, and M times K float32 patterns. `linear_qcs4w` has the bytes of each row of
w for the codes. The answer is (M, N) float32 patterns. G is 1 unless the format ends in `_groups`.
"""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, patterns
from mxref.bits.weighted_sums import exact_in_every_order
from mxref.exact import sum_bounds
from mxref.exact.integer import linear, pack_int4
from mxref.integer.integer_choices import Nibbles, Order
from mxref.integer.weight_only import linear_bounds, linear_qcs4w, linear_qcs8w, unpack_int4
from mxref.operations.integer_operation import IntegerCall, IntegerOperation
from mxref.operations.operation import Words
from mxref.operations.product_words import BOUNDS
from mxref.products.intervals import Bounds

__all__ = [
    "LinearQcs4w",
    "LinearQcs8w",
    "WeightOnlyOperation",
    "exact_ends",
    "exact_sums_of",
    "exact_unpacked",
    "interval",
    "interval_of",
    "layer_arguments",
    "layer_ends",
]

Array = NDArray[Any]
#: The order whose intervals hold those of the others.
_WIDEST = "offset"


def layer_arguments(op: str, format: str, words: Sequence[int]) -> tuple[Array, Array, Array]:
    """The x (M, K), the codes (N, K) or bytes (N, ceil(K / 2)) of w, and the scales (N,) or (N, G).

    >>> words = (1, 1, 1, 1, 0, 0x98, 0)
    >>> [part.tolist() for part in layer_arguments("linear_qcs4w", "int4", words)]
    [[[0.0]], [[152]], [0.0]]

    Raises:
        ValueError: another number of words than the sizes say.
    """
    if len(words) < 4 or not all(words[i] for i in (0, 1, 3)) or words[2] % words[3]:
        raise ValueError("rows of x and of w and groups must not be 0, and groups divide K")
    m, n, k, groups = words[:4]
    if groups != 1 and not format.endswith("_groups"):
        raise ValueError(f"groups must be 1 in {format}, got {groups}")
    size = -(-k // 2) if op == "linear_qcs4w" else k
    ends = [4, 4 + n * groups]
    ends += [ends[-1] + n * size, ends[-1] + n * size + m * k]
    if len(words) != ends[-1]:
        raise ValueError(f"sizes {m}, {n}, {k} and {groups} must have {ends[-1]} words")
    array = np.array(words, np.uint32)
    scales, w, x = (array[a:b] for a, b in itertools.pairwise(ends))
    kind = np.uint8 if op == "linear_qcs4w" else np.int8
    shape = (n, groups) if format.endswith("_groups") else (n,)
    floats = x.view(np.float32).reshape(m, k), scales.view(np.float32).reshape(shape)
    return floats[0], w.view(np.int32).astype(kind).reshape(n, size), floats[1]


def exact_unpacked(packed: Sequence[int], k: int, nibbles: str) -> list[int]:
    """The codes of one row by search: those whose bytes the slow twin packs to the given ones.

    >>> exact_unpacked((0x9A, 0xB8), 3, "high_first")
    [1, 2, 3]
    """
    pairs = {pack_int4((a, b), nibbles)[0]: (a, b) for a in range(-8, 8) for b in range(-8, 8)}
    return [code for byte in packed for code in pairs[byte]][:k]


@functools.lru_cache(1 << 12)  # the same cases are compared with several orders and mutants
def interval(
    op: str, format: str, words: tuple[int, ...], order: str = _WIDEST, nibbles: str = "high_first"
) -> Bounds:
    """What an order gives in any order of summation, of each number of the answer."""
    x, w, scales = layer_arguments(op, format, words)
    codes = unpack_int4(w, x.shape[1], nibbles) if op == "linear_qcs4w" else w
    return interval_of(x, codes, scales, order)


def interval_of(x: Array, codes: Array, scales: Array, order: str = _WIDEST) -> Bounds:
    """`interval` of operands: the exact answer where no order rounds; by the fast path.

    >>> [end.item() for end in interval_of(np.float32([[2]]), np.int8([[3]]), np.float32([1]))]
    [6.0, 6.0, 6.0]
    """
    large = np.abs(codes.astype(np.int64) + 8) + 8
    factors = scales.astype(np.float64).reshape(len(codes), -1)
    one = exact_in_every_order(x.view(np.uint32), codes.astype(np.int64), large, factors)
    exact = linear_qcs8w(x, codes, scales)
    ends = (np.where(one, exact, end) for end in linear_bounds(x, codes, scales, order))
    return Bounds(*(end.reshape(-1) for end in ends))


def layer_ends(op: str, format: str, words: Sequence[int], column: str) -> tuple[int, ...]:
    """One of the columns `BOUNDS` of a case, by the fast path.

    >>> words = (1, 1, 1, 1, 0x3F800000, 3, 0x40000000)
    >>> [hex(layer_ends("linear_qcs8w", "int8", words, column)[0]) for column in BOUNDS]
    ['0x40c00000', '0x40c00000', '0x40c00000', '0x40c00000']
    """
    bounds = interval(op, format, tuple(words))
    low, high, overflow = (patterns(end, F32) for end in bounds)
    one = np.where((low == high) & (low == overflow), low, np.uint32(F32.nan_bits))
    return tuple((low, high, overflow, one)[BOUNDS.index(column)].tolist())


def exact_ends(op: str, format: str, words: Sequence[int], column: str) -> tuple[int, ...]:
    """One of the columns `BOUNDS` of a case, by the slow twin."""
    found = []
    for x, w, scales in _outputs(op, format, words, "high_first"):
        ends = sum_bounds.linear_bounds(x, w, scales, _WIDEST)
        if sum_bounds.exact_in_every_order(x, w, scales):
            ends = (linear(x, w, scales),) * 3
        one = ends[0] if len(set(ends)) == 1 else F32.nan_bits
        found.append((*ends, one)[BOUNDS.index(column)])
    return tuple(found)


def exact_sums_of(
    op: str, format: str, words: Sequence[int], order: str, nibbles: str
) -> tuple[int, ...]:
    """The answer of an order to a case, by the slow twin."""
    return tuple(linear(*one, order) for one in _outputs(op, format, words, nibbles))


def _outputs(
    op: str, format: str, words: Sequence[int], nibbles: str
) -> list[tuple[list[int], list[int], list[int]]]:
    """For each number of the answer the patterns of x, the codes of w and the scales."""
    x, w, scales = layer_arguments(op, format, words)
    rows = w.tolist()
    if op == "linear_qcs4w":
        rows = [exact_unpacked(row, x.shape[1], nibbles) for row in rows]
    factors = scales.reshape(len(rows), -1).view(np.uint32).tolist()
    return [
        (row, codes, own)
        for row in x.view(np.uint32).tolist()
        for codes, own in zip(rows, factors, strict=True)
    ]


class WeightOnlyOperation(IntegerOperation):
    """A layer whose weights are integers."""

    slot = "f32"
    parameters = "x, w, scales"

    def bounds(self, format: str) -> tuple[str, ...]:
        """What every order of additions may give."""
        return BOUNDS

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The order of the additions."""
        return {"order": Order}

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words of 32 bits."""
        return 8, 8

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero times one zero."""
        return 1, 1, 1, 1, 0x3F800000, 0, 0

    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case."""
        arguments = layer_arguments(self.name, format, words)
        places = len(words) - arguments[0].size
        return IntegerCall(arguments, np.dtype(np.float32), tuple(words[:2]), places)

    def run_column(self, format: str, words: Words, column: str) -> tuple[int, ...]:
        """An end of the interval, by the fast path."""
        return layer_ends(self.name, format, words, column)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The numbers, by the slow twin."""
        nibbles = chosen.get("nibbles", "")
        return exact_sums_of(self.name, format, words, chosen["order"], nibbles)

    def twin_column(self, format: str, words: Words, column: str) -> Iterable[int]:
        """An end of the interval, by the slow twin."""
        return exact_ends(self.name, format, words, column)


class LinearQcs8w(WeightOnlyOperation):
    """Weights of eight bits."""

    name = "linear_qcs8w"
    formats = ("int8", "int8_groups")

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> Array:
        """The numbers, by the fast path."""
        return linear_qcs8w(*call.arguments, **choices)


class LinearQcs4w(WeightOnlyOperation):
    """Weights of four bits, two a byte."""

    name = "linear_qcs4w"
    formats = ("int4", "int4_groups")

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """Also which of two codes has the high bits."""
        return super().kinds(format) | {"nibbles": Nibbles}

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero times one zero."""
        return 1, 1, 1, 1, 0x3F800000, 0x88, 0

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> Array:
        """The numbers, by the fast path."""
        return linear_qcs4w(*call.arguments, **choices)
