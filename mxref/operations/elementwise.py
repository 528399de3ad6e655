"""`qlinear_add` and `qlinear_mul` of onnxruntime: sums and products of codes, one by one.

Words of a case: rows, columns, the shape of b, zero points, scales, and then a and b, row by row.
"""

from __future__ import annotations

import enum
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.exact import integer as slow
from mxref.integer import elementwise
from mxref.integer import integer_choices as c
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Flags, Integers, Scales, Size, signed
from mxref.operands.patterns import nearest_pattern, number_of
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import CallSizes
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.operation import Words

__all__ = ["QlinearAdd", "QlinearMul"]

_ONE, _HALF, _TWO, _THIRD, _TENTH = 0x3F800000, 0x3F000000, 0x40000000, 0x3EAAAAAB, 0x3DCCCCCD
#: The sides of random cases.
_ROWS, _COLUMNS = 4, 9
#: b has the shape of a, one row for all, or one code for all.
_SHAPES = ("a", "row", "code")

_SIZES = CallSizes(
    (
        (1, 1023), (1, 1025), (1025, 1), (257, 33), (129, 65), (3, 4097), (2049, 5), (513, 512),
        (7, 7), (300, 300), (65_573, 1), (1, 65_573), (64, 96), (128, 128), (256, 384),
        (1024, 1024),
    ),
    empty=(0, 3),
)  # fmt: skip


def _shape_of_b(sizes: Mapping[str, int]) -> tuple[int, int]:
    rows, columns = sizes["rows"], sizes["columns"]
    return ((rows, columns), (1, columns), (1, 1))[sizes["b_has"]]


class _Elementwise(CallOperation):
    """What both have: two arrays of codes, of which the second may be repeated."""

    parameters = "a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"
    formats = ("int8", "uint8")
    clauses = {"Q16": "sums and products of codes"}  # noqa: RUF012
    worked_on = 2
    sides = "rows", "columns"
    multiples = "n", "c"
    axes_filled = FilledAxes(("nc", "", "", "=nc"), ("nc",), {0: 2})
    #: The fast path and the slow twin.
    fast_codes: ClassVar[Callable[..., NDArray[Any]]]
    slow_code: ClassVar[Callable[..., int]]
    #: The name of the choice, and its members.
    choice: ClassVar[str]

    def fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, zero points and scales, and both arrays."""
        return (
            Field("rows", Size(_ROWS)),
            Field("columns", Size(_COLUMNS)),
            Field("b_has", Flags(*_SHAPES), given=False),
            *(Field(f"{name}_zero", Integers(format)) for name in "aby"),
            *(Field(f"{name}_scale", Scales()) for name in "aby"),
            Field("a", Integers(format), ("rows", "columns")),
            Field("b", Integers(format), _shape_of_b),
        )

    def argument_names(self, format: str) -> tuple[str, ...]:
        """In the order of onnxruntime."""
        return tuple(self.parameters.split(", "))

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """A code for each code of a."""
        return format, (values["rows"], values["columns"])

    def elements(self, sizes: Sequence[int]) -> int:
        """The codes of both arrays and of the result."""
        return 3 * sizes[0] * sizes[1]

    def asked_sizes(self, format: str) -> CallSizes:
        """Those of both."""
        return _SIZES

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        return type(self).fast_codes(*call.arguments, **choices)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterator[int]:
        """The codes, by the slow twin."""
        rows, columns, has, *rest = words
        zeros, scales = [signed(word) for word in rest[:3]], rest[3:6]
        codes = [signed(word) for word in rest[6:]]
        a, b = codes[: rows * columns], codes[rows * columns :]
        b = b * rows * columns if has == 2 else b * rows if has else b
        low, high = int(np.iinfo(format).min), int(np.iinfo(format).max)
        more = self.beside_one(rows, columns, has)
        for x, y in zip(a, b, strict=False):
            yield type(self).slow_code(x, y, scales, zeros, low, high, chosen[self.choice], *more)

    def beside_one(self, rows: int, columns: int, has: int) -> tuple[str, ...]:
        """What the slow twin is told of an operand of one code."""
        return ()

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "Q16", ()

    @abstractmethod
    def result_scale(self, a: int, b: int, scales: Sequence[int], steps: Fraction) -> int:
        """The scale under which a and b, less their zero points, give so many steps."""

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """Small arrays, whose result scale puts one of their results next to a tie."""
        rows, columns = (int(draws.between(1, most)) for most in (_ROWS, _COLUMNS))
        low, high = int(np.iinfo(format).min), int(np.iinfo(format).max)
        b_shape = _shape_of_b({"rows": rows, "columns": columns, "b_has": number % 3})
        zeros = np.where(
            draws.one_in((3,), 3), (low, high)[number % 2], draws.between(low, high, (3,))
        )
        a, b = (draws.between(low, high, shape) for shape in ((rows, columns), b_shape))
        a, b = (np.where(draws.one_in(x.shape, 8), e, x) for x, e in ((a, high), (b, low)))
        scales = [int(one) for one in Scales().drawn(draws, (2,))]
        steps = Fraction(2 * int(draws.between(0, 130)) + 1, 2)
        first = int(a[0, 0] - zeros[0]), int(b[0, 0] - zeros[1])
        y_scale = self.result_scale(*first, scales, steps) + int(draws.between(-1, 1))
        head = [rows, columns, number % 3, *zeros, *scales, y_scale]
        return np.concatenate([head, a.reshape(-1), b.reshape(-1)])

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Any codes; results reach from end to end; the shape of b is drawn."""
        rows, columns = sizes
        low, high = int(np.iinfo(format).min), int(np.iinfo(format).max)
        has = int(draws.between(0, 2))
        b_shape = _shape_of_b({"rows": rows, "columns": columns, "b_has": has})
        a, b = (draws.between(low, high, s).astype(format) for s in ((rows, columns), b_shape))
        zeros = [int(zero) for zero in draws.between(low, high, (3,))]
        scale = 1.5 if self.name == "qlinear_add" else 93.0
        arguments = (a, 0.75, zeros[0], b, 1.25, zeros[1], scale, zeros[2])
        return AskedCall(arguments, np.dtype(format), (rows, columns))

    def designed(self, format: str) -> Iterable[CaseInput]:
        """See the models M27 and M28."""
        low, high = int(np.iinfo(format).min), int(np.iinfo(format).max)
        every = range(low, high + 1)
        scales = ((_ONE, _ONE, _TWO), (_HALF, _ONE, _ONE), (_TENTH, _THIRD, _TENTH + 1))
        for i, some in enumerate((*scales, (_TENTH, _ONE, _ONE), (0x3E99999A, _TENTH, 0x3C23D70A))):
            for j, zeros in enumerate(((0, 0, 0), (low, high, 7), (high, 3, low), (5, low, high))):
                head = (1, 256, 2, *zeros, *some)
                yield self._case(
                    f"codes_{i}_{j}", (*head, *every, zeros[1] + (-1 if j == 1 else 1))
                )
                if i == j:  # the same, with a row of b
                    row = [low + (37 * k + i) % 256 for k in range(16)]
                    head = (16, 16, 1, *zeros, *some)
                    yield self._case(f"rows_{i}", (*head, *every, *row))
        for i in range(96):
            words = self.question(format, Draws(f"{self.name} {format} {i}"), i)
            yield self._case(f"drawn_{i}", [int(word) for word in words])

    def _case(self, name: str, words: Sequence[int]) -> CaseInput:
        return CaseInput(name, tuple(word & 0xFFFFFFFF for word in words), next(iter(self.models)))


