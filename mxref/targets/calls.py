"""Calls of a target's Python functions: words in, words out, and the errors of cases."""

from __future__ import annotations

import contextlib
import re
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import formats
from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, OTHER_BLOCK_FORMATS, CodeFormat, block_format
from mxref.operations.product_words import pair_formats
from mxref.operations.registry import (
    DOT_OPERATIONS,
    INTEGER_OPERATIONS,
    LAYER_OPERATIONS,
    LAYOUT_OPERATIONS,
    REGISTRY,
)
from mxref.operations.word_rows import padded
from mxref.support.own_names import names_kept
from mxref.support.own_process import copies_end
from mxref.support.text import one_line
from mxref.targets.array_libraries import at_offset
from mxref.targets.integer_calls import call_integers
from mxref.targets.layout_calls import call_layout
from mxref.targets.linear_calls import call_layers
from mxref.targets.product_calls import call_products
from mxref.targets.returned import (
    AnswerError,
    array_of,
    code_array,
    code_words,
    float_words,
    pair_of,
)

__all__ = [
    "Answers",
    "call_codes",
    "call_function",
    "call_operation",
    "code_format",
    "error_text",
    "is_fault",
    "message",
    "quiet",
    "without_cases",
]

#: The tensor scale 1.0, and the number of random bits, of a call with no cases.
_ONE, _WIDTH = 0x3F800000, 8
#: Python's message for a call whose arguments are not a function's parameters.
_PARAMETERS = re.compile(r"\) (takes|missing) ")
#: Modules of interruptions, which are not imported for this.
_INTERRUPTIONS = (
    ("asyncio.exceptions", "CancelledError"),
    ("_pytest.outcomes", "OutcomeException"),
    ("_pytest.outcomes", "Exit"),
)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a target: a row of words for each case; and the errors of cases."""

    words: NDArray[np.uint64]
    errors: Mapping[int, str] = field(default_factory=dict)


def code_format(file: VectorFile) -> CodeFormat:
    """The format of the codes that are a file's elements; of products that of the first operand."""
    if file.format in BLOCK_FORMATS or file.format in OTHER_BLOCK_FORMATS:
        return block_format(file.format).element
    if file.op in DOT_OPERATIONS:
        return pair_formats(file.format)[0].element
    return E8M0 if file.format == E8M0.name else formats.code_format(file.format)


def without_cases(op: str, format: str, float: str) -> VectorFile:
    """A vector file without cases, for questions that no file has.

    >>> without_cases("quantize", "mxfp4_e2m1", "bf16").stem
    'quantize/mxfp4_e2m1.bf16'
    """
    digits = REGISTRY[op].digits(format, float)
    return VectorFile(op, format, float, ("ocp",), 1, *digits, ())


def call_function(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64], *, offset: int = 0
) -> Answers:
    """The answers from one call; if it raises, from a call for each case, to find those that raise.

    If the result of the one call has a wrong shape or type, every case fails. `offset` is that of
    `call_operation`.
    """
    function = _displaced(function, offset)
    with quiet():
        if REGISTRY[file.op].single:
            return _ask_each(function, file, inputs)
        try:
            return Answers(call_operation(function, file, inputs))
        except AnswerError as error:
            nothing = np.empty((len(inputs), 0), np.uint64)
            return Answers(nothing, dict.fromkeys(range(len(inputs)), str(error)))
        except BaseException as error:
            if not is_fault(error):
                raise
            return _ask_each(function, file, inputs)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress a target's output, which must not stand in a report, its warnings, and its copies.

    What it replaces of Python and NumPy is put back (`names_kept`).
    """
    with (
        copies_end(),
        names_kept(),
        contextlib.redirect_stdout(sys.stderr),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        yield


def _ask_each(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> Answers:
    """The answers one by one, and the error of each case that raised."""
    errors: dict[int, str] = {}
    rows = [np.empty(0, np.uint64) for _ in inputs]
    for i in range(len(inputs)):
        try:
            rows[i] = call_operation(function, file, inputs[i : i + 1], i)[0]
        except AnswerError as error:
            errors[i] = str(error)
        except BaseException as error:
            if not is_fault(error):
                raise
            errors[i] = _call_refused(error, file) or error_text(error)
    return Answers(padded(rows), errors)


def _call_refused(error: BaseException, file: VectorFile) -> str:
    """What is wrong with a function's parameters, and which it should have; empty if nothing is."""
    ((frame, _),) = deque(traceback.walk_tb(error.__traceback__), 1)
    inside = not frame.f_globals.get("__name__", "").startswith("mxref.")
    if inside or not isinstance(error, TypeError) or not _PARAMETERS.search(message(error)):
        return ""
    return f"{message(error)}: it is called as {REGISTRY[file.op].called_as(file.format)}"


