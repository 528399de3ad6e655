"""A failure of an operation on layouts in words: where, what was wanted, and what lies there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mxref.conformance.compare import Failure, code_format
from mxref.golden.layout_answers import fast_layout
from mxref.golden.records import VectorFile, padded
from mxref.policy import Policy
from mxref.shapes import result_shapes

__all__ = ["layout_difference"]

_INVERSE = {
    "pack": "unpack",
    "unpack": "pack",
    "pack_scales": "unpack_scales",
    "unpack_scales": "pack_scales",
    "pack_blocks": "unpack_blocks",
    "unpack_blocks": "pack_blocks",
}
#: How many first words are no codes or bytes.
_FIRST = {"unpack": 1, "pack_scales": 2, "unpack_scales": 2}


def layout_difference(file: VectorFile, failure: Failure, number: Callable[[int], str]) -> str:
    """The first word that differs, and the words in that belong to it.

    Args:
        file: the file.
        failure: one with an answer.
        number: shows a float of the file.
    """
    want, got = failure.want, failure.got or ()
    pairs = enumerate(zip(want, got, strict=False))
    index = next((i for i, (a, b) in pairs if a != b), min(len(want), len(got)))
    what = f"want {_at(want, index)}, got {_at(got, index)}"
    policy = _policy(file, failure)
    if file.op == "quantize_tensor":
        return f"{_place_in_tensor(file, failure, index, policy, number)}, {what}"
    if index >= len(want):
        return f"word {index}, past the last one: {what}"
    case, first = failure.case, _FIRST.get(file.op, 0)
    held = " and ".join(
        f"{_name(_INVERSE[file.op], case.inputs, i)} = {case.inputs[i + first]:02x}"
        for i in _sources(file, failure, index, policy)
    )
    place = _name(file.op, case.inputs, index)
    return f"{place} (of {held or 'nothing: it is filled up'}), {what}"


def _at(words: Sequence[int], index: int) -> str:
    return f"{words[index]:02x}" if index < len(words) else f"only {len(words)} words"


def _policy(file: VectorFile, failure: Failure) -> Policy:
    """The policy of the first column that wants this; where there is none, of the first."""
    found = (c for i, c in enumerate(file.columns) if failure.case.output(i) == failure.want)
    return Policy.parse(next(found, file.columns[0]))


def _name(op: str, inputs: Sequence[int], index: int) -> str:
    """What word `index` of an operation's answer is."""
    if op == "unpack_scales":
        row, column = divmod(index, inputs[1])
        return f"scale of row {row}, column {column}"
    if op == "unpack_blocks":
        return f"element {index - 1}" if index else "scale"
    return f"element {index}" if op == "unpack" else f"byte {index}"


def _sources(file: VectorFile, failure: Failure, index: int, policy: Policy) -> list[int]:
    """Which words in a word out is made of: what one such word alone gives on the way back."""
    inputs = failure.case.inputs
    start = [len(inputs)] if file.op == "pack" else [*inputs[: _FIRST.get(file.op, 0) // 2 * 2]]
    bits = code_format(file).bits if file.op in ("unpack", "unpack_blocks") else 8
    top = 0xFF if file.op == "unpack_blocks" and index == 0 else (1 << bits) - 1
    rest = [0] * len(failure.want)
    alone = [*rest[:index], top, *rest[index + 1 :]]
    words = padded([[*start, *rest], [*start, *alone]])
    nothing, found = fast_layout(_INVERSE[file.op], file.format, file.float, words, policy)
    return np.flatnonzero(nothing != found).tolist()


def _place_in_tensor(
    file: VectorFile,
    failure: Failure,
    index: int,
    policy: Policy,
    number: Callable[[int], str],
) -> str:
    """The scale or the element that a word is, with its number."""
    rows, columns, axis, *values = failure.case.inputs
    shapes = result_shapes((rows, columns), file.format, policy, axis=axis)
    scales = math.prod(shapes.scale_codes)
    along = f"{rows} x {columns} tensor, blocks along axis {axis}"
    if index >= len(failure.want):
        return f"{along}: word {index}, past the last one"
    if index < scales:
        row, column = divmod(index, shapes.scale_codes[1])
        return f"{along}: scale of row {row}, column {column}"
    row, column = divmod(index - scales, shapes.codes[1])
    inside = row < rows and column < columns
    came = f"in {number(values[row * columns + column])}" if inside else "padding"
    return f"{along}: element of row {row}, column {column}: {came}"
