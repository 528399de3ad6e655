"""Computed questions about integer operations of many sizes, with their right answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32
from mxref.conformance.checking.array_memory import (
    COLUMNS_FIRST,
    ONE_ARRAY,
    PLACED,
    STRIDE_0,
    one_array,
)
from mxref.conformance.checking.axis_sizes import TELLING
from mxref.conformance.checking.call_data import codes_in, data_words, ordinary, repeated
from mxref.conformance.checking.call_questions import PlainQuestion, PlainSubject
from mxref.conformance.checking.call_rules import Features, alike
from mxref.conformance.checking.integer_sizes import EMPTY, sizes_of
from mxref.operands.draws import Draws
from mxref.operands.kinds import PairsOfNibbles
from mxref.operations.affine_draws import beside_values
from mxref.operations.asked_call import AskedCall as Asked
from mxref.operations.asked_call import result_words
from mxref.operations.registry import CALL_OPERATIONS, WEIGHT_ONLY_OPERATIONS

__all__ = ["IntegerQuestion", "IntegerSubject"]

Array = NDArray[Any]

#: The elements of calls in other memory; calls of at most so many are asked with two draws.
_MOVED, _TWICE = (33, 64, 260), 5_000
#: Each size of a call in which two arrays may be one.
_SIDE = 9
#: The elements of the calls of a format without vectors.
_RARE = 300
#: The calls in which one value is asked alone.
_ALONE = (1, 8, 33, 64)
_NAMES = ("multiplier", "shift")


@dataclass(frozen=True, slots=True)
class IntegerSubject(PlainSubject):
    """An integer operation, and what gives the target's answers to its vectors.

    Args:
        op: the operation.
        format: the format.
        policy: the choices that give the answers.
        fails: whether some answers to the vectors are others, which nothing known gives.
        is_rare: whether few calls are asked, as of a format without vectors.
    """

    op: str
    format: str
    policy: str
    fails: bool = False
    is_rare: bool = False

    @property
    def kind(self) -> str:
        """What sizes a call has."""
        return CALL_OPERATIONS[self.op].size_kind(self.format)

    @property
    def units(self) -> tuple[str, ...]:
        """The sizes of a call, as reports name them."""
        return tuple(CALL_OPERATIONS[self.op].units(self.format).values())

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[IntegerQuestion]:
        """Those of all sizes; small questions come with two sets of numbers, at different times."""
        some = sizes_of(self.kind, len(self.units), all=first_format and not self.is_rare)
        elements_of = CALL_OPERATIONS[self.op].elements
        most = min(elements, _RARE) if self.is_rare else elements
        every = [IntegerQuestion(self, sizes) for sizes in some if elements_of(sizes) <= most]
        if self.is_rare:
            yield from every[:: len(every) // CALL_OPERATIONS[self.op].few + 1]
            return
        yield from every
        yield from (one.again(1) for one in every if one.elements <= _TWICE)
        square = IntegerQuestion(self, (_SIDE,) * len(self.units), 2, ONE_ARRAY)
        has_square = len(self.units) > 1 and square.elements <= elements and square.allowed
        for count in _MOVED:
            near = min(every, key=lambda one: abs(one.elements - count))
            for memory in PLACED:
                # Columns first are asked of matrices with equal sides as well.
                of_square = has_square and (count, memory) == (_MOVED[0], COLUMNS_FIRST)
                yield (square if of_square else near).again(2, memory)
            yield from near.again(2, STRIDE_0).repeated()
        if has_square and square.has_one_array:
            yield square

    def first_question(self) -> IntegerQuestion:
        """A small one that has something of everything."""
        return IntegerQuestion(self, (3,) * len(self.units))

    def empty(self) -> IntegerQuestion | None:
        """A call without values, rows or points; None where that is not known."""
        if self.is_rare or self.kind not in EMPTY:
            return None
        return IntegerQuestion(self, EMPTY[self.kind])


@dataclass(frozen=True, eq=False)
class IntegerQuestion(PlainQuestion):
    """One call of an integer operation.

    Args:
        subject: the operation, the format and what gives the right answer.
        sizes: of the call, as _UNITS says.
        draw: the number of the set of random words.
        memory: one of MEMORIES, by its number.
        given: the call, if it is not a random one.
    """

    subject: IntegerSubject
    sizes: tuple[int, ...]
    draw: int = 0
    memory: int = 0
    given: Asked | None = field(default=None, repr=False)

    @cached_property
    def asked(self) -> Asked:
        """The call, made when it is first needed: few of those that could be asked are."""
        one, draws = self.subject, Draws(f"{self.sizes} {self.draw}")
        found = self.given or CALL_OPERATIONS[one.op].sized(one.format, self.sizes, draws)
        if self.memory == ONE_ARRAY:
            return replace(found, arguments=tuple(one_array(found.arguments)))
        return found

    @cached_property
    def wanted(self) -> Array:
        """The right answer, as words."""
        one = CALL_OPERATIONS[self.subject.op]
        choices = one.parse(self.subject.format, self.subject.policy)
        return self.words(one.run(self.asked, choices))

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the function is given."""
        return self.asked.arguments

    @property
    def name(self) -> str:
        """The question in words."""
        units = zip(self.sizes, self.subject.units, strict=True)
        return ", ".join(f"{count:,} {unit}" for count, unit in units)

    @property
    def elements(self) -> int:
        """The number of values, codes, pixels and samples, or numbers of a layer."""
        return CALL_OPERATIONS[self.subject.op].elements(self.sizes)

    @property
    def features(self) -> Features:
        """What rules about wrong calls speak of."""
        kind = self.subject.kind
        found: dict[str, int | str] = dict(zip(self.subject.units, self.sizes, strict=True))
        if kind in ("values", "axis"):
            found["axes"] = f"{len(self.asked.shape)} axes"
        if kind == "axis":
            axis = self.arguments[-1] % len(self.asked.shape)
            found |= {"values": math.prod(self.sizes), "axis": f"axis {axis}"}
            found["scales"] = "groups" if self.sizes[1] > 1 else "channels"
            found["sign"] = "a negative axis" if self.arguments[-1] < 0 else "an axis from 0 on"
            is_second = self.asked.shape.index(self.asked.shape[axis]) < axis
            earlier = "an axis" if is_second else "no axis"
            found["earlier"] = f"{earlier} before that of the scales which is as long"
        elif kind == "grid_sample":
            points = self.sizes[3] * self.sizes[4]
            found |= {"points": points, "samples": self.sizes[0] * points}
            _, height, width, *_ = self.sizes
            more = "more" if height > width else "no more"
            found["longer"] = f"{more} pixels down than pixels across"
            align, padding = self.arguments[2:4]
            found |= {"align": f"align_corners={align}", "padding": f"padding {padding}"}
        elif kind == "layer_groups":
            found["columns"] = math.prod(self.sizes[2:])
        if sides := CALL_OPERATIONS[self.subject.op].sides:
            found["sides"] = alike(found, *sides)
        if kind in ("int4", "rescale"):
            found["values" if kind == "rescale" else "codes"] = math.prod(self.sizes)
        return found

    @property
    def allowed(self) -> bool:
        """Whether the operation takes the call's parameters."""
        try:
            return self.wanted is not None
        except ValueError:
            return False

    @property
    def part(self) -> str:
        """Each value of affine quantization and of RESCALE is answered by itself."""
        return "values" if self._by_values else ""

    def words(self, result: object) -> NDArray[np.uint64]:
        """A result as words; sums that are -0 count as +0, as in the vectors."""
        found = result_words(result, self.asked).astype(np.uint64)
        if self.subject.op in WEIGHT_ONLY_OPERATIONS:
            found[found == F32.sign_bit] = 0
        return found

    def is_wrong(self, got: NDArray[np.uint64]) -> bool:
        """Whether an answer is another one, which the operation does not admit either."""
        if np.array_equal(got, self.wanted):
            return False
        dtype, shape = self.asked.dtype, self.asked.shape
        result = got.astype(f"u{dtype.itemsize}").view(dtype).reshape(shape)
        return not CALL_OPERATIONS[self.subject.op].admits(self.asked, result)

    def difference(self, got: NDArray[np.uint64]) -> str:
        """The first wrong word, with the value and the parameters that it comes from."""
        index = int(np.argmax(got != self.wanted))
        place = tuple(int(i) for i in np.unravel_index(index, self.asked.shape))
        digits = 2 * self.asked.dtype.itemsize
        want, given = (f"{int(some[index]):0{digits}x}" for some in (self.wanted, got))
        came = ""
        if self._by_values:
            value, scale, second = (one.reshape(-1)[0] for one in self._value(index))
            names = ("scale", "zero point") if self.subject.kind != "rescale" else _NAMES
            came = f"in {value}, {names[0]} {scale}, {names[1]} {second}, "
        return f"{self.name}: element {place}: {came}want {want}, got {given}"

    def again(self, draw: int, memory: int = 0) -> IntegerQuestion:
        """The question with other random words, or in other memory."""
        return IntegerQuestion(self.subject, self.sizes, draw, memory)

    def resized(self, unit: str, count: int, draw: int) -> IntegerQuestion | None:
        """The question with another size."""
        units = self.subject.units
        if unit not in units:
            return None
        place = units.index(unit)
        sizes = (*self.sizes[:place], count, *self.sizes[place + 1 :])
        return IntegerQuestion(self.subject, sizes, draw)

    def alone(self, got: NDArray[np.uint64]) -> list[IntegerQuestion]:
        """The first wrong value in small calls of nothing else."""
        if not self._by_values:
            return []
        index = int(np.argmax(got != self.wanted))
        return [self._of_value(index, count) for count in _ALONE]

    def telling(self, most: int) -> Iterator[IntegerQuestion]:
        """Calls of more sizes, where one size is all that a call has, and rows of them."""
        places = {"values": (0,), "rescale": (0, 1), "int4": (1,), "layer": (1, 2)}
        for place in places.get(self.subject.kind, ()):
            for count in TELLING:
                sizes = [3] * len(self.sizes)
                sizes[place] = count
                if math.prod(sizes) <= most:
                    yield IntegerQuestion(self.subject, tuple(sizes), 3)

    def ordinary(self) -> Iterator[tuple[str, IntegerQuestion, IntegerQuestion]]:
        """The call with ordinary data of each kind, and so but for one number."""
        for data, but_for_one, changed in ordinary(self.arguments, packed=self._packed):
            calls = [changed, but_for_one.of(self.arguments)]
            given = (replace(self.asked, arguments=one) for one in calls)
            kind, broken = (replace(self, given=one) for one in given)
            if kind.allowed and broken.allowed:
                yield data.name, kind, broken

    def repeated(self) -> Iterator[IntegerQuestion]:
        """The call with equal rows or numbers."""
        for kind in repeated(self.arguments):
            asked = replace(self.asked, arguments=kind.of(self.arguments))
            found = replace(self, given=asked)
            if found.allowed:
                yield found

    @property
    def has_one_array(self) -> bool:
        """Whether two of its arrays are one."""
        arrays = [id(one) for one in self.arguments if isinstance(one, np.ndarray)]
        return len({*arrays}) < len(arrays)

    @property
    def data(self) -> Features:
        """What its arrays have in common."""
        names = CALL_OPERATIONS[self.subject.op].parameters.split(", ")
        packed = self._packed
        arrays = {
            name.replace("bytes", "codes"): codes_in(one) if i in packed else one
            for i, (name, one) in enumerate(zip(names, self.arguments, strict=False))
            if isinstance(one, np.ndarray)
        }
        return {key: word for one in arrays.items() for key, word in data_words(*one).items()}

    @property
    def _packed(self) -> tuple[int, ...]:
        """The places of the arguments whose bytes hold two codes each."""
        one = CALL_OPERATIONS[self.subject.op]
        kinds = {field.name: field.kind for field in one.fields(self.subject.format)}
        names = one.argument_names(self.subject.format)
        some = [name for name, kind in kinds.items() if isinstance(kind, PairsOfNibbles)]
        return tuple(i for i, name in enumerate(names) if name in some)

    @property
    def _by_values(self) -> bool:
        return self.subject.kind in ("values", "axis", "rescale")

    def _value(self, index: int) -> tuple[Array, Array, Array]:
        """A value, and its scale and zero point or its multiplier and shift, as arrays of one."""
        values, first, second, *_ = self.arguments
        beside = [np.asarray(first), np.asarray(second)]
        if self.subject.kind == "rescale":
            which = index % len(first)
        elif self.subject.kind == "axis":
            numbers = np.arange(beside[0].size).reshape(beside[0].shape)
            which = int(beside_values(numbers, values.shape, self.arguments[-1]).reshape(-1)[index])
        else:
            which = 0
        a, b = (one.reshape(-1)[which : which + 1] for one in beside)
        return values.reshape(-1)[index : index + 1], a, b

    def _of_value(self, index: int, count: int) -> IntegerQuestion:
        value, first, second = self._value(index)
        _, _, _, *rest = self.arguments
        kind = self.subject.kind
        shape, sizes = {
            "values": ((count,), (count,)),
            "axis": ((1, count, 1), (1, 1, count, 1)),
            "rescale": ((count, 1), (count, 1)),
        }[kind]
        if kind == "values":
            first, second = self.arguments[1:3]
        elif kind == "axis":
            rest[-1] = 0
        arguments = (np.repeat(value, count).reshape(shape), first, second, *rest)
        asked = replace(self.asked, arguments=arguments, shape=shape)
        return IntegerQuestion(self.subject, sizes, given=asked)
