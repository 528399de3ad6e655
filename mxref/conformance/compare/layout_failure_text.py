"""A failure of an operation on layouts in words: the place, the wanted and the given word."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mxref.blocks.shapes import result_shapes
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.formats.catalog import E8M0, CodeFormat
from mxref.operands.word_rows import padded
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.targets.calls import code_format

__all__ = ["layout_difference"]

_INVERSE = {
    "pack": "unpack",
    "unpack": "pack",
    "pack_scales": "unpack_scales",
    "unpack_scales": "pack_scales",
    "pack_blocks": "unpack_blocks",
    "unpack_blocks": "pack_blocks",
}
#: What stands for a word past the last one.
_END = "the end"
#: How many first words are no codes or bytes.
_FIRST = {"unpack": 1, "pack_scales": 2, "unpack_scales": 2}


def layout_difference(
    file: VectorFile,
    failure: Failure,
    show_float: Callable[[int], str],
    show_code: Callable[[int, CodeFormat], str],
) -> str:
    """The first word that differs, and the input words that belong to it.

    Args:
        file: the file.
        failure: one with an answer.
        show_float: a float of the file in words.
        show_code: a code in words.
    """
    want, got = failure.want, failure.got or ()
    sides = (padded([side]) for side in (want, got, failure.case.inputs))
    index = int(np.argmin(same_answers(file, *sides, bits=failure.bits)[0]))
    policy = _policy(file, failure)
    if file.op == "quantize_tensor":
        place, fmt = _place_in_tensor(file, failure, index, policy, show_float)
        what = [show_code(side[index], fmt) if index < len(side) else _END for side in (want, got)]
        return f"{place}, want {what[0]}, got {what[1]}"
    what = [f"{side[index]:02x}" if index < len(side) else _END for side in (want, got)]
    if index >= len(want):
        return f"word {index}, want {what[0]}, got {what[1]}"
    sources = _sources(file, failure, index, policy)
    if not sources:
        return f"byte {index}, which fills up, want {what[0]}, got {what[1]}"
    case, back = failure.case, _INVERSE[file.op]
    first = _FIRST.get(file.op, 0)
    values = [f"{case.inputs[i + first]:02x}" for i in sources]
    # A whole code in a byte of its own is the word that is wanted, which is said below.
    said = values == what[:1]
    held = " and ".join(
        _name(back, case.inputs, i) + ("" if said else f" = {value}")
        for i, value in zip(sources, values, strict=True)
    )
    packs = file.op.startswith("pack")
    place = f"{_name(file.op, case.inputs, index)} {'holding' if packs else 'from'} {held}"
    text = f"{place}, want {what[0]}, got {what[1]}"
    if packs and len(got) == len(want):
        words = padded([[*_shape(file, case.inputs), *got]])
        read = REGISTRY[back].fast(file.format, file.float, words, policy)[0]
        given = [f"{read[i]:02x}" for i in sources]
        text += "" if given == what[1:] else f" (holding {' and '.join(given)})"
    return text


def _policy(file: VectorFile, failure: Failure) -> Policy:
    """The policy of the first column with this answer, or of the first column."""
    found = (c for i, c in enumerate(file.columns) if failure.case.output(i) == failure.want)
    return Policy.parse(next(found, file.columns[0]))


def _name(op: str, inputs: Sequence[int], index: int) -> str:
    """The name of word `index` of an operation's answer."""
    if op == "unpack_scales":
        row, column = divmod(index, inputs[1])
        return f"scale of row {row}, column {column}"
    if op == "unpack_blocks":
        return f"element {index - 1}" if index else "scale"
    return f"element {index}" if op == "unpack" else f"byte {index}"


def _shape(file: VectorFile, inputs: Sequence[int]) -> Sequence[int]:
    """The words before the codes or bytes on the way back."""
    return [len(inputs)] if file.op == "pack" else inputs[: 2 * (_FIRST.get(file.op) == 2)]


def _sources(file: VectorFile, failure: Failure, index: int, policy: Policy) -> list[int]:
    """The input words that an output word is made of, by the inverse operation on it."""
    shape = _shape(file, failure.case.inputs)
    is_code = file.op == "unpack" or (file.op == "unpack_blocks" and index > 0)
    ones = (1 << (code_format(file).bits if is_code else 8)) - 1
    rest = [0] * len(failure.want)
    words = padded([[*shape, *rest], [*shape, *rest[:index], ones, *rest[index + 1 :]]])
    nothing, found = REGISTRY[_INVERSE[file.op]].fast(file.format, file.float, words, policy)
    sources: list[int] = np.flatnonzero(nothing != found).tolist()
    return sources


def _place_in_tensor(
    file: VectorFile,
    failure: Failure,
    index: int,
    policy: Policy,
    show_float: Callable[[int], str],
) -> tuple[str, CodeFormat]:
    """The scale or the element that a word is, with its number, and the format of its code."""
    rows, columns, axis, *values = failure.case.inputs
    shapes = result_shapes((rows, columns), file.format, policy, axis=axis)
    scales, fmt = math.prod(shapes.scale_codes), code_format(file)
    text = f"{rows} x {columns} tensor, blocks along axis {axis}"
    if index >= len(failure.want):
        return f"{text}: word {index}", fmt
    if index < scales:
        row, column = divmod(index, shapes.scale_codes[1])
        return f"{text}: scale of row {row}, column {column}", E8M0
    row, column = divmod(index - scales, shapes.codes[1])
    inside = row < rows and column < columns
    came = f"in {show_float(values[row * columns + column])}" if inside else "padding"
    return f"{text}: element of row {row}, column {column}: {came}", fmt
