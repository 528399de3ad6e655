"""Putting the cases of a vector file to a target, and comparing bits."""

from __future__ import annotations

import contextlib
import functools
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._bits import LAYOUTS, FloatLayout
from mxref.conformance.answers import AnswerError, array_of, code_words, float_words, pair_of
from mxref.conformance.layout_calls import call_layout
from mxref.conformance.target import Target
from mxref.formats import (
    BLOCK_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    OTHER_BLOCK_FORMATS,
    CodeFormat,
    block_format,
)
from mxref.golden.answers import choices_read, exact_answers
from mxref.golden.records import Case, VectorFile, padded, same_width, stripped
from mxref.golden.words import LAYOUT_OPERATIONS
from mxref.policy import Policy

__all__ = [
    "Failure",
    "Outcome",
    "call_operation",
    "code_format",
    "run_file",
    "same_answers",
    "wanted_answers",
]


@dataclass(frozen=True, slots=True)
class Failure:
    """One case that a target answered otherwise; `got` is None where there is only an `error`."""

    index: int
    case: Case
    want: tuple[int, ...]
    got: tuple[int, ...] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a target answered to one vector file under one policy.

    `inputs` and `answers` hold one row of words a case; answers of cases that raised an error are
    not used.
    """

    file: VectorFile
    policy: str
    inputs: NDArray[np.uint64]
    answers: NDArray[np.uint64]
    failures: tuple[Failure, ...]


def code_format(file: VectorFile) -> CodeFormat:
    """The format whose codes the file's elements are."""
    if file.format in BLOCK_FORMATS or file.format in OTHER_BLOCK_FORMATS:
        return block_format(file.format).element
    return ELEMENT_FORMATS.get(file.format, E8M0)


def run_file(target: Target, file: VectorFile, policy: Policy) -> Outcome:
    """Put every case of a file to a target and compare with the answers under a policy."""
    inputs = file.input_words()
    name, wanted = wanted_answers(file, policy)
    answers, errors = _ask(target, file, inputs, wanted.shape[1])
    wanted, answers = same_width(wanted, answers)
    same: NDArray[np.bool_] = np.all(same_answers(file, wanted, answers), axis=1)
    failures = [
        Failure(
            index=i,
            case=file.cases[i],
            want=stripped(wanted[i]),
            got=None if i in errors else stripped(answers[i]),
            error=errors.get(i, ""),
        )
        for i in range(len(file.cases))
        if i in errors or not same[i]
    ]
    return Outcome(file, name, inputs, answers, tuple(failures))


def wanted_answers(file: VectorFile, policy: Policy) -> tuple[str, NDArray[np.uint64]]:
    """The policy's spelling for this operation, and its answers: a column, or computed exactly."""
    name = str(Policy().replace(**choices_read(file.op, policy)))
    if name in file.columns:
        column = file.columns.index(name)
        return name, file.outputs(column)
    questions = [case.inputs for case in file.cases]
    answers = exact_answers(file.op, file.format, file.float, questions, policy)
    return name, padded(answers)


def _ask(
    target: Target, file: VectorFile, inputs: NDArray[np.uint64], width: int
) -> tuple[NDArray[np.uint64], dict[int, str]]:
    """All answers at once; case by case where that raises, to find out which cases do.

    An answer to all of them that has the wrong shape or type fails every case.
    """
    function = target.operations[file.op]
    answers = np.zeros((len(inputs), width), np.uint64)
    # What the target prints must not stand in a report.
    with (
        contextlib.redirect_stdout(sys.stderr),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        if file.op in LAYOUT_OPERATIONS:
            return _ask_each(function, file, inputs, width)
        try:
            answers[:] = call_operation(function, file, inputs)
        except AnswerError as error:
            return answers, dict.fromkeys(range(len(inputs)), str(error))
        except (Exception, SystemExit):
            return _ask_each(function, file, inputs, width)
    return answers, {}


def _ask_each(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64], width: int
) -> tuple[NDArray[np.uint64], dict[int, str]]:
    """The answers one by one, and the error of each case that raised."""
    errors: dict[int, str] = {}
    rows = [np.zeros(width, np.uint64) for _ in inputs]
    for i in range(len(inputs)):
        try:
            rows[i] = call_operation(function, file, inputs[i : i + 1], i)[0]
        except AnswerError as error:  # noqa: PERF203 - one case must not hide another
            errors[i] = str(error)
        except (Exception, SystemExit) as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            errors[i] = f"{type(error).__name__}: {_one_line(error)} ({where})"
    return padded(rows), errors


def _one_line(error: BaseException) -> str:
    """An error's text, short and printable."""
    try:
        text = ascii(" ".join(str(error).split()))[1:-1]
    except Exception:
        return "(no text)"
    return text if len(text) <= 200 else f"{text[:200]}..."


