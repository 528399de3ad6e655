"""The tree of additions, found by two large numbers that swamp ones: FPRev's masks.

A sum of ones, but M at one place and -M at another, misses the ones that were added to one of them
before both met. Where additions round or cut, those are all the others of the least sum that has
both; where a step is exact, it keeps those that it adds itself.

Source: FPRev, arXiv 2411.00442; SPEC_NOTES N47.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mxref.conformance.adders.device import Device
from mxref.conformance.adders.trees import C, Tree, canonical, leaves_of

__all__ = ["Masks", "UnreadError"]

#: The largest exponents of M and of a one: far apart, and far from where types end.
_FAR = 40
#: By how many bits ones, all together, must be below M.
_SWAMPED = 25


class UnreadError(ValueError):
    """Answers that are not those of a tree."""


class Masks:
    """Answers to masks, and the tree that they show."""

    def __init__(self, device: Device) -> None:
        """Choose M and the ones."""
        self.device = device
        layout = device.layout
        least = layout.emin - layout.mantissa_bits + 2
        self.large = min(_FAR, device.most, layout.bias - 1)
        normal = sum(one.normal for one in device.ranges)
        far = self.large - _SWAMPED - (device.k - 1).bit_length()
        #: Subnormal factors may count as zeros.
        self.one = max(-_FAR, normal if normal <= far else device.least, least)
        self.missing: dict[tuple[int, int], int] = {}

    @property
    def swamp(self) -> bool:
        """Whether the formats are wide enough."""
        return self.large - self.one >= _SWAMPED + (self.device.k - 1).bit_length()

    def tree(self) -> tuple[Tree, bool]:
        """The tree, and whether steps are exact.

        Raises:
            UnreadError: there is none that answers so.
        """
        leaves = [C, *range(self.device.k)]
        if not self.swamp:
            return self._by_halves(), False
        for exact in (False, True):
            try:
                tree = canonical(self._built(leaves, exact=exact))
            except UnreadError:
                continue
            if self._fits(tree, exact=exact):
                return tree, exact
        raise UnreadError("the masks show no tree")

    def _measure(self, pairs: Iterable[tuple[int, int]]) -> list[int]:
        """How many ones are missing if M and -M are at two leaves."""
        wanted = [(min(pair), max(pair)) for pair in pairs]
        new = [pair for pair in dict.fromkeys(wanted) if pair not in self.missing]
        terms = np.full((len(new), self.device.k + 1), 2.0**self.one)
        for row, (i, j) in zip(terms, new, strict=True):
            row[i + 1], row[j + 1] = 2.0**self.large, -(2.0**self.large)
        found = self.device.ask(terms[:, 1:], terms[:, 0]) * 2.0**-self.one
        for pair, count in zip(new, found.tolist(), strict=True):
            missing = self.device.k - 1 - count
            if not float(missing).is_integer():
                raise UnreadError("the masks give no numbers of ones")
            self.missing[pair] = int(missing)
        return [self.missing[pair] for pair in wanted]

    def _built(self, leaves: Sequence[int], *, exact: bool) -> Tree:
        """The least sum of all these leaves, found from the first one outwards."""
        first, rest = leaves[0], leaves[1:]
        seen = self._measure((first, one) for one in rest)
        node: Tree = first
        for count in sorted(set(seen)):
            group = [one for one, own in zip(rest, seen, strict=True) if own == count]
            node = (node, *self._split(group, count, exact=exact))
        return node

    def _split(self, group: list[int], top: int, *, exact: bool) -> list[Tree]:
        """What a sum adds, of the leaves that are in it."""
        found: list[Tree] = []
        apart = 0 if exact else top
        while group:
            first, rest = group[0], group[1:]
            seen = self._measure((first, one) for one in rest)
            if any(count > top for count in seen):
                raise UnreadError("the masks contradict each other")
            inside = [one for one, count in zip(rest, seen, strict=True) if count != apart]
            others = [one for one, count in zip(rest, seen, strict=True) if count == apart]
            found.append(self._built([first, *inside], exact=exact) if inside else first)
            if not inside and len(others) > 2:
                return found + self._parts(others, apart, exact=exact)
            group = others
        return found

    def _parts(self, group: list[int], apart: int, *, exact: bool) -> list[Tree]:
        """The same by few pairs: leaves 1, 2, 4, 8 … places apart."""
        places = range(len(group))
        pairs = [(i, i + (1 << n)) for n in range(len(group).bit_length()) for i in places]
        pairs = [(i, j) for i, j in pairs if j < len(group)]
        part = list(places)
        seen = self._measure((group[i], group[j]) for i, j in pairs)
        for (i, j), count in zip(pairs, seen, strict=True):
            if count != apart:
                old, new = part[j], part[i]
                part = [new if one == old else one for one in part]
        return [
            self._built([group[i] for i in places if part[i] == one], exact=exact)
            for one in dict.fromkeys(part)
        ]

    def _fits(self, tree: Tree, *, exact: bool) -> bool:
        """Whether all answers are those of a tree."""
        sizes: dict[tuple[int, int], int] = {}
        for parts in _meetings(tree):
            for i, (own, size) in enumerate(parts):
                for other, more in parts[i + 1 :]:
                    total = size + more if exact else sum(n for _, n in parts)
                    for x in own:
                        for y in other:
                            sizes[min(x, y), max(x, y)] = total - 2
        return all(sizes[pair] == count for pair, count in self.missing.items())

    def _by_halves(self) -> Tree:
        """A chain of steps, where nothing but C swamps: two halves of its last place are one.

        What adds them at once keeps them; what adds one after the other cuts both, or rounds both
        to even.
        """
        device = self.device
        half = max(device.least, -_FAR)
        c = 2.0 ** (half + device.layout.mantissa_bits + 1)
        left, node = list(range(device.k)), C
        while left:
            first, rest = left[0], left[1:]
            terms = np.zeros((len(rest), device.k))
            terms[:, first] = 2.0**half
            terms[np.arange(len(rest)), rest] = 2.0**half
            found = device.ask(terms, np.full(len(rest), c)) > c
            step = [first, *(one for one, is_in in zip(rest, found, strict=True) if is_in)]
            node = (node, *step)  # type: ignore[assignment]
            left = [one for one in rest if one not in step]
        return canonical(node)


def _meetings(tree: Tree) -> Iterable[list[tuple[list[int], int]]]:
    """Of every sum, the leaves of each part, and how many there are."""
    if isinstance(tree, int):
        return
    parts = [list(leaves_of(one)) for one in tree]
    yield [(one, len(one)) for one in parts]
    for one in tree:
        yield from _meetings(one)
