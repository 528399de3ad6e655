"""How one sum of a tree is computed: its bits, read off sums of few terms."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mxref.bits.float32 import F64Array
from mxref.conformance.adders.device import Call, Device
from mxref.conformance.adders.trees import C, SumTree, Tree, leaves_of, nodes_of
from mxref.operands.draws import Draws
from mxref.policy.choices import Rounding
from mxref.products.adders import Adder

__all__ = ["Facts", "candidates", "zero_exponents"]

#: Beyond the bits of every known adder, and the most that `Adder` has.
_FURTHEST, _MOST_BITS, _MOST_PRODUCTS = 60, 44, 64
_DRAWN = 96
#: The exponents of a zero that an adder may have.
_ZEROS = range(-200, -18)


@dataclass(frozen=True, slots=True)
class Facts:
    """What sums of few terms show.

    Args:
        step: the most products that are added at once.
        bits: what a product keeps below the largest one; None: all that can be seen.
        cut: what becomes of the rest: `toward zero`, `down` or `nearest`.
        sum_cut: the same of the sum so far.
        later: the bits that decide a tie of the sum so far and the products; None: it is no tie,
            or all that can be seen.
        most: the bits that could be seen.
    """

    step: int
    bits: int | None
    cut: str
    sum_cut: str
    later: int | None
    most: int


class _Node:
    """A sum of the tree, all other products of which are zeros."""

    def __init__(self, device: Device, node: Tree) -> None:
        self.device, self.layout = device, device.layout
        self.products, self.has_c = _products_of(node), C in node
        #: Products of the sum so far, and all that are added to it.
        before = (one for one in leaves_of(node) if one != C and one not in self.products)
        self.terms = [*itertools.islice(before, 1), *self.products]
        self.top = min(40, device.most, self.layout.bias - 4)
        self.least = max(device.least, self.layout.emin - self.layout.mantissa_bits, -60)
        self.far = min(_FURTHEST, self.top - self.least)

    def ask(self, rows: Sequence[dict[int, float]]) -> list[float]:
        """The answers to sums of some terms; C is a term."""
        terms = np.zeros((len(rows), self.device.k + 1))
        for row, some in zip(terms, rows, strict=True):
            for leaf, value in some.items():
                row[leaf + 1] = value
        found: list[float] = self.device.ask(terms[:, 1:], terms[:, 0]).tolist()
        return found

    def cut(self, x: int, y: int, z: int) -> tuple[int | None, str]:
        """The bits that a third term keeps beside two that cancel, and where the rest goes."""
        large, below = 2.0**self.top, [2.0 ** (self.top - t) for t in range(1, self.far + 1)]
        rows = [{x: large, y: -large, z: sign * one} for sign in (1, -1) for one in below]
        found = self.ask(rows)
        kept = [got == one for got, one in zip(found, below, strict=False)]
        bits = kept.index(False) if False in kept else None
        if bits is None or bits + 1 >= self.far:
            return bits, "toward zero"
        up, down = found[bits + 1], found[self.far + bits + 1]
        if up:
            return bits, "up"
        return bits, "down" if down else "toward zero" if not found[bits] else "nearest"

    def tie(self) -> int | None:
        """The bits below the sum so far that decide a tie of it and the products."""
        half = self.layout.mantissa_bits + 1
        x, y = self.products[:2]
        reach = range(half + 1, self.far + 1)
        base, tie = 2.0**self.top, 2.0 ** (self.top - half)
        rows = [{C: base, x: tie, y: 2.0 ** (self.top - t)} for t in reach]
        kept = [got > base for got in self.ask(rows)]
        if not kept or not kept[0] or all(kept):
            return None
        return half + kept.index(False)

    def pieces(self) -> tuple[int | None, int]:
        """The bits of products beside a larger C, by as many as are one in its last place.

        And how many could be seen; None if no more could.
        """
        last = found = self.layout.mantissa_bits
        for bits in range(last + 1, last + len(self.products).bit_length()):
            small, count = 2.0**self.least, 1 << bits - last
            base = small * 2.0**bits
            if self.ask([{C: base, **dict.fromkeys(self.products[:count], small)}])[0] == base:
                return found, found
            found = bits
        return None, found


def _products_of(node: Tree) -> list[int]:
    return [one for one in node if isinstance(one, int) and one != C]


def _facts(node: _Node, outer: _Node, step: int) -> Facts:
    some = node.products
    bits, cut, sum_cut, later = None, "toward zero", "", None
    if node.device.most - node.device.least < _MOST_BITS // 2:
        seen = node.pieces() if node.has_c and step > 1 else (None, 1)
        return Facts(step, seen[0], cut, "", None, seen[1])
    evens = some[::2]
    if len(evens) > 2:
        bits, cut = node.cut(evens[0], evens[1], evens[2])
    elif step > 2:
        bits, cut = node.cut(*some[:3])
    if node.has_c and step > 1:
        own, sum_cut = node.cut(some[0], some[min(2, step - 1)], C)
        bits = own if step == 2 else bits
        later = outer.tie()
    return Facts(step, bits, cut, sum_cut, later, node.far)


def candidates(device: Device, tree: Tree) -> tuple[Facts, Iterator[list[Adder]]]:
    """What was seen, and the adders that may give that, the likeliest first, in families.

    Those of a family that give the same answers follow each other. Where no bits of a sum of
    products are cut off, so that none of its bits are known, it is exact or keeps the most.
    """
    nodes = [node for node in nodes_of(tree) if _products_of(node)]
    #: The sum with C if it has two products, else the largest one.
    best = max(nodes, key=lambda node: (len(node) > 2 and C in node, len(_products_of(node))))
    step = max((len(_products_of(node)) for node in nodes if len(node) > 2), default=1)
    #: What the outermost sum keeps is cut by no other one.
    outer = next((node for node in nodes if len(_products_of(node)) > 1), best)
    facts = _facts(_Node(device, best), _Node(device, outer), step)
    for node in dict.fromkeys((best, outer)):
        _ask_more(device, _Node(device, node), facts)
    if step == 1:
        _ask_tiny(device)
    return facts, _adders(facts, device)


def _ask_more(device: Device, node: _Node, facts: Facts) -> None:
    """Ask for random sums: near each other, and as far apart as bits are kept."""
    draws = Draws(f"terms {device.formats} {node.products}")
    count, some = len(node.products) + 1, [C, *node.products]
    bits = device.ranges[0].bits
    reach = min(node.far, (facts.bits or 26) + 3)
    far = np.where(np.arange(_DRAWN) % 2, reach, min(2, reach))[:, None]
    lower = draws.below((_DRAWN, count), 1 << 16) * (far + 1) >> 16
    significand = 1 + draws.below((_DRAWN, count), 1 << bits - 1) * 2.0 ** (1 - bits)
    sign = 1 - 2.0 * draws.below((_DRAWN, count), 2)
    normal = sum(one.normal for one in device.ranges)
    base = min(node.top - 1, 20)
    exponents = np.maximum(base - lower.astype(np.int64), max(normal, node.least + 12))
    values = sign * significand * np.ldexp(1.0, exponents)
    values[::3, 1:] *= sign[::3, 1:]  # of one sign: carries
    terms = np.zeros((_DRAWN, device.k + 1))
    terms[:, [one + 1 for one in some]] = values
    terms[::4, 0] = 0
    terms[1::4, 0] *= 2.0**-6
    above = (
        np.clip(device.layout.bias - 2 - base, 0, reach) * draws.below((_DRAWN,), 1 << 16) / 2**16
    )
    terms[2::4, 0] *= np.ldexp(1.0, above.astype(np.int64))[2::4]
    device.ask(terms[:, 1:], terms[:, 0])
    rows = list(_carries(node, facts.bits or 26, base, bits))
    if node.has_c:
        rows += _beside_c(node)
    if rows:
        node.ask(rows)


def _ask_tiny(device: Device) -> None:
    """Ask for sums that are subnormal, and for products of subnormal numbers."""
    tiny = _tiny_terms(device, Draws(f"tiny {device.formats} {device.k}"))
    device.ask(tiny, np.zeros(len(tiny)))
    device.ask(tiny[:8], np.full(8, 2.0**device.layout.emin))
    if min(one.normal for one in device.ranges) < -9:
        wide = np.where(tiny == 0, 0, np.ldexp(1.0, device.ranges[0].least + 3))
        device.ask(wide, np.zeros(len(wide)), lopsided=True)


def _carries(node: _Node, bits: int, base: int, significand: int) -> Iterator[dict[int, float]]:
    """Equal terms, whose sum has more bits than each, and one or two that are last places."""
    some = node.terms
    for equal in sorted({n for n in (1, 2, 4, 8, len(some) - 2) if 0 < n < len(some)}):
        for below in range(max(1, bits - 6), min(bits + 1, base - node.least) + 1):
            for sign, size in itertools.product((1, -1), (1.0, 2.0 - 2.0 ** (1 - significand))):
                row = dict.fromkeys(some[:equal], size * 2.0**base)
                row[some[-1]] = sign * 2.0 ** (base - below)
                yield row
                if equal + 1 < len(some):
                    yield {**row, some[-2]: 2 * row[some[-1]]}


def _beside_c(node: _Node) -> list[dict[int, float]]:
    """A large sum so far and some of the smallest products."""
    last, some = node.layout.mantissa_bits, node.products
    small = max(node.device.least, node.least)
    return [
        {C: 2.0 ** (small + last + above), **dict.fromkeys(some[:count], sign * 2.0**small)}
        for above in range(4)
        for count in range(1, min(len(some), 7) + 1)
        for sign in (1, -1)
    ]


def _tiny_terms(device: Device, draws: Draws) -> F64Array:
    """Powers of two near the smallest numbers of the output."""
    least = max(device.least, device.layout.emin - device.layout.mantissa_bits - 6)
    exponents = least + draws.between(0, 30, (16, device.k)).astype(np.int64)
    found: F64Array = np.where(draws.below((16, device.k), 4) == 0, np.ldexp(1.0, exponents), 0.0)
    return found


def _adders(facts: Facts, device: Device) -> Iterator[list[Adder]]:
    """Adders that keep so many bits, by kinds."""
    output, step = device.layout.name, facts.step
    if step > _MOST_PRODUCTS:
        return
    zero = -133 if output == "f32" else -21
    formats = tuple(dict.fromkeys(device.formats))
    even = functools.partial(Adder, formats=formats, output=output, rounding=Rounding.TIES_TO_EVEN)
    if step == 1 or facts.bits is None:
        yield [even(step)]
    if step == 1 and output == "f32":
        yield from ([even(2, tree=True, flush=flush)] for flush in (False, True))
    if facts.bits and output == "f32" and facts.sum_cut in ("down", "toward zero"):
        ends = [facts.later] if facts.later else range(39, 0, -1)
        for halves in (False, True)[:step]:
            yield [
                even(step, facts.bits, later_bits=later, halves=halves)
                for later in ends
                if facts.bits < later
            ]
    top = facts.bits or _MOST_BITS
    every = range(top, min(facts.bits or facts.most, _MOST_BITS) - 1, -1)
    yield [even(step, some, zero) for some in every]
    if output == "f32":
        yield [Adder(step, some, zero, formats=formats) for some in every]
        yield [
            Adder(step, top, zero, output_bits=kept, formats=formats) for kept in range(22, 0, -1)
        ]


def zero_exponents(device: Device, tree: Tree, adders: Sequence[Adder]) -> list[tuple[int, ...]]:
    """Of each adder, the exponents of a zero with which it gives the answers to small terms."""
    first, leaves = len(device.calls), list(leaves_of(tree))
    for one in {adder.rounding: adder for adder in adders}.values():
        _ask_about_zeros(device, leaves, one)
    return [_fitting_zeros(device.calls[first:], SumTree(tree, adder)) for adder in adders]


def _fitting_zeros(calls: Sequence[Call], found: SumTree) -> tuple[int, ...]:
    @functools.cache
    def kept(zero: int) -> int:
        """How many sums are no zeros: never more with a larger exponent."""
        model = found.of(dataclasses.replace(found.adder, zero_exponent=zero))
        return sum(int(np.count_nonzero(np.diagonal(model(one.a, one.b, one.c)))) for one in calls)

    seen = sum(int(np.count_nonzero(one.read)) for one in calls)
    low = bisect.bisect_left(_ZEROS, -seen, key=lambda zero: -kept(zero))
    end = bisect.bisect_right(_ZEROS, -seen, key=lambda zero: -kept(zero))
    return tuple(_ZEROS[low:end])


def _ask_about_zeros(device: Device, leaves: Sequence[int], adder: Adder) -> None:
    """Ask for single small products, and for sums that nothing but a last bit makes a number."""
    k, layout, bits = device.k, device.layout, device.ranges[0].bits
    place = next(one for one in leaves if one != C)
    near = range(place, min(place + adder.step, k))
    smallest = layout.emin - layout.mantissa_bits
    powers = range(max(device.least, smallest), min(device.most, 0) + 1)
    rows = np.zeros((len(powers), k))
    rows[:, place] = np.ldexp(1.0, np.array(powers))
    device.ask(rows, np.zeros(len(rows)))
    nearest = adder.rounding is Rounding.TIES_TO_EVEN
    start = smallest - nearest
    more = []
    for r in range(1, 40):
        terms = [2.0 ** (start - r)] if nearest else _below(start, r, bits)
        terms = [2.0**start, *terms] if nearest else [*terms, 2.0 ** (start - r)]
        low = min(np.frexp(terms)[1]) - 1
        if len(terms) > len(near) or low < device.least:
            break
        row = np.zeros(k)
        row[list(near[: len(terms)])] = terms
        more.append(row)
    if more:
        device.ask(np.array(more), np.zeros(len(more)))


def _below(start: int, count: int, bits: int) -> list[float]:
    """2**start less 2**(start - count), as numbers of so many bits."""
    found = []
    for first in range(0, count, bits):
        size = min(bits, count - first)
        found.append(((1 << size) - 1) * 2.0 ** (start - first - size))
    return found
