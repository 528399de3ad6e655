"""Read the adder of a matrix unit off its answers, and say it."""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, Floats
from mxref.conformance.adders.device import RANDOM, Call, Device, Unit
from mxref.conformance.adders.masks import Masks, UnreadError
from mxref.conformance.adders.reading import candidates, zero_exponents
from mxref.conformance.adders.sentence import known, sentence
from mxref.conformance.adders.trees import C, SumTree, Tree, drawn, leaves_of, nodes_of
from mxref.products.adders import ADDERS, Adder
from mxref.products.mma import mma
from mxref.support.integers import integer
from mxref.support.text import unknown_name

__all__ = ["IdentifiedAdder", "identify_adder"]

_FORMATS = dict.fromkeys(itertools.chain(*(one.formats for one in ADDERS.values())))
_OUTPUTS = dict.fromkeys(("f32", "f16"))
#: Dot products that are asked for at most.
_MOST = 4000
#: Products whose tree is drawn.
_DRAWN = 64
#: What two adders may differ in without another answer.
_FIELDS = ("fraction_bits", "later_bits", "halves", "flush", "rounding", "output_bits", "tree")


@dataclass(frozen=True, slots=True)
class IdentifiedAdder:
    """What was read off a matrix unit.

    Args:
        confirmed: whether the model gives every answer, 1,024 random products among them.
        names: those of `ADDERS` that give every answer.
        adder: the model, if it is an `Adder`.
        model: the model as a tree of additions, each a step of an adder; None if there is none.
        tree: the tree of additions, if masks show one.
        sentence: the model in words, or what is known.
        unseen: fields of the adder, each with the values that give the same answers.
        products: how many dot products were asked.
    """

    confirmed: bool
    names: tuple[str, ...]
    adder: Adder | None
    model: SumTree | None
    tree: Tree | None
    sentence: str
    unseen: dict[str, tuple[Any, ...]]
    products: int

    def __call__(self, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> Floats:
        """What the unit gives for other numbers.

        Raises:
            ValueError: the adder is unknown.
        """
        if self.adder is not None:
            return mma(a, b, c, adder=self.adder)
        if self.model is None:
            raise ValueError(f"the adder must be known to predict, got {self.sentence}")
        return self.model(a, b, c)

    @property
    def drawing(self) -> str:
        """The tree of at most 64 products as text, else an empty one.

        >>> from mxref import mma
        >>> found = identify_adder(lambda a, b, c: mma(a, b, c, adder="volta_f16"), "f16", 8)
        >>> found.drawing
        '((C 0-3) 4-7)'
        """
        few = self.tree is not None and sum(one != C for one in leaves_of(self.tree)) <= _DRAWN
        return drawn(self.tree) if few else ""


def identify_adder(
    unit: Unit,
    formats: str | tuple[str, str],
    k: int = 64,
    *,
    output: str = "f32",
) -> IdentifiedAdder:
    """Read how a matrix unit adds off at most 4,000 dot products.

    Masks of two large numbers that cancel show the tree of additions; sums of few terms show what
    one addition keeps and how it rounds. The model that follows is confirmed only if it gives all
    answers, 1,024 random products of the same length among them, bit for bit.

    Args:
        unit: a function of a (m, k), b (k, n) and c (m, n) that gives C + A·B, (m, n), m and n at
            most 32; the type of c is the output's.
        formats: the elements of a and b, or both: a name as `Adder.formats` has it.
        k: products of a sum, 2 to 256.
        output: f32 or f16.

    Raises:
        TypeError: k is no integer.
        ValueError: another format, output or k; a result of another type or shape.

    Source: SPEC_NOTES N47; FPRev, arXiv 2411.00442; MMA-Sim, arXiv 2511.10909.

    >>> found = identify_adder(lambda a, b, c: mma(a, b, c, adder="hopper_fp8"), "e4m3", 64)
    >>> found.names, found.confirmed
    (('hopper_fp8',), True)
    >>> found.sentence.split("; ")[0]
    'steps of 32 products with C, aligned to the largest and cut at 2^-13 of it'
    """
    pair = (formats, formats) if isinstance(formats, str) else tuple(formats)
    for name in pair:
        if name not in _FORMATS:
            raise ValueError(unknown_name("formats", name, _FORMATS))
    if output not in _OUTPUTS:
        raise ValueError(unknown_name("output", output, _OUTPUTS))
    length = integer(k, "k")
    if not 2 <= length <= 256:
        raise ValueError(f"k must be from 2 to 256, got {length}")
    device = Device(unit, (pair[0], pair[-1]), length, LAYOUTS[output])
    return _identified(device)


def _identified(device: Device) -> IdentifiedAdder:
    tree, facts = None, None
    left: list[SumTree] = []
    unseen: dict[str, tuple[Any, ...]] = {}
    try:
        tree, _ = Masks(device).tree()
    except UnreadError:
        pass
    else:
        since = len(device.calls)
        facts, every = candidates(device, tree)
        left, unseen = _fitting_all(device, tree, every, since)
    model = _confirmed(device, left)
    adder = None if model is None else model.as_adder
    for field in _FIELDS:
        values = tuple(dict.fromkeys(getattr(one.adder, field) for one in left))
        if len(values) > 1:
            unseen[field] = values
    names = tuple(name for name, one in _named(device) if _gives(device.calls, _run(one)))
    said = known(tree, facts) if model is None else sentence(model, adder, device.k, unseen)
    return IdentifiedAdder(model is not None, names, adder, model, tree, said, unseen, device.asked)


def _fitting_all(
    device: Device, tree: Tree, every: Iterator[Sequence[Adder]], since: int
) -> tuple[list[SumTree], dict[str, tuple[Any, ...]]]:
    """The models that give all answers, and what they may be called beside their fields."""

    def gives(one: Adder) -> bool:
        return _gives(device.calls[since:], SumTree(tree, one))

    left: list[Adder] = []
    for family in every:
        two = left and left[0].step < 3 and left[0].fraction_bits is None
        if two and family and family[0].is_aligned:
            break  # of two terms no more bits are seen than float32 has
        left += _fitting(family, gives)
    unseen: dict[str, tuple[Any, ...]] = {}
    aligned = [one for one in left if one.is_aligned]
    if aligned:
        zeros = zero_exponents(device, tree, aligned)
        every_zero = tuple(sorted({zero for some in zeros for zero in some}))
        fitting = [_of_zeros(one, some) for one, some in zip(aligned, zeros, strict=True) if some]
        left = [*fitting, *(one for one in left if not one.is_aligned)] if fitting else left
        unseen = {"zero_exponent": every_zero} if len(every_zero) > 1 else {}
    if left and not any(_follows(node) for node in nodes_of(tree)):
        unseen["step"] = tuple(range(left[0].step, 65))
    return [SumTree(tree, one) for one in left], unseen


def _of_zeros(adder: Adder, zeros: tuple[int, ...]) -> Adder:
    """The adder with its own exponent of a zero, if that is one of these, or the largest."""
    own = adder.zero_exponent if adder.zero_exponent in zeros else max(zeros)
    return dataclasses.replace(adder, zero_exponent=own)


def _confirmed(device: Device, left: list[SumTree]) -> SumTree | None:
    """The first model, if it gives all answers, and random products that nobody has looked at.

    Those that do not are taken from the list.
    """
    for number in range(_MOST // RANDOM):
        if device.asked + RANDOM > _MOST:
            break
        call = device.draw(number)
        first = next(iter(left), None)
        left[:] = [one for one in left if call.same(one(call.a, call.b, call.c))]
        if first is None or first in left:
            return first if first is not None and _gives(device.calls, first) else None
    return None


def _follows(node: Tree) -> bool:
    """Whether a sum adds products to a sum of others."""
    own = sum(isinstance(one, int) and one != C for one in node)
    return bool(0 < own < sum(one != C for one in leaves_of(node)))


def _fitting(family: Sequence[Adder], gives: Callable[[Adder], bool]) -> Sequence[Adder]:
    """The adders that give all answers, which follow each other."""
    first = next((i for i, one in enumerate(family) if gives(one)), None)
    if first is None:
        return ()
    end = bisect.bisect_left(family, 1, first + 1, key=lambda one: int(not gives(one)))
    return family[first:end]


def _gives(calls: Sequence[Call], model: Unit) -> bool:
    """Whether a model gives all answers; the last ones tell most."""
    return all(call.same(model(call.a, call.b, call.c)) for call in reversed(calls))


def _run(adder: Adder) -> Unit:
    return lambda a, b, c: mma(a, b, c, adder=adder)


def _named(device: Device) -> Iterator[tuple[str, Adder]]:
    for name, adder in ADDERS.items():
        fits = all(one in adder.formats for one in device.formats)
        if fits and not (adder.blocks or adder.scaling) and adder.output == device.layout.name:
            yield name, adder