def is_fault(error: BaseException) -> bool:
    """Whether an exception is the target's own fault, whatever its class, and no interruption.

    Interruptions are KeyboardInterrupt, `asyncio.CancelledError` and the outcomes of pytest, so
    that a person, a scheduler or pytest-timeout can end a check.

    >>> [is_fault(error) for error in (GeneratorExit(), SystemExit(), KeyboardInterrupt())]
    [True, True, False]
    """
    return not isinstance(error, KeyboardInterrupt) and not any(
        isinstance(error, getattr(sys.modules[module], name))
        for module, name in _INTERRUPTIONS
        if module in sys.modules
    )


def error_text(error: BaseException) -> str:
    """A target's exception and its place in one line; of a wrong answer the text alone."""
    if isinstance(error, AnswerError):
        return str(error)
    ((frame, line),) = deque(traceback.walk_tb(error.__traceback__), 1)
    where = f"{Path(frame.f_code.co_filename).name}:{line}"
    return f"{message(error)} ({where})"


def message(error: BaseException) -> str:
    r"""The class and text of a target's exception in one short line, even if its `str` raises.

    >>> message(ValueError("no such\nformat")), message(MemoryError())
    ('ValueError: no such format', 'MemoryError')
    """
    try:
        text = str(error)
    except BaseException as raised:
        if not is_fault(raised):
            raise
        text = "(no text)"
    name = one_line(type(error).__name__)
    return f"{name}: {one_line(text)}" if text else name


def call_operation(
    function: Callable[..., Any],
    file: VectorFile,
    inputs: NDArray[np.uint64],
    first: int = 0,
    *,
    offset: int = 0,
) -> NDArray[np.uint64]:
    """One call of the target: words in, words out; the arrays are fresh copies.

    Operations on layouts are called once for each case, those with a tensor scale once for each
    different scale, stochastic rounding once for each number of random bits, and products once for
    each number of elements.

    Args:
        function: the target's function.
        file: its operation, format and float type, and the cases from number `first` on.
        inputs: the words of these cases, one case a row.
        first: the number of the first case in the file.
        offset: every array then starts this many items past a multiple of 64 bytes, and is
            C-contiguous; 0 leaves it where NumPy allocates it.
    """
    function = _displaced(function, offset)
    if file.op in LAYOUT_OPERATIONS:
        return call_layout(function, file, inputs, first)
    if file.op in LAYER_OPERATIONS:
        return call_layers(function, file, inputs)
    if file.op in DOT_OPERATIONS:
        return call_products(function, file, inputs)
    if file.op in INTEGER_OPERATIONS:
        return call_integers(function, file, inputs)
    layout = LAYOUTS[file.float]
    block = OTHER_BLOCK_FORMATS.get(file.format)
    if block is not None and block.tensor_scale:
        return _call_with_tensor_scale(function, file, inputs)
    floats = inputs.astype(layout.uint).view(layout.dtype)
    codes = inputs.astype(np.uint8)
    count = len(inputs)
    match file.op:
        case "encode_stochastic":
            return _call_stochastic(function, file, inputs)
        case "encode" | "encode_scale" | "shared_scale":
            result = call_codes(function, file, floats[:, 0].copy())
            return result.astype(np.uint64)[:, np.newaxis]
        case "decode":
            result = function(codes[:, 0].copy(), file.format)
            return float_words(result, (count,), layout)[:, np.newaxis]
        case "decode_scale":
            return float_words(function(codes[:, 0].copy()), (count,), layout)[:, np.newaxis]
        case "quantize":
            return _blocks(function(floats, file.format), inputs.shape, file)
    result = function(codes[:, 0].copy(), codes[:, 1:].copy(), file.format, layout.dtype)
    return float_words(result, (count, inputs.shape[1] - 1), layout)


