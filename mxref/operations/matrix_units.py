"""`mma`: C + A·B of plain numbers, added as a matrix unit does.

A format names the adder and the elements of a and b, as in ``hopper_fp8-e4m3-e4m3``. Words of a
case: M, K, N, then c, a and b, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.exact.adder_steps import multiplied
from mxref.formats.catalog import CODE_FORMATS
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Codes, Floats, Kind, Size
from mxref.operands.shown import show_float
from mxref.operations.asked_call import AskedCall
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.matrices import MatrixOperation
from mxref.operations.operation import Words
from mxref.operations.unit_cases import designed_cases, patterns_near_one
from mxref.products.mma import mma

__all__ = ["Mma", "unit_numbers"]


class Mma(MatrixOperation):
    """A matrix unit: sums of float32, which it adds products to in steps."""

    one_nan = True
    name = "mma"
    sides = "rows", "columns"
    #: 0 times -0 leaves a sum of -0 as it is.
    axes_filled = FilledAxes(("mk", "kn", "mn"), ("mn",), {1: -0.0})
    long = 1, 4096, 3
    parameters = "a, b, c, adder, format_a, format_b"
    formats = (
        "hopper_fp8-e4m3-e4m3",
        "hopper_fp8-e5m2-e4m3",
        "ada_fp8-e4m3-e4m3",
        "ada_fp8-e5m2-e5m2",
        "blackwell_f8f6f4-e4m3-e4m3",
        "volta_f16-f16-f16",
        "ampere_f16-bf16-bf16",
        "hopper_f16-bf16-bf16",
        "cdna1_f16-f16-f16",
        "cdna2_f16-bf16-bf16",
        "cdna3_f16-bf16-bf16",
        "cdna3_fp8-e4m3fnuz-e4m3fnuz",
    )
    slot = "f32"
    page = "docs/products.md"
    clauses = {"N47": "matrix units"}  # noqa: RUF012
    models = {  # noqa: RUF012
        "M25": "matrix units: the last place below the largest term, in one step and in the next, "
        "with each sign; where steps end; sums far above and below; zeros, ends and specials"
    }
    worked_on = 3

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words of 32 bits, and float32 patterns."""
        return 8, 8

    def fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, and three matrices."""
        _, a, b = format.split("-")
        sizes = (Field(name, Size(most)) for name, most in (("m", 3), ("k", 70), ("n", 3)))
        return (
            *sizes,
            Field("c", Floats(), ("m", "n")),
            Field("a", _kind(a), ("m", "k")),
            Field("b", _kind(b), ("k", "n")),
        )

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The matrices, and what they are."""
        return tuple(self.parameters.split(", "))

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Codes or floats, c, and three names."""
        return values["a"], values["b"], values["c"], *format.split("-")

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """A float32 number for each row of a and column of b."""
        return np.float32, (values["m"], values["n"])

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The sums, by the fast path."""
        a, b, c, adder, *names = call.arguments
        x, y = (unit_numbers(one, name) for one, name in zip((a, b), names, strict=True))
        return mma(x, y, c, adder=adder)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterator[int]:
        """The sums, by the slow twin."""
        adder, *names = format.split("-")
        m, k, n, *rest = words
        c, a, b = rest[: m * n], rest[m * n : m * n + m * k], rest[m * n + m * k :]
        for i in range(m):
            for j in range(n):
                row, column = a[i * k : i * k + k], b[j::n]
                yield multiplied(row, column, c[i * n + j], names[0], names[1], adder)

    def answer_shown(self, format: str, word: int) -> str:
        """A float32 number."""
        return show_float(word, LAYOUTS["f32"])

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small product of numbers near 1, of few binades or of many, and zeros between."""
        m, k, n = (int(draws.between(1, most)) for most in (3, 70, 3))
        _, *names = format.split("-")
        reach = (2, 7, 14, 40)[number % 4]
        parts = [
            patterns_near_one(draws, name, shape, reach)
            for name, shape in (("f32", (m, n)), (names[0], (m, k)), (names[1], (k, n)))
        ]
        return np.concatenate([np.array([m, k, n]), *(part.reshape(-1) for part in parts)])

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """The same in other sizes."""
        m, k, n = sizes
        _, *names = format.split("-")
        values = {
            "c": _drawn(draws, "f32", (m, n)),
            "a": _drawn(draws, names[0], (m, k)),
            "b": _drawn(draws, names[1], (k, n)),
        }
        arguments = self.arguments(format, values)
        return AskedCall(arguments, np.dtype(np.float32), (m, n))

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "N47", ()

    def designed(self, format: str) -> Iterable[CaseInput]:
        """See the model M25."""
        for name, words in designed_cases(*format.split("-")):
            yield CaseInput(name, words, "M25")
        for i in range(32):
            drawn = self.question(format, Draws(f"{self.name} {format} {i}"), i)
            yield CaseInput(f"drawn_{i}", tuple(int(word) for word in drawn), "M25")


def _drawn(draws: Draws, name: str, shape: tuple[int, int]) -> NDArray[Any]:
    words = patterns_near_one(draws, name, shape, 7)
    return _kind(name).array(words.reshape(-1)).reshape(shape)


def _kind(name: str) -> Kind:
    return Floats(name) if name in LAYOUTS else Codes(CODE_FORMATS[name])


def unit_numbers(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Codes as numbers of their type, floats as they are."""
    if name in LAYOUTS:
        return array
    dtype = np.dtype(CODE_FORMATS[name].dtype_name)
    return array.view(dtype)
