"""`quantize_tensor`: a matrix to blocks along one of its axes, with tails.

Words of a case: rows, columns, axis and values; the answer has the scale codes and then the codes
of the tensor, both in C order.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import LAYOUTS, U8
from mxref.blocks.quantization import quantize
from mxref.blocks.shapes import result_shapes
from mxref.formats.catalog import E8M0, block_format
from mxref.operands.kinds import Codes, Floats
from mxref.operands.returned import array_of, code_words, pair_of
from mxref.operands.shown import show_float
from mxref.operations.blocks import Quantize
from mxref.operations.layouts import LayoutOperation, words_shown
from mxref.operations.operation import Kinds, Words, floats_of, policy_of
from mxref.operations.wrong_answer import WrongAnswer
from mxref.policy.choices import Tail
from mxref.policy.policy import READS, Policy

__all__ = ["QuantizeTensor"]

#: How far from 0 the exponents of simpler floats are.
_REACH = 2


class QuantizeTensor(LayoutOperation):
    """A matrix to blocks along one of its axes, with tails."""

    name = "quantize_tensor"
    multiples = "r", "c"
    parameters = "values, format, axis"
    arrays = 2
    sizes = 3
    before_block = 1, 32, 1
    decided_by = ""

    def reads(self, format: str = "") -> tuple[str, ...]:
        """Those of `quantize`, first the one that whole blocks do not show."""
        return tuple(sorted(READS["quantize"], key=lambda name: name != "tail"))

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether tails are not refused and no random bits are needed."""
        return policy.layout.tail is not Tail.REFUSED and not policy.element.rounding.stochastic

    def slots(self, format: str) -> Collection[str]:
        """Float types."""
        return LAYOUTS

    def _counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        shapes = result_shapes(words[:2], format, policy, axis=words[2])
        codes, scales = (np.prod(shape, dtype=int) for shape in (shapes.codes, shapes.scale_codes))
        return 3 + words[0] * words[1], int(codes + scales)

    def given(self, format: str, slot: str, words: Words) -> dict[str, Any]:
        """The matrix, and the axis of its blocks."""
        values = floats_of(np.array(words[3:], np.uint64), slot).reshape(words[:2])
        return {"values": values, "format": format, "axis": words[2]}

    def result_words(
        self, format: str, shape: tuple[int, ...], result: object
    ) -> NDArray[np.uint64]:
        """Scale codes and codes in C order, whatever their shapes; only their order is compared."""
        arrays = [array_of(one) for one in pair_of(self.name, result)]
        formats = E8M0, block_format(format).element
        parts = [code_words(a, a.shape, fmt) for a, fmt in zip(arrays, formats, strict=True)]
        return np.concatenate([part.reshape(-1) for part in parts])

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """The shape; of one block what `quantize` has."""
        if tuple(words[:3]) == self.before_block:
            return Quantize().asked(format, slot, words[3:], answer, index)
        return f"{words[0]} x {words[1]}, axis {words[2]}"

    def answered(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """A word; of one block what `quantize` has."""
        if tuple(words[:3]) == self.before_block:
            return Quantize().answered(format, slot, words[3:], answer, index)
        return super().answered(format, slot, words, answer, index)

    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The sizes and the axis, and floats."""
        return [None, None, None, *[Floats(slot, _REACH, None)] * (len(words) - 3)]

    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """Scale codes, then element codes."""
        rows, columns, axis = words[:3]
        scales = rows * -(-columns // 32) if axis else -(-rows // 32) * columns
        fmt = block_format(format)
        return [*[Codes(fmt.scale)] * scales, *[Codes(fmt.element)] * (count - scales)]

    def further(self, format: str, shape: tuple[int, int], axis: int) -> tuple[Any, ...]:
        """The axis, too."""
        return format, axis

    def inverse(self) -> LayoutOperation:
        """There is none in the vectors."""
        raise NotImplementedError

    def difference(self, wrong: WrongAnswer) -> str:
        """The scale or the element that is wrong, and the number that it comes from."""
        rows, columns, axis, *values = wrong.words
        index, policy = wrong.first, policy_of(wrong.policy or wrong.default)
        shapes = result_shapes((rows, columns), wrong.format, policy, axis=axis)
        scales, fmt = math.prod(shapes.scale_codes), block_format(wrong.format)
        text, came = f"{rows} x {columns} tensor, blocks along axis {axis}: ", ""
        if index >= len(wrong.want):
            text += f"word {index}"
        elif index < scales:
            row, column = divmod(index, shapes.scale_codes[1])
            text += f"scale of row {row}, column {column}"
        else:
            row, column = divmod(index - scales, shapes.codes[1])
            inside = row < rows and column < columns
            value = values[row * columns + column] if inside else 0
            came = f": in {show_float(value, LAYOUTS[wrong.slot])}" if inside else ": padding"
            text += f"element of row {row}, column {column}{came}"
        return f"{text}, {words_shown(wrong, Codes(fmt.scale if index < scales else fmt.element))}"

    def twin(self, format: str, slot: str, words: Words, policy: Policy) -> Iterable[int]:
        """Every line along the axis in blocks of 32 padded with +0, by the slow twin."""
        _, columns, axis, *values = words
        element, read = block_format(format).element.name, self.twin_choices(policy)
        short = policy.layout.tail is Tail.SHORT
        matrix = [values[start : start + columns] for start in range(0, len(values), columns)]
        lines = matrix if axis == 1 else [list(line) for line in zip(*matrix, strict=True)]
        scales: list[list[int]] = []
        codes: list[list[int]] = []
        for line in lines:
            blocks = [
                exact.quantize(
                    [*line[start : start + 32], *[0] * (start + 32 - len(line))],
                    slot,
                    element,
                    **read,
                )
                for start in range(0, len(line), 32)
            ]
            scales.append([scale for scale, _ in blocks])
            whole = [code for _, block in blocks for code in block]
            codes.append(whole[: len(line)] if short else whole)
        if axis == 0:
            scales, codes = (
                [list(row) for row in zip(*side, strict=True)] for side in (scales, codes)
            )
        return (word for side in (scales, codes) for row in side for word in row)

    def call(self, format: str, slot: str, words: Words, policy: Policy) -> U8:
        """The codes, by the fast path."""
        values = floats_of(np.array(words[3:]), slot).reshape(words[:2])
        blocks = quantize(values, format, policy, axis=words[2])
        return np.concatenate([blocks.scale_codes.reshape(-1), blocks.codes.reshape(-1)])
