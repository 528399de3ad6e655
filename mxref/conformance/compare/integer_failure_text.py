"""A wrong answer of an integer operation in words: the first wrong element and its input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.product_intervals import allowed, held
from mxref.operands.fields import parts_of
from mxref.operands.kinds import Size, signed
from mxref.operations.affine import affine, scale_numbers
from mxref.operations.registry import CALL_OPERATIONS, WEIGHT_ONLY_OPERATIONS

__all__ = ["integer_difference"]


def integer_difference(file: VectorFile, failure: Failure, show_float: Callable[[int], str]) -> str:
    """The first word that differs, with the parameters and the input that belong to it.

    Args:
        file: the file.
        failure: one with an answer.
        show_float: a float32 pattern in words.
    """
    want, got = failure.want, failure.got or ()
    if not want:
        return f"want an error, got {len(got)} words"
    if file.op in WEIGHT_ONLY_OPERATIONS and len(want) == len(got):
        return _sum_difference(file, failure, show_float)
    pairs = enumerate(zip(want, got, strict=False))
    index = next((i for i, (a, b) in pairs if a != b), min(len(want), len(got)))
    shown = [_shown(file, side[index]) if index < len(side) else "nothing" for side in (want, got)]
    return f"{_place(file, failure, index, show_float)}want {shown[0]}, got {shown[1]}"


def _sum_difference(file: VectorFile, failure: Failure, show_float: Callable[[int], str]) -> str:
    """The first number outside of its interval; if all are inside, the first that differs."""
    want, got = failure.want, failure.got or ()
    bounds = WEIGHT_ONLY_OPERATIONS[file.op].interval(file.format, failure.case.inputs)
    wrong = ~held(bounds, np.array(got, np.uint64), file.float)
    if not wrong.any():
        wrong = np.array(want) != np.array(got)
    index = int(np.argmax(wrong))
    row, column = divmod(index, failure.case.inputs[1])
    shown = f"want {show_float(want[index])}, got {show_float(got[index])}"
    return f"row {row}, column {column}: {shown}: {allowed(bounds, index)}"


def _shown(file: VectorFile, word: int) -> str:
    """A word of an answer."""
    digits, unsigned = file.out_digits, "uint" in file.format or file.op == "pack_int4"
    if file.op == "dequantize_affine":
        return f"{word:08x}"
    return f"{word:0{digits}x} = {word if unsigned else signed(word, 4 * digits)}"


def _place(file: VectorFile, failure: Failure, index: int, show_float: Callable[[int], str]) -> str:
    if file.op in CALL_OPERATIONS and CALL_OPERATIONS[file.op].is_own:
        return f"element {index}: in {_beside(file, failure, index)}, "
    if not file.op.endswith("_affine"):
        return f"element {index}: "
    case = affine(file.format, failure.case.inputs)
    if index >= len(case.values):
        return f"element {index}: "
    place, zero = case.which[index], case.zero_points[case.which[index]]
    scale = show_float(case.scales[place])
    if file.format.endswith("_scale64"):
        scale = f"{case.scales[place]:016x} = {float(scale_numbers(file.format, case)[place])}"
    value = case.values[index]
    came = show_float(value) if file.op == "quantize_affine" else f"code {signed(value)}"
    return f"element {index}: in {came}, scale {scale}, zero point {zero}, "


def _beside(file: VectorFile, failure: Failure, index: int) -> str:
    """The fields that belong to one number of an answer: single words, and arrays of its shape."""
    operation, words = CALL_OPERATIONS[file.op], failure.case.inputs
    shape, found = operation.call(file.format, words).shape, []
    fields = operation.fields(file.format)
    for field, part in zip(fields, parts_of(fields, words).values(), strict=True):
        if part.shape in ((), shape) and not isinstance(field.kind, Size):
            word = int(np.broadcast_to(part, shape).reshape(-1)[index])
            found.append(f"{field.name} {field.kind.shown(word)}")
    return ", ".join(found)
