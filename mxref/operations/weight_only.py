"""Weight-only linear layers: words of cases, the interval of each number of an answer, and answers.

Words of `linear_qcs8w`: rows M of x, rows N of w, K, groups G of a row of w, and then N times G
scales, N times K codes, and M times K float32 patterns. `linear_qcs4w` has the bytes of each row of
w for the codes. The answer is (M, N) float32 patterns. G is 1 unless the format ends in `_groups`.
"""

from __future__ import annotations

import enum
import functools
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS, patterns
from mxref.exact import sum_bounds
from mxref.exact.integer import linear
from mxref.integer.integer_choices import Nibbles, Order
from mxref.integer.layers import linear_qcs4w, linear_qcs8w, unpack_int4
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Floats, Integers, PairsOfNibbles, Scales, Size
from mxref.operands.shown import show_float
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import CallSizes, Sizes
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.int4 import exact_unpacked
from mxref.operations.intervals import WIDEST, allowed, held, interval_of
from mxref.operations.operation import Words
from mxref.operations.product_words import BOUNDS
from mxref.operations.weight_only_draws import GROUP_SIZES, LAYER_SIZES, drawn_layer, exact_layer
from mxref.operations.wrong_answer import WrongAnswer
from mxref.products.intervals import Bounds

__all__ = ["LinearQcs4w", "LinearQcs8w", "WeightOnlyOperation"]

Array = NDArray[Any]
_ONE = 0x3F800000


