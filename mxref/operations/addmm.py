"""`addmm`: alpha times a product of blocks, plus beta times C, plus a bias of the columns.

A format names those of both operands and the type of C, of the bias and of the result, as in
``mxfp8_e4m3-mxfp8_e4m3-bf16``; ``nvfp4-nvfp4-special`` has float32 results under scales of tensors
that are 0, subnormal, infinite or NaN. Words of a case: M, K, N, alpha, beta, of NVFP4 the scales
of the rows of a and of b, then the bias, C, and scale codes and element codes of a and of b.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.blocks.container import Blocks
from mxref.blocks.two_level import TensorScaleKind, one_or_rows
from mxref.exact import dot
from mxref.exact.epilogue import exact_epilogue, stepped_epilogue
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import float_reader
from mxref.exact.sums import fraction
from mxref.formats.catalog import BlockFormat
from mxref.operands.case_input import CaseInput
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field, joined, parts_of
from mxref.operands.kinds import Codes, Floats, Magnitudes, Size
from mxref.operands.shown import show_float
from mxref.operations.addmm_cases import MODEL, SPECIAL, Drawn, designed_cases, drawn
from mxref.operations.asked_call import AskedCall
from mxref.operations.filled_axes import FilledAxes
from mxref.operations.matrices import MatrixOperation
from mxref.operations.operation import Words
from mxref.operations.product_words import DotSide, code_of_one, pair_formats
from mxref.operations.products import exact_product, twin_row
from mxref.products.dot import matmul
from mxref.products.epilogue_steps import EpilogueSteps

__all__ = ["Addmm", "addmm_blocks"]

#: How a sum is added that does not meet the others exactly: each sum of a case is exact anyway.
_SEQUENTIAL = "ocp+accumulation=sequential"

#: The most products of one sign in a call, whose sums float32 holds.
_SHORT_SUM = 512


class Addmm(MatrixOperation):
    """A GEMM with all that it may be given: D = alpha A·B + beta C + bias."""

    one_nan = True
    name = "addmm"
    sides = "rows", "columns"
    axes_filled = FilledAxes(("mB", "mk", "nB", "nk", "mn", "n", *[""] * 4, "m", "n"), ("mn",))
    long = 1, 1024, 3
    parameters = "scales_a, codes_a, scales_b, codes_b, c, bias, alpha, beta, format_a, format_b"
    formats = (
        "mxfp8_e4m3-mxfp8_e4m3-f32",
        "mxfp8_e4m3-mxfp8_e4m3-bf16",
        "nvfp4-nvfp4-f32",
        "nvfp4-nvfp4-bf16",
        f"nvfp4-nvfp4-{SPECIAL}",
    )
    page = "docs/products.md"
    clauses = {"N52": "alpha, beta, C and a bias"}  # noqa: RUF012
    models = {  # noqa: RUF012
        MODEL: "products with alpha, beta, C and a bias: each alone and all together, signs, zeros "
        "and specials, C behind a beta of 0, scales of rows, several blocks along K; every sum of "
        "products is exact in every order"
    }
    worked_on = 6
    axes = ("m", "n")

    def slot_of(self, format: str) -> str:
        """The type of the result."""
        return _layout(format).name

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words of 32 bits, and patterns of the result."""
        return 8, _layout(format).width // 4

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """Where it is rounded; scales that are special have the exact answer alone."""
        return {} if format.endswith(SPECIAL) else {"epilogue": EpilogueSteps}

    def fields(self, format: str) -> tuple[Field, ...]:
        """Sizes, two factors, scales of rows, what is added, and both operands."""
        a, b = _formats(format)
        out = _layout(format).name
        tensors = (Field(f"tensor_scales_{side}", Magnitudes(), (axis,)) for side, axis in _SIDES)
        return (
            *(Field(name, Size(most)) for name, most in (("m", 3), ("k", 70), ("n", 3))),
            Field("alpha", Factors()),
            Field("beta", Factors()),
            *(tensors if a.tensor_scale else ()),
            Field("bias", Floats(out), ("n",)),
            Field("c", Floats(out), ("m", "n")),
            *_operand("a", "m", a),
            *_operand("b", "n", b),
        )

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The operands, what is added, the factors, and names; of NVFP4 scales of rows."""
        more = tuple(f"tensor_scales_{side}" for side, _ in _SIDES)
        return (*self.parameters.split(", "), *more * format.startswith("nvfp4"))

    def called_as(self, format: str) -> str:
        """The call in a format.

        >>> Addmm().called_as("mxfp8_e4m3-mxfp8_e4m3-f32").rpartition(", ")[2]
        'format_b)'
        """
        return f"{self.name}({', '.join(self.argument_names(format))})"

    def arguments(self, format: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Codes, floats, and the names of both formats."""
        a, b = _formats(format)
        given = {**values, "format_a": a.name, "format_b": b.name}
        return tuple(given[name] for name in self.argument_names(format))

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """A number for each row of a and each row of b."""
        return _layout(format).dtype, (values["m"], values["n"])

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The result, by the fast path."""
        how = choices.get("epilogue", EpilogueSteps.EXACT.value)
        a, b, more = addmm_blocks(*call.arguments)
        if how != EpilogueSteps.EXACT.value:
            more |= {"accumulation": "sequential", "epilogue": how}
        return matmul(a, b.T, call.dtype, **more)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterator[int]:
        """The result, by the slow twin."""
        how, target = chosen.get("epilogue", EpilogueSteps.EXACT.value), _layout(format).name
        fields, formats = self.fields(format), _formats(format)
        parts = {name: part.tolist() for name, part in parts_of(fields, words).items()}
        read, factor = float_reader(FLOATS[target]), float_reader(FLOATS["f32"])
        alpha, beta = (fraction(factor(parts[name])) for name in ("alpha", "beta"))
        pair = "-".join(fmt.name for fmt in formats)
        for i in range(parts["m"]):
            x = _side(parts, "a", i)
            for j in range(parts["n"]):
                y = _side(parts, "b", j)
                more = alpha, beta, read(parts["c"][i][j]), read(parts["bias"][j])
                if how == EpilogueSteps.EXACT.value:
                    one, other = (
                        twin_row(side, fmt) for side, fmt in zip((x, y), formats, strict=True)
                    )
                    yield exact_epilogue(dot.exact_dot(one, other), *more, target)
                else:
                    total = _sum(pair, (*x.words, *y.words))
                    yield stepped_epilogue(total, *more, how, target)

    def answer_shown(self, format: str, word: int) -> str:
        """A number of the result's type."""
        return show_float(word, _layout(format))

    def smaller(self, format: str, words: Words) -> Iterator[Words]:
        """Cases of one output first, then those of less and simpler numbers."""
        fields = self.fields(format)
        parts = parts_of(fields, words)
        m, n = int(parts["m"]), int(parts["n"])
        for place in range(m * n if m * n > 1 else 0):
            i, j = divmod(place, n)
            rows = {name: part[i : i + 1] for name, part in parts.items() if name.endswith("_a")}
            rows |= {name: part[j : j + 1] for name, part in parts.items() if name.endswith("_b")}
            c, bias = parts["c"][i : i + 1, j : j + 1], parts["bias"][j : j + 1]
            yield joined(fields, {**parts, **rows, "c": c, "bias": bias, "m": 1, "n": 1})
        yield from super().smaller(format, words)

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small product whose sums are exact, with other numbers beside it."""
        m, k, n = (int(draws.between(1, most)) for most in (3, 70, 3))
        found = self._drawn(format, draws, (m, k, n), number)
        return np.array(self._words(format, found), np.int64)

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """The same in other sizes; in some all elements are positive, while sums are exact."""
        number, positive = sum(sizes), sum(sizes) % 4 == 3 and sizes[1] <= _SHORT_SUM
        found = self._drawn(format, draws, sizes, number, positive=positive)
        return self.call(format, self._words(format, found))

    def _drawn(
        self,
        format: str,
        draws: Draws,
        sizes: Sequence[int],
        number: int,
        *,
        positive: bool = False,
    ) -> Drawn:
        both, layout, special = _formats(format), _layout(format), format.endswith(SPECIAL)
        return drawn(both, layout, draws, sizes, number, special=special, positive=positive)

    def _words(self, format: str, parts: Drawn) -> Words:
        return joined(self.fields(format), parts)

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "N52", ()

    def designed(self, format: str) -> Iterable[CaseInput]:
        """See the model."""
        special = format.endswith(SPECIAL)
        for name, parts in designed_cases(_formats(format), _layout(format), special=special):
            yield CaseInput(name, tuple(self._words(format, parts)), MODEL)


class Factors(Floats):
    """Finite float32 numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.easy = 0x3F800000

    def is_legal(self, word: int) -> bool:
        """Whether it is finite."""
        return super().is_legal(word) and word & F32.sign_bit - 1 < F32.inf_bits

    def simpler(self, word: int) -> Iterator[int]:
        """Simpler finite numbers."""
        return (one for one in super().simpler(word) if self.is_legal(one))


