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
from mxref.conformance.checking.integer_sizes import sizes_of
from mxref.operands.draws import Draws
from mxref.operands.kinds import PairsOfNibbles
from mxref.operations.asked_call import AskedCall as Asked
from mxref.operations.asked_call import result_words
from mxref.operations.by_value import ByValue
from mxref.operations.call_operation import CallOperation
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
    def operation(self) -> CallOperation:
        """Its row."""
        return CALL_OPERATIONS[self.op]

    @property
    def units(self) -> tuple[str, ...]:
        """The sizes of a call, as reports name them."""
        return tuple(self.operation.units(self.format).values())

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[IntegerQuestion]:
        """Those of all sizes; small questions come with two sets of numbers, at different times."""
        whole = first_format and not self.is_rare
        some, elements_of = (
            sizes_of(self.operation, self.format, all=whole),
            self.operation.elements,
        )
        most = min(elements, _RARE) if self.is_rare else elements
        every = [IntegerQuestion(self, sizes) for sizes in some if elements_of(sizes) <= most]
        if self.is_rare:
            yield from every[:: len(every) // self.operation.few + 1]
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
        empty = None if self.is_rare else self.operation.asked_sizes(self.format).empty
        return None if empty is None else IntegerQuestion(self, empty)


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
        found = self.given or one.operation.sized(one.format, self.sizes, draws)
        if self.memory == ONE_ARRAY:
            return replace(found, arguments=tuple(one_array(found.arguments)))
        return found

    @cached_property
    def wanted(self) -> Array:
        """The right answer, as words."""
        one = self.subject.operation
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
        return self.subject.operation.elements(self.sizes)

    @property
    def features(self) -> Features:
        """What rules about wrong calls speak of."""
        one = self.subject.operation
        found: dict[str, int | str] = dict(zip(self.subject.units, self.sizes, strict=True))
        found |= one.size_features(self.subject.format, self.sizes, self.asked)
        if one.sides:
            found["sides"] = alike(found, *one.sides)
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
        return "values" if isinstance(self.subject.operation, ByValue) else ""

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
        return not self.subject.operation.admits(self.asked, result)

    def difference(self, got: NDArray[np.uint64]) -> str:
        """The first wrong word, with the value and the parameters that it comes from."""
        index = int(np.argmax(got != self.wanted))
        place = tuple(int(i) for i in np.unravel_index(index, self.asked.shape))
        digits = 2 * self.asked.dtype.itemsize
        want, given = (f"{int(some[index]):0{digits}x}" for some in (self.wanted, got))
        came = ""
        if isinstance(one := self.subject.operation, ByValue):
            value, *parameters = (each[0] for each in one.value_at(self.asked, index))
            shown = zip(one.parameters_shown, parameters, strict=True)
            came = f"in {value}, {''.join(f'{name} {number}, ' for name, number in shown)}"
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
        one, index = self.subject.operation, int(np.argmax(got != self.wanted))
        if not isinstance(one, ByValue):
            return []
        calls = (one.repeated_value(self.asked, index, count) for count in _ALONE)
        return [IntegerQuestion(self.subject, sizes, given=call) for call, sizes in calls]

    def telling(self, most: int) -> Iterator[IntegerQuestion]:
        """Calls of more sizes, where one size is all that a call has, and rows of them."""
        for place in self.subject.operation.asked_sizes(self.subject.format).telling:
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
        names = self.subject.operation.parameters.split(", ")
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
        one = self.subject.operation
        kinds = {field.name: field.kind for field in one.fields(self.subject.format)}
        names = one.argument_names(self.subject.format)
        some = [name for name, kind in kinds.items() if isinstance(kind, PairsOfNibbles)]
        return tuple(i for i, name in enumerate(names) if name in some)
