"""Trees of additions: of what a sum is made, and the same for an adder that is known."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, as_float64, flushed, rounded
from mxref.bits.floats import F64, LAYOUTS, Floats, compose, patterns, split
from mxref.policy.choices import Rounding
from mxref.products.adders import Adder
from mxref.products.mma import mma

__all__ = ["C", "SumTree", "Tree", "canonical", "chain_tree", "drawn", "leaves_of", "nodes_of"]

#: What is added: the number of a product, `C`, or the sum of some of them.
Tree: TypeAlias = Any
C = -1


@dataclass(frozen=True, slots=True)
class SumTree:
    """Additions in a tree, each of which is a step of an adder.

    Args:
        tree: a product is its number, C is -1, and a sum is a tuple of what it adds.
        adder: adds the products of a sum to at most one other sum; sums alone are added in the type
            of the output, to nearest. With its `tree`, all are, and products are rounded before.

    >>> pairs = SumTree(((-1, (0, 1)), (2, 3)), Adder(2, tree=True, rounding="ties_to_even"))
    >>> a = np.float16([[1, 2**-12, 2**-12, 1]])
    >>> pairs(a, a.T, np.float32([[0]])).item() - 2
    0.0
    """

    tree: Tree
    adder: Adder

    def __call__(self, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Floats:
        """C + A·B: of (M, K), (K, N) and (M, N)."""
        if (adder := self.as_adder) is not None:
            return mma(a, b, c, adder=adder)
        layout = LAYOUTS[self.adder.output]
        before = as_float64(patterns(c, layout), layout).view(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._sum(self.tree, a, b, before)
        found = np.where(np.isnan(found), np.nan, found)
        return compose(split(found.view(np.uint64), F64), layout).view(layout.dtype)

    @property
    def as_adder(self) -> Adder | None:
        """The adder that adds in this tree, if there is one."""
        sizes = (2, 4) if self.adder.tree else (self.adder.step,)
        ways = [_promotion(self.tree, size, tree_of_pairs=self.adder.tree) for size in sizes]
        fits = [way for way in ways if way is not None]
        if not fits:
            return None
        step, promotion = min(fits, key=lambda way: way[1] or 0)
        if promotion and self.adder.output == "f16":
            return None
        return dataclasses.replace(self.adder, step=step, promotion=promotion)

    def of(self, adder: Adder) -> SumTree:
        """The same tree of another adder."""
        return SumTree(self.tree, adder)

    def _sum(self, node: Tree, a: NDArray[Any], b: NDArray[Any], c: F64Array) -> F64Array:
        if node == C:
            return flushed(c) if self.adder.flush else c
        if isinstance(node, int):
            return self._products([node], a, b, np.zeros(c.shape))
        leaves, inner = _parts(node)
        if leaves and len(inner) < 2 and not self.adder.tree:
            while inner and inner[0] != C:
                more, rest = _parts(inner[0])
                if len(more) != self.adder.step or len(rest) > 1:
                    break
                leaves, inner = more + leaves, rest
            before = self._sum(inner[0], a, b, c) if inner else np.zeros(c.shape)
            return self._products(leaves, a, b, before)
        sums = [self._sum(one, a, b, c) for one in inner]
        terms = sums + [self._sum(one, a, b, c) for one in leaves]
        total = terms[0]
        for term in terms[1:]:
            total = rounded(total + term, LAYOUTS[self.adder.output])
            total = flushed(total) if self.adder.flush else total
        return total

    def _products(
        self, some: list[int], a: NDArray[Any], b: NDArray[Any], before: F64Array
    ) -> F64Array:
        layout = LAYOUTS[self.adder.output]
        c = compose(split(before.view(np.uint64), F64), layout).view(layout.dtype)
        found = mma(a[:, some], b[some], c, adder=self.adder)
        return as_float64(patterns(found, layout), layout).view(np.float64)


def _parts(node: Tree) -> tuple[list[int], list[Tree]]:
    """The products that a sum adds, and what else."""
    leaves = [one for one in node if isinstance(one, int) and one != C]
    return leaves, [one for one in node if one == C or not isinstance(one, int)]


@functools.cache
def _promotion(tree: Tree, step: int, *, tree_of_pairs: bool) -> tuple[int, int | None] | None:
    """The step and the promotion of an adder that adds in a tree; None if none does."""
    adder = Adder(step, tree=tree_of_pairs, rounding=Rounding.TIES_TO_EVEN)
    products = range(sum(one != C for one in leaves_of(tree)))
    for promotion in (None, *range(step, products.stop, step)):
        if chain_tree(dataclasses.replace(adder, promotion=promotion), products) == tree:
            return step, promotion
    return None


def leaves_of(tree: Tree) -> Iterator[int]:
    """All leaves."""
    if isinstance(tree, int):
        yield tree
    else:
        for one in tree:
            yield from leaves_of(one)


def nodes_of(tree: Tree) -> Iterator[tuple[Tree, ...]]:
    """All sums, the outer one first."""
    if not isinstance(tree, int):
        yield tree
        for one in tree:
            yield from nodes_of(one)


def canonical(tree: Tree) -> Tree:
    """The same sums with what they add in the order of their first leaves.

    >>> canonical((3, (2, (1,)), (0, -1)))
    ((-1, 0), (1, 2), 3)
    """
    return _ordered(tree)[1]


def _ordered(tree: Tree) -> tuple[int, Tree]:
    """The least leaf, and the tree."""
    if isinstance(tree, int):
        return tree, tree
    every = sorted((_ordered(one) for one in tree), key=lambda one: one[0])
    if len(every) == 1:
        return every[0]
    return every[0][0], tuple(one for _, one in every)


def chain_tree(adder: Adder, products: Sequence[int], start: Tree | None = C) -> Tree:
    """What an adder adds, from C on, or from nothing.

    >>> chain_tree(Adder(2, 13, -133), range(5))
    (((-1, 0, 1), 2, 3), 4)
    >>> chain_tree(Adder(2, 13, -133, promotion=2), range(5))
    (((-1, (0, 1)), (2, 3)), 4)
    """
    length = adder.promotion or len(products)
    total = start
    for first in range(0, len(products), max(length, 1)):
        chunk = products[first : first + length]
        if adder.promotion is None:
            total = _steps(adder, chunk, total)
        else:
            part = _steps(adder, chunk, None)
            total = part if total is None else (total, part)
    return canonical(total)


def _steps(adder: Adder, products: Sequence[int], total: Tree | None) -> Tree:
    for first in range(0, len(products), adder.step):
        some: tuple[Tree, ...] = tuple(products[first : first + adder.step])
        if adder.tree:
            while len(some) > 1:
                some = tuple(some[i : i + 2] for i in range(0, len(some), 2))
        total = some if total is None else (total, *some)
    return total


def drawn(tree: Tree) -> str:
    """A tree as text: a sum in brackets, products by their numbers.

    >>> drawn((((-1, 0, 1, 2, 3), 4, 5, 6, 7), 8))
    '(((C 0-3) 4-7) 8)'
    """
    if isinstance(tree, int):
        return "C" if tree == C else str(tree)
    words: list[str] = []
    runs: list[list[int]] = []
    for one in tree:
        if isinstance(one, int) and one != C:
            if runs and runs[-1][1] + 1 == one:
                runs[-1][1] = one
                words[-1] = f"{runs[-1][0]}-{one}"
                continue
            runs.append([one, one])
            words.append(str(one))
        else:
            runs = []
            words.append(drawn(one))
    return f"({' '.join(words)})"
