"""Matrix units that nobody has named, drawn at random: their arithmetic is NumPy's and Python's.

It shares no code with adders: products are float64, sums are integers of Python or float64 that
holds them, and rounding is NumPy's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Tree = Any
C = -1

#: The exponent of the smallest normal number, and the type.
FORMATS: dict[str, tuple[int, Any]] = {
    "e4m3": (-6, ml_dtypes.float8_e4m3fn),
    "e5m2": (-14, ml_dtypes.float8_e5m2),
    "f16": (-14, np.float16),
    "bf16": (-126, ml_dtypes.bfloat16),
    "tf32": (-126, np.float32),
}


@dataclass(frozen=True)
class Step:
    """How a step adds: `aligned`, `later`, `exact` or `pairs` of float32 numbers."""

    kind: str
    size: int = 1
    bits: int = 0
    zero: int = 0
    kept: int | None = None  # None: to nearest
    later: int = 0
    halves: bool = False
    output: str = "f32"

    def fields(self) -> dict[str, Any]:
        """What the same adder is called."""
        found: dict[str, Any] = {"output": self.output}
        if self.kind == "aligned":
            found |= {"step": self.size, "fraction_bits": self.bits, "zero_exponent": self.zero}
            found |= {"output_bits": 23 if self.kept is None else self.kept}
            found["rounding"] = "ties_to_even" if self.kept is None else "toward_zero"
        if self.kind == "later":
            found |= {"step": self.size, "fraction_bits": self.bits, "later_bits": self.later}
            found["halves"] = self.halves
        if self.kind == "exact":
            found |= {"step": self.size, "fraction_bits": None}
        return found


@dataclass(frozen=True)
class Hidden:
    """A unit: what it multiplies, in which tree it adds, and how."""

    format: str
    k: int
    step: Step
    tree: Tree

    def __call__(self, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        """C + A·B."""
        x, ex = _read(a, self.format)
        y, ey = _read(b, self.format)
        terms = [x[:, i, None] * y[None, i] for i in range(self.k)]
        exponents = [ex[:, i, None] + ey[None, i] for i in range(self.k)]

        def value(node: Tree) -> Numbers:
            if node == C:
                return c.astype(np.float64)
            some = [node] if isinstance(node, int) else list(node)
            leaves = [one for one in some if isinstance(one, int) and one != C]
            sums = [value(one) for one in some if one == C or not isinstance(one, int)]
            if self.step.kind == "pairs" or len(sums) > 1:
                type_ = np.float16 if self.step.output == "f16" else np.float32
                both = [one.astype(type_) for one in (*sums, *(terms[i] for i in leaves))]
                return functools.reduce(np.add, both).astype(np.float64)
            before = sums[0] if sums else np.zeros(c.shape)
            return _stepped([terms[i] for i in leaves], [exponents[i] for i in leaves], before,
                            self.step)  # fmt: skip

        with np.errstate(all="ignore"):
            found: NDArray[Any] = value(self.tree).astype(c.dtype)
        return found


def _read(array: NDArray[Any], name: str) -> tuple[Numbers, NDArray[np.int64]]:
    if name == "tf32":
        array = (array.view(np.uint32) >> 13 << 13).view(np.float32)
    numbers = array.astype(np.float64)
    exponents = np.maximum(np.frexp(numbers)[1] - 1, FORMATS[name][0])
    return numbers, np.where(numbers == 0, -(10**6), exponents).astype(np.int64)


def _own(total: Numbers, least: int) -> NDArray[np.int64]:
    found = np.maximum(np.frexp(total)[1] - 1, least)
    return np.where(total == 0, -(10**6), found).astype(np.int64)


def _cut(x: Numbers, exponent: Any, way: Callable[[Numbers], Numbers] = np.trunc) -> Numbers:
    found: Numbers = np.ldexp(way(np.ldexp(x, -exponent)), exponent)
    return found


def _stepped(
    terms: list[Numbers], exponents: list[NDArray[np.int64]], before: Numbers, step: Step
) -> Numbers:
    if step.kind == "exact":
        rounded = np.frompyfunc(_rounded, 1, 1)
        total = functools.reduce(np.add, [_integers(one) for one in (*terms, before)])
        nearest: Numbers = rounded(total).astype(np.float64)
        return nearest
    if step.kind == "later":
        return _later(terms, exponents, before, step)
    f16 = step.output == "f16"
    filled = len(terms) < step.size
    tops = [*exponents, _own(before, -14 if f16 else -126)]
    tops = [np.where(one < -(10**5), step.zero, one) for one in tops]
    top = functools.reduce(np.maximum, tops)
    top = np.maximum(top, step.zero) if filled else top
    total = functools.reduce(np.add, [_cut(one, top - step.bits) for one in (*terms, before)])
    if step.kept is None:
        return total.astype(np.float16 if f16 else np.float32).astype(np.float64) + 0.0
    return _cut(total, np.maximum(np.frexp(total)[1] - 1, -126) - step.kept) + 0.0


def _later(
    terms: list[Numbers], exponents: list[NDArray[np.int64]], before: Numbers, step: Step
) -> Numbers:
    lanes = 2 if step.halves else 1
    parts, tops = [], []
    for lane in range(lanes):
        top = functools.reduce(np.maximum, exponents[lane::lanes], np.full(before.shape, -600))
        tops.append(top)
        some = [_cut(one, top - step.bits) for one in terms[lane::lanes]]
        parts.append(functools.reduce(np.add, some, np.zeros(before.shape)))
    top = functools.reduce(np.maximum, tops)
    dot = functools.reduce(np.add, [_cut(one, top - step.bits, np.floor) for one in parts])
    own = np.maximum(_own(before, -126), -126)
    top = np.maximum(top, own)
    kept = _cut(before, top - step.bits, np.floor)
    if step.halves:
        kept = np.where(own < top - step.bits - 1, 0, kept)
    total = _cut(dot, top - step.later - 1, np.floor) + kept + 0.0
    last = np.maximum(np.frexp(total)[1] - 1, -126) - step.later
    return _cut(total, last, np.floor).astype(np.float32).astype(np.float64)


def _integers(x: Numbers) -> NDArray[Any]:
    """In units of 2**-400."""

    def one(value: float) -> int:
        above, below = value.as_integer_ratio()
        return (above << 400) // below

    found: NDArray[Any] = np.frompyfunc(one, 1, 1)(x.astype(object))
    return found


def _rounded(n: int) -> float:
    """The nearest float32 number, ties to even."""
    drop = max(abs(n).bit_length() - 24, 400 - 149)
    whole, rest = divmod(abs(n), 1 << drop)
    whole += rest > 1 << drop - 1 or (rest == 1 << drop - 1 and whole & 1)
    return float(np.ldexp(float(whole), drop - 400)) * (-1 if n < 0 else 1)


def ordered(tree: Tree) -> Tree:
    """Sums whose parts are in the order of their least leaves."""
    if isinstance(tree, int):
        return tree
    parts = sorted((ordered(one) for one in tree), key=_first)
    return parts[0] if len(parts) == 1 else tuple(parts)


def _first(tree: Tree) -> int:
    return tree if isinstance(tree, int) else min(map(_first, tree))


def _chain(products: list[int], size: int, start: Tree | None) -> Tree:
    total = start
    for first in range(0, len(products), size):
        some = products[first : first + size]
        total = (*some,) if total is None else (total, *some)
    return total


def _pairs(parts: list[Tree]) -> Tree:
    while len(parts) > 1:
        odd = parts[len(parts) // 2 * 2 :]
        parts = [*zip(parts[::2], parts[1::2], strict=False), *odd]
    return parts[0]


def _row(parts: list[Tree]) -> Tree:
    return functools.reduce(lambda total, one: (total, one), parts)


def _any_tree(state: np.random.Generator, leaves: list[int]) -> Tree:
    if len(leaves) == 1:
        return leaves[0]
    cut = int(state.integers(1, len(leaves)))
    return _any_tree(state, leaves[:cut]), _any_tree(state, leaves[cut:])


KINDS = ("aligned", "nearest", "in_f16", "later", "exact", "promoted", "parts", "lanes", "any",
         "sequential", "pairwise", "late")  # fmt: skip


def hidden(state: np.random.Generator, kind: str) -> Hidden:
    """A unit of a kind whose numbers are any."""
    name = str(state.choice(list(FORMATS)))
    k = int(state.choice([24, 32, 48, 50]))
    every = list(range(k))
    size, zero = int(state.choice([3, 4, 5, 8, 12, 16])), int(state.integers(-150, -126))
    kept = None if state.integers(3) == 0 else int(state.choice([10, 13, 16, 20, 22, 23]))
    step = Step("aligned", size, int(state.integers(10, 27)), zero, kept)
    chain = _chain(every, size, C)
    if kind == "aligned":
        return Hidden(name, k, step, chain)
    if kind == "nearest":
        step = Step("aligned", size, int(state.integers(10, 27)), zero)
        return Hidden(name, k, step, chain)
    if kind == "in_f16":
        zero = int(state.integers(-25, -18))
        name = str(state.choice(["e4m3", "e5m2", "f16"]))
        step = Step("aligned", size, int(state.integers(10, 27)), zero, output="f16")
        return Hidden(name, k, step, chain)
    if kind == "later":
        bits = int(state.integers(20, 28))
        step = Step("later", size, bits, later=int(state.integers(bits + 1, 36)),
                    halves=bool(state.integers(2)))  # fmt: skip
        return Hidden(str(state.choice(["f16", "bf16", "tf32"])), k, step, chain)
    if kind == "exact":
        size, k = int(state.choice([2, 3, 4, 8])), 16
        return Hidden(name, k, Step("exact", size), _chain(every[:k], size, C))
    pairs = Step("pairs")
    if kind == "sequential":
        order = every if state.integers(2) else every[::-1]
        return Hidden(name, k, pairs, _row([C, *order]))
    if kind == "pairwise":
        return Hidden(name, k, pairs, (_pairs(list(every)), C))
    if kind == "any":
        leaves = [C, *every[:24]]
        state.shuffle(leaves)
        return Hidden(name, 24, pairs, _any_tree(state, leaves))
    if kind == "late":
        return Hidden(name, k, step, (_chain(every, size, None), C))
    k = 48
    every, count = list(range(k)), int(state.choice([2, 3, 4]))
    lists = [every[i * k // count : (i + 1) * k // count] for i in range(count)]
    if kind == "promoted":
        size = int(state.choice([4, 8]))
        length = size * int(state.integers(1, 4))
        lists = [every[i : i + length] for i in range(0, k, length)]
        step = Step("aligned", size, step.bits, zero, kept)
        return Hidden(name, k, step, _row([C, *(_chain(part, size, None) for part in lists)]))
    if kind == "lanes":
        lists = [every[i::count] for i in range(count)]
    start = C if state.integers(2) else None
    parts = [_chain(part, size, start if not i else None) for i, part in enumerate(lists)]
    tree = _pairs(parts) if state.integers(2) else _row(parts)
    return Hidden(name, k, step, tree if start == C else (tree, C))
