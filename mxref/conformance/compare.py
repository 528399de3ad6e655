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

from mxref._bits import LAYOUTS, FloatLayout, refuse_masked
from mxref._codes import dtype_of
from mxref.conformance.target import Target
from mxref.formats import BLOCK_FORMATS, E8M0, ELEMENT_FORMATS, CodeFormat
from mxref.golden.answers import choices_read, exact_answers
from mxref.golden.records import Case, VectorFile
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
    if file.format in BLOCK_FORMATS:
        return BLOCK_FORMATS[file.format].element
    return ELEMENT_FORMATS.get(file.format, E8M0)


def run_file(target: Target, file: VectorFile, policy: Policy) -> Outcome:
    """Put every case of a file to a target and compare with the answers under a policy."""
    inputs = file.input_words()
    name, wanted = wanted_answers(file, policy)
    answers, errors = _ask(target, file, inputs, wanted.shape[1])
    same: NDArray[np.bool_] = np.all(same_answers(file, wanted, answers), axis=1)
    failures = [
        Failure(
            index=i,
            case=file.cases[i],
            want=tuple(wanted[i].tolist()),
            got=None if i in errors else tuple(answers[i].tolist()),
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
    return name, np.array(answers, np.uint64)


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
        try:
            answers[:] = call_operation(function, file, inputs)
        except _AnswerError as error:
            return answers, dict.fromkeys(range(len(inputs)), str(error))
        except (Exception, SystemExit):
            return answers, _ask_each(function, file, inputs, answers)
    return answers, {}


def _ask_each(
    function: Callable[..., Any],
    file: VectorFile,
    inputs: NDArray[np.uint64],
    answers: NDArray[np.uint64],
) -> dict[int, str]:
    """Fill in the answers one by one; returns the error of each case that raised."""
    errors: dict[int, str] = {}
    for i in range(len(inputs)):
        try:
            answers[i] = call_operation(function, file, inputs[i : i + 1])[0]
        except (Exception, SystemExit) as error:  # noqa: PERF203 - one case must not hide another
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(frame.filename).name}:{frame.lineno}"
            errors[i] = f"{type(error).__name__}: {_one_line(error)} ({where})"
    return errors


def _one_line(error: BaseException) -> str:
    """An error's text, short and printable."""
    try:
        text = ascii(" ".join(str(error).split()))[1:-1]
    except Exception:
        return "(no text)"
    return text if len(text) <= 200 else f"{text[:200]}..."


class _AnswerError(TypeError):
    """A result that is no array of the right shape and type."""


def call_operation(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """One call of the target: words in, words out; the arrays are fresh copies."""
    layout, fmt = LAYOUTS[file.float], code_format(file)
    floats = inputs.astype(layout.uint).view(layout.dtype)
    codes = inputs.astype(np.uint8)
    count = len(inputs)
    match file.op:
        case "encode" | "shared_scale":
            result = function(floats[:, 0].copy(), file.format)
            fmt = E8M0 if file.op == "shared_scale" else fmt
            return _code_words(result, (count,), fmt)[:, np.newaxis]
        case "encode_scale":
            return _code_words(function(floats[:, 0].copy()), (count,), E8M0)[:, np.newaxis]
        case "decode":
            result = function(codes[:, 0].copy(), file.format)
            return _float_words(result, (count,), layout)[:, np.newaxis]
        case "decode_scale":
            return _float_words(function(codes[:, 0].copy()), (count,), layout)[:, np.newaxis]
        case "quantize":
            result = function(floats, file.format)
            if hasattr(result, "scale_codes"):
                result = (result.scale_codes, result.codes)
            if not isinstance(result, tuple) or len(result) != 2:
                raise _AnswerError(f"quantize must return two arrays, got {type(result).__name__}")
            scales, elements = result
            scales = _array(scales)
            if scales.shape == (count, 1):
                scales = scales[:, 0]
            scale_words = _code_words(scales, (count,), E8M0)
            element_words = _code_words(elements, floats.shape, fmt)
            return np.concatenate([scale_words[:, np.newaxis], element_words], axis=1)
    elements = codes[:, 1:].copy()
    result = function(codes[:, 0].copy(), elements, file.format, layout.dtype)
    return _float_words(result, elements.shape, layout)


def _array(result: object) -> NDArray[Any]:
    try:
        refuse_masked(result, "the result")
    except TypeError as error:
        raise _AnswerError(str(error)) from None
    return np.asarray(result)


def _code_words(result: object, shape: tuple[int, ...], fmt: CodeFormat) -> NDArray[np.uint64]:
    array = _array(result)
    own = dtype_of(fmt)
    if own is not None and array.dtype == own:
        array = array.view(np.uint8)
    if array.dtype.kind not in "iu":
        raise _AnswerError(f"codes must come back as integers, got {array.dtype}")
    if array.size and int(array.min()) < 0:
        raise _AnswerError(f"codes must not be negative, got {array.min()}: return them as uint8")
    return _shaped(array, shape).astype(np.uint64)


def _float_words(result: object, shape: tuple[int, ...], layout: FloatLayout) -> NDArray[np.uint64]:
    array = _array(result)
    if array.dtype != layout.dtype:
        raise _AnswerError(f"numbers must come back as {layout.dtype}, got {array.dtype}")
    return _shaped(array, shape).view(layout.uint).astype(np.uint64)


def _shaped(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if array.shape != shape:
        raise _AnswerError(f"the result must have shape {shape}, got {array.shape}")
    return array


def same_answers(
    file: VectorFile, want: NDArray[np.uint64], got: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """Per word: equal bits, NaN as one class, and blocks with a NaN scale as NaN blocks."""
    equal: NDArray[np.bool_] = want == got
    if file.op in ("encode", "quantize"):
        nan_codes = _nan_codes(code_format(file))
        if nan_codes.size:
            both = np.isin(want, nan_codes) & np.isin(got, nan_codes)
            both[:, 0] &= file.op == "encode"  # the first word of a block is its scale
            equal |= both
    elif file.op in ("decode", "decode_scale", "dequantize"):
        layout = LAYOUTS[file.float]
        equal |= _is_nan(want, layout) & _is_nan(got, layout)
    if file.op == "quantize":
        equal[:, 1:] |= (want[:, :1] == 0xFF) & equal[:, :1]
    return equal


@functools.cache
def _nan_codes(fmt: CodeFormat) -> NDArray[np.uint64]:
    return np.array(fmt.nan_codes, np.uint64)


def _is_nan(bits: NDArray[np.uint64], layout: FloatLayout) -> NDArray[np.bool_]:
    return (bits & np.uint64(layout.sign_bit - 1)) > layout.inf_bits
