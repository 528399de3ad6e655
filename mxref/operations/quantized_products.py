"""`qlinear_matmul` of ONNX: products of matrices of codes.

Words of a case: M, K, N, the zero points of a and of the result, their scales, the scales and the
zero points of the columns of b, and then a and b, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact import integer as slow
from mxref.integer.layers import qlinear_matmul
from mxref.operands.case_input import CaseInput, spelled
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Integers, Scales, Size, signed
from mxref.operands.patterns import nearest_pattern, number_of
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import CallSizes
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.matrices import LARGE
from mxref.operations.operation import Words

__all__ = ["QlinearMatmul"]

_ONE, _HALF = 0x3F800000, 0x3F000000


class QlinearMatmul(CallOperation):
    """The product of a and b, each with a scale and a zero point, b with one for each column."""

    name = "qlinear_matmul"
    sides = "rows", "columns"
    multiples = "m", "n", "k"
    axes_filled = FilledAxes(("mk", "", "", "kn", "=n", "=n"), ("mn",), {0: 2})
    parameters = "a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"
    formats = ("int8", "uint8")
    clauses = {"Q14": "quantized matrix products"}  # noqa: RUF012
    models = {  # noqa: RUF012
        "M24": "quantized matrix products: every code, ties with both parities, zero points at "
        "their ends, columns with scales of their own, sums that float32 rounds, saturation"
    }
    worked_on = 2

    def fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, zero points and scales, and both matrices; b is int8."""
        column = ("n",)
        return (
            *(Field(name, Size(most)) for name, most in (("m", 5), ("k", 20), ("n", 4))),
            Field("a_zero", Integers(format)),
            Field("y_zero", Integers(format)),
            Field("a_scale", Scales()),
            Field("y_scale", Scales()),
            Field("b_scale", Scales(), column),
            Field("b_zero", Integers("int8"), column),
            Field("a", Integers(format), ("m", "k")),
            Field("b", Integers("int8"), ("k", "n")),
        )

    def argument_names(self, format: str) -> tuple[str, ...]:
        """In the order of ONNX."""
        return tuple(self.parameters.split(", "))

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """A code for each row of a and column of b."""
        return format, (values["m"], values["n"])

    def asked_sizes(self, format: str) -> CallSizes:
        """Large products."""
        return CallSizes((*LARGE, (64, 128, 128), (128, 512, 256), (1, 1024, 512), (300, 64, 310)))

    def units(self, format: str) -> dict[str, str]:
        """The three sides."""
        return {"m": "rows", "k": "products in a sum", "n": "columns"}

    def elements(self, sizes: Sequence[int]) -> int:
        """The numbers of both matrices and of the result."""
        m, k, n = sizes
        return m * k + k * n + m * n

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        return qlinear_matmul(*call.arguments)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterator[int]:
        """The codes, by the slow twin."""
        m, k, n, a_zero, y_zero, a_scale, y_scale, *rest = words
        b_scales, b_zeros, rest = rest[:n], rest[n : 2 * n], rest[2 * n :]
        a, b = (list(map(signed, some)) for some in (rest[: m * k], rest[m * k :]))
        low, high = int(np.iinfo(format).min), int(np.iinfo(format).max)
        for i in range(m):
            for j in range(n):
                pairs = list(zip(a[i * k : i * k + k], b[j::n], strict=True))
                zeros = [signed(a_zero), signed(b_zeros[j]), signed(y_zero)]
                yield slow.qlinear(pairs, [a_scale, b_scales[j], y_scale], zeros, low, high)

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small product, whose result scale puts one of its sums next to a tie."""
        m, k, n = (int(draws.between(1, most)) for most in (5, 20, 4))
        info = np.iinfo(format)
        low, high = int(info.min), int(info.max)
        zeros = draws.between(low, high, (2,))
        zeros = np.where(draws.one_in((2,), 3), (low, high)[number % 2], zeros)
        columns = np.where(draws.one_in((n,), 3), 0, draws.between(-128, 127, (n,)))
        a, b = draws.between(low, high, (m, k)), draws.between(-128, 127, (k, n))
        a, b = (np.where(draws.one_in(x.shape, 8), e, x) for x, e in ((a, high), (b, -128)))
        scales = Scales().drawn(draws, (n + 1,))
        sums = (a - zeros[0]) @ (b - columns)
        tie = 2 * int(draws.between(0, 130)) + 1
        wanted = 2 * abs(int(sums[0, 0])) * number_of(scales[0]) * number_of(scales[1]) / tie
        y_bits = (nearest_pattern(wanted) if wanted else _ONE) + int(draws.between(-1, 1))
        first = [m, k, n, *zeros, scales[0], y_bits]
        return np.concatenate([first, scales[1:], columns, a.reshape(-1), b.reshape(-1)])

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Any codes; results reach from end to end."""
        m, k, n = sizes
        info = np.iinfo(format)
        low, high = int(info.min), int(info.max)
        a = draws.between(low, high, (m, k)).astype(format)
        b = draws.between(-128, 127, (k, n)).astype(np.int8)
        b_scale = np.ldexp(np.float32(1), draws.between(-9, -5, (n,))).astype(np.float32)
        b_zero = draws.between(-20, 20, (n,)).astype(np.int8)
        zeros = [int(zero) for zero in draws.between(low, high, (2,))]
        y_scale = float(np.float32(0.9 * max(k, 1) ** 0.5))
        arguments = (a, 0.75, zeros[0], b, b_scale, b_zero, y_scale, zeros[1])
        return AskedCall(arguments, np.dtype(format), (m, n))

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "Q14", ()

    def designed(self, format: str) -> Iterable[CaseInput]:
        """See the model M24."""
        low, high = int(np.iinfo(format).min), int(np.iinfo(format).max)
        codes = list(range(low, high + 1))
        for zero in (0, low, high, 3):
            for y_zero in (0, low, high, 7):
                first = (256, 1, 1, zero, y_zero, _ONE, _ONE, _HALF, 0)
                yield _case(f"ties_{spelled(zero)}_{spelled(y_zero)}", (*first, *codes, 1))
        for zero in (-128, -1, 0, 5, 127):
            row = (1, 1, 256, low + 9, 0, _ONE, 0x42000000, *[_ONE] * 256, *[zero] * 256)
            yield _case(f"columns_{spelled(zero)}", (*row, low + 12, *range(-128, 128)))
        scales = (0x3DCCCCCD, 0x3EAAAAAB, 0x3C010204, 0x40490FDB)
        for k in (2, 3, 33, 1100):
            a = [low + (i * 37 + k) % 256 for i in range(2 * k)]
            b = [(i * 91 + 5) % 256 - 128 for i in range(4 * k)]
            sizes = (2, k, 4, low + 131, low + 120, 0x3F19999A, 0x41200000 + (k << 12))
            yield _case(f"scales_{k}", (*sizes, *scales, 0, -3, 127, -128, *a, *b))
            ends = [high if i % 2 else low for i in range(k)]
            sides = [-128 if i % 2 else 127 for i in range(k)]
            one = (1, k, 1, 0, 0, _ONE, 0x47000001, _ONE, 0, *ends, *sides)
            yield _case(f"ends_{k}", one)
        for i in range(48):
            words = self.question(format, Draws(f"{self.name} {format} {i}"), i)
            yield _case(f"drawn_{i}", [int(word) for word in words])


def _case(name: str, words: Sequence[int]) -> CaseInput:
    return CaseInput(name, tuple(word & 0xFFFFFFFF for word in words), "M24")