#: The operands and the size that tells their rows.
_SIDES = (("a", "m"), ("b", "n"))


def _operand(side: str, axis: str, fmt: BlockFormat) -> tuple[Field, Field]:
    """Scales and codes of an operand, with blocks along K."""

    def scales(sizes: Mapping[str, int]) -> tuple[int, ...]:
        return sizes[axis], -(-sizes["k"] // fmt.elements_per_block)

    return (
        Field(f"scales_{side}", Codes(fmt.scale, code_of_one(fmt)), scales),
        Field(f"codes_{side}", Codes(fmt.element), (axis, "k")),
    )


@functools.lru_cache(maxsize=1024)
def _sum(pair: str, words: tuple[int, ...]) -> int:
    """The float32 sum of a dot product, which every policy meets in its own way."""
    return exact_product(pair, "f32", words, _SEQUENTIAL)


def _formats(format: str) -> tuple[BlockFormat, BlockFormat]:
    return pair_formats(format.rpartition("-")[0])


def _layout(format: str) -> FloatLayout:
    return LAYOUTS.get(format.rpartition("-")[2], F32)


def _side(parts: Mapping[str, Any], side: str, row: int) -> DotSide:
    """One row of an operand."""
    tensors = parts.get(f"tensor_scales_{side}")
    scales, codes = parts[f"scales_{side}"][row], parts[f"codes_{side}"][row]
    return DotSide(tuple(scales), tuple(codes), tensors and tensors[row])


def addmm_blocks(
    scales_a: NDArray[Any],
    codes_a: NDArray[Any],
    scales_b: NDArray[Any],
    codes_b: NDArray[Any],
    c: NDArray[Any],
    bias: NDArray[Any],
    alpha: float,
    beta: float,
    format_a: str,
    format_b: str,
    *tensors: NDArray[Any],
) -> tuple[Blocks, Blocks, dict[str, Any]]:
    """The operands of a call, each with its rows first, and what `mxref.matmul` is given beside.

    Args:
        scales_a: (m, blocks) codes.
        codes_a: (m, k).
        scales_b: (n, blocks).
        codes_b: (n, k).
        c: (m, n).
        bias: (n,).
        alpha: as in `mxref.matmul`.
        beta: the same.
        format_a: the name of a block format.
        format_b: another one.
        tensors: float32 scales of the rows of both operands, (m,) and (n,), if they have any.
    """
    found = []
    for i, (scales, codes, name) in enumerate(
        ((scales_a, codes_a, format_a), (scales_b, codes_b, format_b))
    ):
        (fmt, _), tensor = pair_formats(f"{name}-{name}"), None
        if tensors:
            bits = np.asarray(tensors[i], np.float32).view(np.uint32)[:, np.newaxis]
            tensor = one_or_rows(bits, TensorScaleKind.FACTOR)
        found.append(Blocks(codes, scales, fmt, 1, codes.shape, tensor_scale=tensor))
    return found[0], found[1], {"alpha": alpha, "beta": beta, "c": c, "bias": bias}