def call_operation(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64], first: int = 0
) -> NDArray[np.uint64]:
    """One call of the target: words in, words out; the arrays are fresh copies.

    `first` is the number of the first case in the file. Operations on layouts, and those with a
    tensor scale, are called once for each case.
    """
    if file.op in LAYOUT_OPERATIONS:
        return call_layout(function, file, inputs, first)
    layout, fmt = LAYOUTS[file.float], code_format(file)
    block = OTHER_BLOCK_FORMATS.get(file.format)
    if block is not None and block.tensor_scale:
        return _call_with_tensor_scale(function, file, inputs)
    floats = inputs.astype(layout.uint).view(layout.dtype)
    codes = inputs.astype(np.uint8)
    count = len(inputs)
    match file.op:
        case "encode_stochastic":
            return _call_stochastic(function, file, inputs)
        case "encode" | "shared_scale":
            result = function(floats[:, 0].copy(), file.format)
            fmt = E8M0 if file.op == "shared_scale" else fmt
            return code_words(result, (count,), fmt)[:, np.newaxis]
        case "encode_scale":
            return code_words(function(floats[:, 0].copy()), (count,), E8M0)[:, np.newaxis]
        case "decode":
            result = function(codes[:, 0].copy(), file.format)
            return float_words(result, (count,), layout)[:, np.newaxis]
        case "decode_scale":
            return float_words(function(codes[:, 0].copy()), (count,), layout)[:, np.newaxis]
        case "quantize":
            return _blocks(function(floats, file.format), floats.shape, file)
    elements = codes[:, 1:].copy()
    result = function(codes[:, 0].copy(), elements, file.format, layout.dtype)
    return float_words(result, elements.shape, layout)


def _call_stochastic(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """One call for each width of the random bits."""
    layout, words = LAYOUTS[file.float], np.empty((len(inputs), 1), np.uint64)
    for width in np.unique(inputs[:, 2]):
        some = inputs[:, 2] == width
        values = inputs[some, 0].astype(layout.uint).view(layout.dtype)
        draws = inputs[some, 1].astype(np.uint32)
        result = function(values, draws, int(width), file.format)
        words[some, 0] = code_words(result, values.shape, code_format(file))
    return words


def _call_with_tensor_scale(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """The float32 scale of the tensor is one more argument, the last one."""
    layout = LAYOUTS[file.float]
    rows = []
    for row in inputs:
        tensor = row[:1].astype(np.uint32).view(np.float32)[0]
        if file.op == "quantize":
            floats = row[np.newaxis, 1:].astype(layout.uint).view(layout.dtype)
            rows.append(_blocks(function(floats, file.format, tensor), floats.shape, file))
        else:
            scales, codes = row[1:2].astype(np.uint8), row[np.newaxis, 2:].astype(np.uint8)
            result = function(scales, codes, file.format, layout.dtype, tensor)
            rows.append(float_words(result, codes.shape, layout))
    return np.concatenate(rows)


def _blocks(result: object, shape: tuple[int, ...], file: VectorFile) -> NDArray[np.uint64]:
    """Scale codes and element codes of blocks, a row of words for each."""
    scales, elements = pair_of("quantize", result)
    scales = array_of(scales)
    if scales.shape == (shape[0], 1):
        scales = scales[:, 0]
    scale_words = code_words(scales, shape[:1], block_format(file.format).scale)
    element_words = code_words(elements, shape, code_format(file))
    return np.concatenate([scale_words[:, np.newaxis], element_words], axis=1)


def same_answers(
    file: VectorFile, want: NDArray[np.uint64], got: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Per word: equal bits, NaN as one class, and blocks with a NaN scale as NaN blocks.

    Rows of different numbers of words differ.
    """
    want, got = same_width(want, got)
    equal: NDArray[np.bool_] = want == got
    if file.op in ("encode", "encode_stochastic", "quantize"):
        nan_codes = _nan_codes(code_format(file))
        if nan_codes.size:
            both = np.isin(want, nan_codes) & np.isin(got, nan_codes)
            both[:, 0] &= file.op != "quantize"  # the first word of a block is its scale
            equal |= both
    elif file.op in ("decode", "decode_scale", "dequantize"):
        layout = LAYOUTS[file.float]
        equal |= _is_nan(want, layout) & _is_nan(got, layout)
    if file.op == "quantize":
        nan = np.uint64(max(block_format(file.format).scale.nan_codes))
        equal[:, 1:] |= (want[:, :1] == nan) & equal[:, :1]
    return equal


@functools.cache
def _nan_codes(fmt: CodeFormat) -> NDArray[np.uint64]:
    return np.array(fmt.nan_codes, np.uint64)


def _is_nan(bits: NDArray[np.uint64], layout: FloatLayout) -> NDArray[np.bool_]:
    return (bits & np.uint64(layout.sign_bit - 1)) > layout.inf_bits