class WeightOnlyOperation(CallOperation):
    """A layer whose weights are integers."""

    one_nan = True
    slot = "f32"
    sides = "rows", "outputs"
    multiples = "m", "n", "k"
    #: The largest |w + 8| + 8.
    reach: ClassVar[int]

    @abstractmethod
    def operands(self, arguments: Sequence[Any], nibbles: str) -> tuple[Array, Array, Array]:
        """The x, the integers (N, K) of the weights, and the scales, by the fast path."""

    @abstractmethod
    def outputs(
        self, format: str, words: Words, nibbles: str
    ) -> list[tuple[list[int], list[int], list[int]]]:
        """For each number of the answer the patterns of x, the integers of w and the scales."""

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """The product of x and w."""
        return np.float32, (values["m"], values["n"])

    def elements(self, sizes: Sequence[int]) -> int:
        """The numbers of the operands and of the answer."""
        m, n, *rest = sizes
        return m * n + (m + n) * math.prod(rest)

    def asked_sizes(self, format: str) -> CallSizes:
        """By the number of scales of a row."""
        return GROUP_SIZES if format.endswith("_groups") else LAYER_SIZES

    def size_features(self, format: str, sizes: Sizes, call: AskedCall) -> dict[str, int | str]:
        """All columns of groups."""
        return {"columns": math.prod(sizes[2:])} if format.endswith("_groups") else {}

    def bounds(self, format: str) -> tuple[str, ...]:
        """What every order of additions may give."""
        return BOUNDS

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The order of the additions."""
        return {"order": Order}

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words of 32 bits."""
        return 8, 8

    def interval(
        self, format: str, words: Words, order: str = WIDEST, nibbles: str = "high_first"
    ) -> Bounds:
        """What an order gives in any order of summation, of each number of the answer."""
        return _interval(self, format, tuple(words), order, nibbles)

    def difference(self, wrong: WrongAnswer) -> str:
        """The first number outside of its interval; if all are inside, the first that differs."""
        if len(wrong.want) != len(wrong.got):
            return super().difference(wrong)
        ends, got = self.interval(wrong.format, wrong.words), np.array(wrong.got, np.uint64)
        outside = ~held(ends, got, wrong.slot)
        index = int(np.argmax(outside if outside.any() else got != np.array(wrong.want)))
        row, column = divmod(index, wrong.words[1])
        shown = [show_float(side[index], LAYOUTS["f32"]) for side in (wrong.want, wrong.got)]
        place = f"row {row}, column {column}"
        return f"{place}: want {shown[0]}, got {shown[1]}: {allowed(ends, index)}"

    def run_column(self, format: str, words: Words, column: str) -> tuple[int, ...]:
        """An end of the interval, by the fast path.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> words = (1, 1, 1, 1, 0x3F800000, 3, 0x40000000)
        >>> run = CALL_OPERATIONS["linear_qcs8w"].run_column
        >>> [hex(run("int8", words, column)[0]) for column in BOUNDS]
        ['0x40c00000', '0x40c00000', '0x40c00000', '0x40c00000']
        """
        bounds = self.interval(format, words)
        low, high, overflow = (patterns(end, F32) for end in bounds)
        one = np.where((low == high) & (low == overflow), low, np.uint32(F32.nan_bits))
        return tuple((low, high, overflow, one)[BOUNDS.index(column)].tolist())

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The numbers, by the slow twin."""
        rows = self.outputs(format, words, chosen.get("nibbles", ""))
        return [linear(*one, chosen["order"]) for one in rows]

    def twin_column(self, format: str, words: Words, column: str) -> tuple[int, ...]:
        """An end of the interval, by the slow twin."""
        found = []
        for x, w, scales in self.outputs(format, words, "high_first"):
            ends = sum_bounds.linear_bounds(x, w, scales, WIDEST)
            if sum_bounds.exact_in_every_order(x, w, scales):
                ends = (linear(x, w, scales),) * 3
            one = ends[0] if len(set(ends)) == 1 else F32.nan_bits
            found.append((*ends, one)[BOUNDS.index(column)])
        return tuple(found)

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """Whether every order gives the answer."""
        rounds = F32.nan_bits in self.twin_column(format, words, "bits")
        return False, "Q10" if rounds else "Q11", ()


class _LinearQcs(WeightOnlyOperation):
    """A layer whose rows of weights have one scale, or one for each group."""

    parameters = "x, w, scales"

    def designed(self, format: str) -> Iterable[CaseInput]:
        """Lanes, codes, ties, ends and cancellation."""
        from mxref.operations.weight_only_cases import weight_only_cases

        return weight_only_cases(format)

    @abstractmethod
    def weights(self) -> Field:
        """The rows of w."""

    @abstractmethod
    def unpacked(self, w: Array, k: int, nibbles: str) -> Array:
        """The codes (N, K) of w, by the fast path."""

    @abstractmethod
    def exact_row(self, row: Sequence[int], k: int, nibbles: str) -> list[int]:
        """The codes of a row of w, by the slow twin."""

    @abstractmethod
    def drawn_weights(self, draws: Draws, n: int, k: int) -> Array:
        """Any weights."""

    def fields(self, format: str) -> tuple[Field, ...]:
        """The sizes, the scales, the weights and x."""
        many = 9 if format.endswith("_groups") else 1
        return (
            Field("m", Size()),
            Field("n", Size()),
            Field("k", Size(least=0)),
            Field("groups", Size(many)),
            Field("scales", Scales(), ("n", "groups")),
            self.weights(),
            Field("x", Floats(), ("m", "k")),
        )

    def check(self, format: str, values: Mapping[str, Any]) -> None:
        """Groups divide K, and are 1 unless the format says otherwise."""
        if values["k"] % values["groups"]:
            raise ValueError(f"groups must divide k, got {values['groups']} and {values['k']}")
        if values["groups"] != 1 and not format.endswith("_groups"):
            raise ValueError(f"groups must be 1 in {format}, got {values['groups']}")

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The factors, and the scales."""
        return "x", self.weights().name, "scales"

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """The x (M, K), the codes (N, K) or bytes (N, ceil(K / 2)) of w, the scales (N,) or (N, G).

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> call = CALL_OPERATIONS["linear_qcs4w"].call("int4", (1, 1, 1, 1, 0, 0x98, 0))
        >>> [part.tolist() for part in call.arguments]
        [[[0.0]], [[152]], [0.0]]
        """
        x, w, scales = super().arguments(format, values)
        return x, w, scales if format.endswith("_groups") else scales.reshape(-1)

    def units(self, format: str) -> dict[str, str]:
        """Rows, outputs and columns."""
        first = {"m": "rows", "n": "outputs"}
        if format.endswith("_groups"):
            return first | {"groups": "groups", "each": "columns in a group"}
        return first | {"k": "columns"}

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero times one zero."""
        return 1, 1, 1, 1, _ONE, self.weights().kind.easy, 0

    def operands(self, arguments: Sequence[Any], nibbles: str) -> tuple[Array, Array, Array]:
        """The codes of w by the fast path."""
        x, w, scales = arguments
        return x, self.unpacked(w, x.shape[1], nibbles), scales

    def outputs(
        self, format: str, words: Words, nibbles: str
    ) -> list[tuple[list[int], list[int], list[int]]]:
        """The codes of a row by the slow twin."""
        x, w, scales = self.call(format, words).arguments
        rows = [self.exact_row(row, x.shape[1], nibbles) for row in w.tolist()]
        factors = scales.reshape(len(rows), -1).view(np.uint32).tolist()
        return [
            (row, codes, own)
            for row in x.view(np.uint32).tolist()
            for codes, own in zip(rows, factors, strict=True)
        ]

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small layer: half are exact in every order."""
        m, n, groups = (int(draws.between(1, most)) for most in (3, 4, 5))
        groups = groups if format.endswith("_groups") else 1
        k = groups * int(draws.between(1, 40 // groups))
        scales, x = drawn_layer(draws, (m, k), (n, groups), number)
        w = self.extreme_weights(draws, n, k, number)
        return np.concatenate([[m, n, k, groups], *map(np.ravel, (scales, w, x))])

    def extreme_weights(self, draws: Draws, n: int, k: int, number: int) -> Array:
        """Weights of a random case."""
        return self.drawn_weights(draws, n, k)

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Numbers of which no order of additions rounds a sum, with scales of either sign or 0."""
        m, n, *rest = sizes
        k = math.prod(rest)
        groups = (n, rest[0]) if format.endswith("_groups") else (n,)
        x, scales = exact_layer(draws, (m, k), groups, self.reach)
        w = self.drawn_weights(draws, n, k).astype(self.weights().kind.array([0]).dtype)
        return AskedCall((x, w, scales), np.dtype(np.float32), (m, n))


class LinearQcs8w(_LinearQcs):
    """Weights of eight bits."""

    name = "linear_qcs8w"
    axes_filled = FilledAxes(("mk", "nk", "=n"), ("mn",))
    formats = ("int8", "int8_groups")
    reach = 143

    def weights(self) -> Field:
        """Codes."""
        return Field("w", Integers("int8"), ("n", "k"))

    def unpacked(self, w: Array, k: int, nibbles: str) -> Array:
        """They are the codes."""
        return w

    def exact_row(self, row: Sequence[int], k: int, nibbles: str) -> list[int]:
        """They are the codes."""
        return list(row)

    def drawn_weights(self, draws: Draws, n: int, k: int) -> Array:
        """Any codes."""
        return draws.between(-128, 127, (n, k))

    def extreme_weights(self, draws: Draws, n: int, k: int, number: int) -> Array:
        """One in eight of them an end of the range, 1 or 0."""
        w = self.drawn_weights(draws, n, k)
        return np.where(draws.one_in((n, k), 8), (-128, 127, 1, 0)[number // 2 % 4], w)

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> Array:
        """The numbers, by the fast path."""
        return linear_qcs8w(*call.arguments, **choices)


class LinearQcs4w(_LinearQcs):
    """Weights of four bits, two a byte."""

    name = "linear_qcs4w"
    axes_filled = FilledAxes(("mk", "nK", "=n"), ("mn",))
    formats = ("int4", "int4_groups")
    reach = 23

    def weights(self) -> Field:
        """Bytes of two codes."""
        return Field("packed", PairsOfNibbles(), ("n", "k/2"))

    def unpacked(self, w: Array, k: int, nibbles: str) -> Array:
        """The codes of the bytes."""
        return unpack_int4(w, k, nibbles)

    def exact_row(self, row: Sequence[int], k: int, nibbles: str) -> list[int]:
        """The codes of the bytes."""
        return exact_unpacked(row, k, nibbles)

    def drawn_weights(self, draws: Draws, n: int, k: int) -> Array:
        """Any bytes."""
        return draws.between(0, 255, (n, -(-k // 2)))

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """Also which of two codes has the high bits."""
        return super().kinds(format) | {"nibbles": Nibbles}

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> Array:
        """The numbers, by the fast path."""
        return linear_qcs4w(*call.arguments, **choices)


@functools.lru_cache(1 << 12)  # the same cases are compared with several orders and mutants
def _interval(
    layer: WeightOnlyOperation, format: str, words: tuple[int, ...], order: str, nibbles: str
) -> Bounds:
    return interval_of(*layer.operands(layer.call(format, words).arguments, nibbles), order)
