"""A failure in words: the input, the wanted and the given answer, and the distance between them."""

from __future__ import annotations

from functools import partial

import numpy as np

from mxref.bits.floats import F32, LAYOUTS
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.integer_failure_text import integer_difference
from mxref.conformance.compare.layout_failure_text import layout_difference
from mxref.conformance.compare.product_failure_text import layer_difference, product_difference
from mxref.formats.catalog import CodeFormat
from mxref.operands.kinds import Codes, Kind
from mxref.operands.shown import show_code, show_fields, show_float
from mxref.operands.word_rows import padded
from mxref.operations.registry import (
    CALL_OPERATIONS,
    DOT_OPERATIONS,
    LAYER_OPERATIONS,
    LAYOUT_OPERATIONS,
    REGISTRY,
)

__all__ = [
    "describe",
    "difference",
    "show_input",
    "show_output",
]


def describe(file: VectorFile, failure: Failure) -> str:
    """One line: id, input, want and got, distance, clause and flags."""
    case = failure.case
    flags = f" [{' '.join(case.flags)}]" if case.flags else ""
    return f"{case.id}: {difference(file, failure)}; {case.rule}{flags}"


def difference(file: VectorFile, failure: Failure) -> str:
    """The first wrong word, with the input that belongs to it; or the error."""
    if failure.got is None:
        return failure.error
    if file.op in CALL_OPERATIONS:
        return integer_difference(file, failure, partial(show_float, layout=F32))
    return _no_refusal(file, failure) if failure.refused else _first_difference(file, failure)


def show_input(file: VectorFile, word: int) -> str:
    """An input word with its value, for operations with one input word."""
    return shown_by(REGISTRY[file.op].kinds_in(file.format, file.float, (word,))[0], word)


def show_output(file: VectorFile, word: int, index: int = 0, count: int = 1) -> str:
    """A word of an answer of `count` words with its value."""
    return shown_by(REGISTRY[file.op].kinds_out(file.format, file.float, count)[index], word)


def shown_by(kind: Kind | None, word: int) -> str:
    """A word as its kind shows it, or in hex."""
    return f"{word:02x}" if kind is None else kind.shown(word)


def _no_refusal(file: VectorFile, failure: Failure) -> str:
    """The answer to a case that is an error, with its input if it has one."""
    (code, *more), operation = failure.got or (0,), REGISTRY[file.op]
    if more:
        return f"want an error, got {1 + len(more)} codes"
    came = operation.source(file.format, file.float, failure.case.inputs, (), 0)
    (kind,) = operation.kinds_out(file.format, file.float, 1)
    fields = show_fields(code, kind.fmt) if isinstance(kind, Codes) else ""
    return f"{came}want an error, got {shown_by(kind, code)}{fields}"


def _first_difference(file: VectorFile, failure: Failure) -> str:
    """The first word that differs, with the input that belongs to it."""
    want, got = failure.want, failure.got or ()
    if file.op in LAYOUT_OPERATIONS:
        return layout_difference(
            file, failure, lambda bits: show_float(bits, LAYOUTS[file.float]), show_code
        )
    if file.op in LAYER_OPERATIONS:
        show = partial(show_float, layout=LAYOUTS[file.float])
        return layer_difference(file, failure.case, want, got, show)
    if file.op in DOT_OPERATIONS:
        layout = LAYOUTS[file.float]
        show = partial(show_float, layout=layout)
        return product_difference(file, failure.case.inputs, want[0], got[0], show)
    words = (np.array([want], np.uint64), np.array([got], np.uint64))
    index = int(
        np.argmin(same_answers(file, *words, padded([failure.case.inputs]), bits=failure.bits)[0])
    )
    operation, inputs = REGISTRY[file.op], failure.case.inputs
    kind = operation.kinds_out(file.format, file.float, len(want))[index]
    came = operation.source(file.format, file.float, inputs, want, index)
    if isinstance(kind, Codes):
        return f"{came}{_codes(want[index], got[index], kind.fmt)}"
    return f"{came}want {shown_by(kind, want[index])}, got {shown_by(kind, got[index])}"


def _codes(want: int, got: int, fmt: CodeFormat) -> str:
    shown = [f"{show_code(code, fmt)}{show_fields(code, fmt)}" for code in (want, got)]
    text = f"want {shown[0]}, got {shown[1]}"
    if got >= fmt.code_count or fmt.is_nan(want) or fmt.is_nan(got):
        return text
    distance = abs(_position(want, fmt) - _position(got, fmt))
    return f"{text}, {distance} code{'s' if distance != 1 else ''} away" if distance else text


def _position(code: int, fmt: CodeFormat) -> int:
    negative, magnitude = fmt.sign_and_magnitude(code)
    return -magnitude if negative else magnitude
