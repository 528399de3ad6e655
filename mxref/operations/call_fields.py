"""What follows from the fields of an operation of calls: its calls, sizes and cases.

Words are 32-bit patterns: floats, or integers in two's complement. A row of the registry says its
fields, and the dtype and shape of a result; the rest is to be said only where these do not say it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.operands import fields as of_fields
from mxref.operands.draws import Draws
from mxref.operands.fields import Field
from mxref.operands.kinds import Size
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_sizes import CallSizes, Sizes
from mxref.operations.operation import Kinds, Words
from mxref.operations.own_choices import ChoosingOperation

__all__ = ["CallFields", "is_size"]


class CallFields(ChoosingOperation):
    """An operation whose cases are calls, as far as its fields tell."""

    #: What its files have in place of a float type.
    slot: ClassVar[str] = "bytes"
    #: How many of its fields, the last ones, are what it works on; those before are parameters.
    worked_on: ClassVar[int] = 1
    #: Two sizes that a kernel may mix up, as reports call them, which shows where they differ.
    sides: ClassVar[tuple[str, ...]] = ()

    def slots(self, format: str) -> tuple[str, ...]:
        """The one of the file of a format."""
        return (self.slot_of(format),)

    def slot_of(self, format: str) -> str:
        """What the file of a format has in place of a float type."""
        return self.slot

    @abstractmethod
    def fields(self, format: str) -> tuple[Field, ...]:
        """What a case holds, in the order of its words."""

    @abstractmethod
    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """The dtype and the shape of the answer to a call with these values of the fields."""

    def check(self, format: str, values: Mapping[str, Any]) -> None:
        """Raise ValueError for sizes or values that do not go together."""

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The first arguments of the function: the fields but sizes, in their order."""
        return tuple(field.name for field in self.fields(format) if field.is_argument)

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the function is given, by the values of the fields."""
        return tuple(values[name] for name in self.argument_names(format))

    def values(self, format: str, words: Words | NDArray[Any]) -> dict[str, Any]:
        """The values of the fields of a case: arrays in their shapes, numbers, sizes.

        Raises:
            ValueError: words that are no case of the operation.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> CALL_OPERATIONS["unpack_int4"].values("int4", (1, 2, 0x98))
        {'rows': 1, 'k': 2, 'packed': array([[152]], dtype=uint8)}
        """
        fields = self.fields(format)
        values = of_fields.values_of(fields, of_fields.parts_of(fields, words))
        self.check(format, values)
        return values

    def call(self, format: str, words: Words) -> AskedCall:
        """The call of a case.

        Raises:
            ValueError: words that are no case of the operation.
        """
        values = self.values(format, words)
        dtype, shape = self.result(format, values)
        return AskedCall(self.arguments(format, values), np.dtype(dtype), shape)

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """Those of the fields."""
        fields = self.fields(format)
        parts = of_fields.parts_of(fields, words)
        kinds = {one.name: None if is_size(one) else one.kind for one in fields}
        return [kinds[name] for name, part in parts.items() for _ in range(part.size)]

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Patterns of the answer, which stand for themselves."""
        return [None] * count

    def check_words(self, format: str, slot: str, words: Words, answers: Iterable[Words]) -> None:
        """Nothing: `counts` has refused what is no call."""

    def places(self, format: str, words: Words) -> int:
        """How many of the words of a case are parameters, before what it works on."""
        parts = of_fields.parts_of(self.fields(format), words)
        return len(words) - sum(one.size for one in list(parts.values())[-self.worked_on :])

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """The smallest case, of the simplest values."""
        return of_fields.easy(self.fields(format))

    def question(self, format: str, draws: Draws, number: int) -> Sequence[int] | NDArray[Any]:
        """The words of a random case, near where kernels go wrong.

        Args:
            format: the format.
            draws: random numbers.
            number: of the question, by which kinds of cases may take turns.
        """
        return of_fields.drawn(self.fields(format), draws)

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """A random call of these sizes, one for each of `units`."""
        named = dict(zip(self.units(format), sizes, strict=True))
        return self.call(format, of_fields.drawn(self.fields(format), draws, named))

    def asked_sizes(self, format: str) -> CallSizes:
        """The sizes of computed calls that its axes alone do not say."""
        return CallSizes()

    def varied_sizes(self, format: str, place: int, number: int, sizes: Sizes) -> Iterator[Sizes]:
        """The sizes of calls for one count along one axis, among them these.

        Args:
            format: the format.
            place: of the size that has the count.
            number: of the count, by which the others may take turns.
            sizes: the count, with small sizes beside it.
        """
        yield sizes

    def size_features(self, format: str, sizes: Sizes, call: AskedCall) -> dict[str, int | str]:
        """What rules about wrong calls speak of beside the sizes, by their names."""
        return {}

    def elements(self, sizes: Sequence[int]) -> int:
        """About how many numbers a call of these sizes has.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> CALL_OPERATIONS["grid_sample"].elements((2, 3, 3, 4, 4))
        50
        """
        return math.prod(sizes)

    def units(self, format: str) -> dict[str, str]:
        """The sizes that a call has, each with what reports call it, in the plural.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> CALL_OPERATIONS["pack_int4"].units("int4")
        {'rows': 'rows', 'k': 'codes in a row'}
        """
        fields = self.fields(format)
        named = {one.name: one.name.replace("_", " ") for one in fields if is_size(one)}
        rest = (one for one in fields if not callable(one.shape) and "*" in one.shape)
        return named | dict.fromkeys(("*" for _ in rest), "values")

    def smaller(self, format: str, words: Words) -> Iterator[Words]:
        """Cases to try instead of one that is answered wrongly, the simplest first."""
        return of_fields.smaller(self.fields(format), tuple(words))


def is_size(field: Field) -> bool:
    """Whether a field is a size, and no argument."""
    return isinstance(field.kind, Size)
