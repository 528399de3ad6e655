"""A matrix unit, or a GEMM, with an adder of its own, as an operation of a user.

Words of a case: M, K, N, then c, a and b, row by row, and the scales of a and of b, if the adder
reads any.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact.adder_steps import Unit, multiplied
from mxref.mutants.mutant import FLOATS, Mutant
from mxref.operands.case_input import OWN, CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Floats, Size
from mxref.operations.asked_call import AskedCall
from mxref.operations.matrix_units import Mma, unit_numbers
from mxref.operations.operation import Words
from mxref.operations.unit_cases import designed_cases, patterns_near_one
from mxref.policy.choices import Rounding
from mxref.products.adders import Adder, Scaling, adder_of
from mxref.products.mma import mma

__all__ = ["UnitOperation"]

_ONE = 0x3F800000
#: Elements of wide ranges, which the designed cases need.
_ELEMENTS = ("e5m2", "e4m3", "e5m2fnuz", "e4m3fnuz", "f16", "bf16")
Array = NDArray[Any]
_Run = Callable[..., Array]


class UnitOperation(Mma):
    """C + A·B by an adder that a kernel claims, in `OPERATIONS` of a target.

    The function has the operation's name and is given a, b and c, as `mma` is, and `scales_a` and
    `scales_b` where the adder has a scaling.

    Args:
        name: of the operation, such as `gemm`.
        adder: an `Adder` of plain numbers, or the name of one of `ADDERS`.
        format_a: the elements of a: f16, bf16, or one of the four formats of FP8.
        format_b: those of b; those of a if None.

    Raises:
        ValueError: an adder of scaled blocks, or of sums in float16, or elements that it does not
            multiply.

    Source: SPEC_NOTES N47.

    >>> from mxref.conformance import UnitOperation
    >>> UnitOperation("gemm", "deepgemm_fp8", "e4m3").argument_names("e4m3-e4m3")
    ('a', 'b', 'c', 'scales_a', 'scales_b')
    """

    worked_on = 3

    def __init__(
        self, name: str, adder: str | Adder, format_a: str, format_b: str | None = None
    ) -> None:
        chosen = adder_of(adder)
        names = format_a, format_a if format_b is None else format_b
        for one in names:
            if one not in _ELEMENTS or one not in chosen.formats:
                known = " ".join(x for x in chosen.formats if x in _ELEMENTS)
                raise ValueError(f"adder must multiply {one}, got {adder} of {known or 'others'}")
        if len({*names} & {"f16", "bf16"}) > 1:
            raise ValueError(f"format_b must be {names[0]}, as that of a, got {names[1]}")
        if chosen.blocks or chosen.output != "f32":
            raise ValueError(f"adder must add plain numbers in float32, got {adder}")
        self.adder, self.names = chosen, names
        #: Products of a sum at most: more than two are promoted.
        self._most = max(70, 5 * (chosen.promotion or 0) // 2)
        own: dict[str, Any] = {"name": name}
        own["formats"] = formats = ("-".join(names),)
        own["parameters"] = ", ".join(self.argument_names(formats[0]))
        own["mutants"] = tuple(
            Mutant(
                f"H9{i:02}", title, text, name, partial(run, chosen, names), formats, FLOATS, OWN
            )
            for i, (title, text, run) in enumerate(_faults(chosen), 1)
        )
        vars(self).update(own)  # what other operations have as a class

    def fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, three matrices, and the scales of two."""
        m, _, *rest = super().fields(f"own-{format}")
        fields = (m, Field("k", Size(self._most)), *rest)
        if self.adder.scaling is None:
            return fields
        return (
            *fields,
            Field("scales_a", Floats(), lambda sizes: (sizes["m"], self._parts(sizes["k"]))),
            Field("scales_b", Floats(), lambda sizes: (self._parts(sizes["k"]), sizes["n"])),
        )

    def _parts(self, k: int) -> int:
        return -(-k // (self.adder.promotion or 1))

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The matrices, and the scales of two."""
        scales = ("scales_a", "scales_b") if self.adder.scaling else ()
        return ("a", "b", "c", *scales)

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Codes or floats, c, and scales."""
        return tuple(values[name] for name in self.argument_names(format))

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The sums, by the fast path."""
        a, b, c, *scales = call.arguments
        x, y = (unit_numbers(one, name) for one, name in zip((a, b), self.names, strict=True))
        return mma(x, y, c, adder=self.adder, scales=(scales[0], scales[1]) if scales else None)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterator[int]:
        """The sums, by the slow twin."""
        unit = _unit(self.adder)
        m, k, n, *rest = (int(word) for word in words)
        sizes = (m * n, m * k, k * n, m * self._parts(k), n * self._parts(k))
        ends = np.cumsum(sizes).tolist()
        c, a, b, sa, sb = (rest[end - size : end] for size, end in zip(sizes, ends, strict=True))
        parts = self._parts(k)
        for i in range(m):
            for j in range(n):
                row, column = a[i * k : i * k + k], b[j::n]
                scales = sa[i * parts : i * parts + parts], sb[j::n]
                yield multiplied(row, column, c[i * n + j], *self.names, unit, scales)

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small product of numbers near 1, of few binades or of many, and zeros between."""
        m, k, n = (int(draws.between(1, most)) for most in (3, self._most, 3))
        reach = (2, 7, 14, 40)[number % 4]
        parts = [
            patterns_near_one(draws, name, shape, reach) for name, shape in self._shapes(m, k, n)
        ]
        return np.concatenate([np.array([m, k, n]), *(part.reshape(-1) for part in parts)])

    def _shapes(self, m: int, k: int, n: int) -> list[tuple[str, tuple[int, int]]]:
        """The type and the shape of every array, in the order of words."""
        found = [("f32", (m, n)), (self.names[0], (m, k)), (self.names[1], (k, n))]
        if self.adder.scaling is None:
            return found
        parts = self._parts(k)
        return [*found, ("f32", (m, parts)), ("f32", (parts, n))]

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """The same in other sizes."""
        m, k, n = sizes
        arrays = [patterns_near_one(draws, *one, 7) for one in self._shapes(m, k, n)]
        words = np.concatenate([np.array([m, k, n]), *(one.reshape(-1) for one in arrays)])
        return self.call(format, tuple(words.tolist()))

    def designed(self, format: str) -> Iterable[CaseInput]:
        """Those of the model M25, under scales of 1; and drawn ones."""
        for name, words in designed_cases(self.adder, *self.names):
            more = (_ONE,) * (2 * self._parts(words[1]) if self.adder.scaling else 0)
            yield CaseInput(name, (*words, *more), OWN)
        for i in range(64):
            drawn = self.question(format, Draws(f"{self.name} {format} {i}"), i)
            yield CaseInput(f"drawn_{i}", tuple(int(word) for word in drawn), OWN)


def _faults(adder: Adder) -> Iterator[tuple[str, str, _Run]]:
    """Known bugs of kernels around an adder: names, texts and what they compute."""
    yield "c_forgotten", "leaves C out", partial(_product, c_times=0)
    yield "c_twice", "adds C twice, as each part of a split K does", partial(_product, c_times=2)
    yield "c_late", "adds C behind all products", _late
    if adder.step > 1:
        change = {"step": adder.step // 2}
        yield "half_steps", "adds half as many products at once", partial(_product, change=change)
    if adder.fraction_bits and not adder.tree:
        for more, word in ((1, "more"), (-1, "less")):
            bits = {"fraction_bits": adder.fraction_bits + more}
            text = f"keeps a bit {word} below the largest term"
            yield f"a_bit_{word}", text, partial(_product, change=bits)
    if adder.promotion:
        twice = {"promotion": 2 * adder.promotion}
        if adder.scaling is None:
            never = {"promotion": None}
            yield (
                "not_promoted",
                "never adds its sum up in float32",
                partial(_product, change=never),
            )
            text = "adds its sum up in float32 half as often"
            yield "promoted_late", text, partial(_product, change=twice)
    if adder.scaling:
        yield (
            "scale_of_a_twice",
            "multiplies by the scale of a twice",
            partial(_product, powers=(2, 1)),
        )
        yield (
            "scale_of_b_twice",
            "multiplies by the scale of b twice",
            partial(_product, powers=(1, 2)),
        )
        yield "no_scale_of_a", "leaves the scale of a out", partial(_product, powers=(0, 1))
        yield "no_scale_of_b", "leaves the scale of b out", partial(_product, powers=(1, 0))
        text = "takes the scales of a from the next part of K"
        yield "next_scale_of_a", text, partial(_product, moved=(1, 0))
        text = "takes the scales of b from the next part of K"
        yield "next_scale_of_b", text, partial(_product, moved=(0, 1))
        for other in Scaling:
            if other is not adder.scaling:
                text = f"multiplies by scales as {other.value} does"
                yield other.value, text, partial(_product, change={"scaling": other})


def _product(
    adder: Adder,
    names: tuple[str, str],
    a: Array,
    b: Array,
    c: Array,
    *scales: Array,
    change: Mapping[str, Any] | None = None,
    c_times: int = 1,
    powers: tuple[int, int] = (1, 1),
    moved: tuple[int, int] = (0, 0),
) -> Array:
    """C + A·B with another adder, another C or other scales."""
    x, y = (unit_numbers(one, name) for one, name in zip((a, b), names, strict=True))
    with np.errstate(all="ignore"):
        before = (c * c.dtype.type(c_times)).astype(c.dtype)
        both = [
            np.roll(one**power, -by, axis=1 - axis).astype(np.float32)
            for axis, (one, power, by) in enumerate(zip(scales, powers, moved, strict=False))
        ]
        some = (both[0], both[1]) if both else None
        return mma(x, y, before, adder=dataclasses.replace(adder, **(change or {})), scales=some)


def _late(
    adder: Adder, names: tuple[str, str], a: Array, b: Array, c: Array, *scales: Array
) -> Array:
    """C added to the product of A and B."""
    with np.errstate(all="ignore"):
        found: Array = _product(adder, names, a, b, np.zeros_like(c), *scales) + c
        return found


def _unit(adder: Adder) -> Unit:
    """The adder as the slow twin has it."""
    if adder.tree:
        kind = "tree"
    elif adder.fraction_bits is None:
        kind = "exact"
    elif adder.is_aligned:
        kind = "aligned"
    else:
        kind = "halves" if adder.halves else "later"
    even = adder.rounding is Rounding.TIES_TO_EVEN
    return Unit(
        kind,
        adder.step,
        adder.fraction_bits or 0,
        adder.zero_exponent or 0,
        None if even else adder.output_bits,
        adder.output,
        adder.promotion or 0,
        adder.later_bits or 31,
        adder.flush,
        adder.scaling.value if adder.scaling else "",
    )