class QlinearAdd(_Elementwise):
    """The sum of two arrays, each with a scale and a zero point."""

    name = "qlinear_add"
    models = {  # noqa: RUF012
        "M27": "sums of codes: every code, ties with both parities, zero points at their ends, "
        "rows and single codes that are repeated, saturation"
    }
    choice = "sum"
    fast_codes = staticmethod(elementwise.qlinear_add)
    slow_code = staticmethod(slow.qlinear_add)

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """How the two terms are added."""
        return {"sum": c.Sum}

    def beside_one(self, rows: int, columns: int, has: int) -> tuple[str, ...]:
        """Which operand is one code beside several; of one and one it is a."""
        if rows == columns == 1:
            return ("a",)
        return ("b" if has == 2 or (has == 1 and columns == 1) else "",)

    def result_scale(self, a: int, b: int, scales: Sequence[int], steps: Fraction) -> int:
        """The scale of the sum."""
        total = abs(a * number_of(scales[0]) + b * number_of(scales[1]))
        return nearest_pattern(total / steps) if total else _ONE


class QlinearMul(_Elementwise):
    """The product of two arrays, each with a scale and a zero point."""

    name = "qlinear_mul"
    models = {  # noqa: RUF012
        "M28": "products of codes: as for sums, and products beyond 16 bits"
    }
    choice = "zero_added"
    fast_codes = staticmethod(elementwise.qlinear_mul)
    slow_code = staticmethod(slow.qlinear_mul)

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """When the zero point of the result is added."""
        return {"zero_added": c.ZeroAdded}

    def result_scale(self, a: int, b: int, scales: Sequence[int], steps: Fraction) -> int:
        """The scale of the product."""
        total = abs(a * b) * number_of(scales[0]) * number_of(scales[1])
        return nearest_pattern(total / steps) if total else _ONE