def call_codes(
    function: Callable[..., Any], file: VectorFile, values: NDArray[Any]
) -> NDArray[Any]:
    """One call of `encode`, `encode_scale` or `shared_scale`: floats in, the target's codes out."""
    shape = values.shape  # which the target may change
    if file.op == "encode_scale":
        return code_array(function(values), shape, E8M0)
    fmt = E8M0 if file.op == "shared_scale" else code_format(file)
    return code_array(function(values, file.format), shape, fmt)


def _displaced(function: Callable[..., Any], offset: int) -> Callable[..., Any]:
    """A function that passes copies of its arrays, starting at an offset, to the given one."""
    if not offset:
        return function

    def call(*arguments: Any) -> Any:
        return function(
            *(at_offset(a, offset) if isinstance(a, np.ndarray) else a for a in arguments)
        )

    return call


def _groups(
    words: NDArray[np.uint64], default: int
) -> Iterator[tuple[np.uint64, NDArray[np.bool_]]]:
    """Each different word with a mask of its cases; without cases the default word."""
    for word in np.unique(words) if len(words) else np.array([default], np.uint64):
        yield word, words == word


def _call_stochastic(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """One call for each number of random bits."""
    layout, words = LAYOUTS[file.float], np.empty((len(inputs), 1), np.uint64)
    for width, some in _groups(inputs[:, 2], _WIDTH):
        values = inputs[some, 0].astype(layout.uint).view(layout.dtype)
        draws = inputs[some, 1].astype(np.uint32)
        shape = values.shape
        result = function(values, draws, int(width), file.format)
        words[some, 0] = code_words(result, shape, code_format(file))
    return words


def _call_with_tensor_scale(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """One call for each different float32 scale of a tensor, which is the last argument."""
    layout, is_quantize = LAYOUTS[file.float], file.op == "quantize"
    words = np.empty((len(inputs), inputs.shape[1] - (0 if is_quantize else 2)), np.uint64)
    for word, some in _groups(inputs[:, 0], _ONE):
        rows, tensor = inputs[some][:, 1:], word.astype(np.uint32).view(np.float32)
        if is_quantize:
            floats = rows.astype(layout.uint).view(layout.dtype)
            words[some] = _blocks(function(floats, file.format, tensor), rows.shape, file)
        else:
            scales, codes = rows[:, 0].astype(np.uint8), rows[:, 1:].astype(np.uint8)
            shape = codes.shape
            result = function(scales, codes, file.format, layout.dtype, tensor)
            words[some] = float_words(result, shape, layout)
    return words


def _blocks(result: object, shape: tuple[int, ...], file: VectorFile) -> NDArray[np.uint64]:
    """Scale codes and element codes of blocks, a row of words for each."""
    scales, elements = pair_of("quantize", result)
    if not isinstance(scales, list | tuple):
        scales = array_of(scales)
        if scales.shape == (shape[0], 1):
            scales = scales[:, 0]
    scale_words = code_words(scales, shape[:1], block_format(file.format).scale)
    element_words = code_words(elements, shape, code_format(file))
    return np.concatenate([scale_words[:, np.newaxis], element_words], axis=1)
