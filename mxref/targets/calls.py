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
from mxref.operands.returned import AnswerError
from mxref.operands.word_rows import padded, same_width
from mxref.operations.asked import Asked
from mxref.operations.product_words import pair_formats
from mxref.operations.registry import (
    DOT_OPERATIONS,
    REGISTRY,
)
from mxref.support.bounded_output import bounded_output
from mxref.support.interruption import is_interruption
from mxref.support.own_names import names_kept
from mxref.support.own_process import copies_end
from mxref.support.text import one_line
from mxref.targets.array_libraries import at_offset

__all__ = [
    "Answers",
    "by_halves",
    "call_codes",
    "call_function",
    "call_operation",
    "calls_of",
    "code_format",
    "error_text",
    "has_row_scales",
    "is_fault",
    "message",
    "quiet",
    "strided",
    "without_cases",
]

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
    function: Callable[..., Any],
    file: VectorFile,
    inputs: NDArray[np.uint64],
    *,
    offset: int = 0,
    find: bool = True,
) -> Answers:
    """The answers from one call; if it raises, from a call for each case, to find those that raise.

    If the result of the one call has a wrong shape or type, every case fails. `offset` is that of
    `call_operation`. Without `find` no case is called again, and every case has the error.
    """
    function = _displaced(function, offset)
    with quiet():
        if REGISTRY[file.op].single:
            return _ask_each(function, file, inputs)
        try:
            return Answers(call_operation(function, file, inputs))
        except BaseException as error:
            if not is_fault(error):
                raise
            if find and not isinstance(error, AnswerError):
                return _ask_each(function, file, inputs)
            nothing = np.empty((len(inputs), 0), np.uint64)
            return Answers(nothing, dict.fromkeys(range(len(inputs)), error_text(error)))


def by_halves(ask: Callable[[NDArray[np.uint64]], Answers], inputs: NDArray[np.uint64]) -> Answers:
    """The answers to inputs, one a row; where some are errors, to each half, down to one row."""
    found = ask(inputs)
    if len(inputs) == 1 or not found.errors:
        return found
    middle = len(inputs) // 2
    first, second = (by_halves(ask, some) for some in (inputs[:middle], inputs[middle:]))
    words = np.concatenate(same_width(first.words, second.words))
    return Answers(words, {**first.errors, **{i + middle: e for i, e in second.errors.items()}})


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress a target's output, which must not stand in a report, its warnings, and its copies.

    What it replaces of Python and NumPy is put back (`names_kept`).
    """
    with (
        copies_end(),
        names_kept(),
        bounded_output(),
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

    Interruptions are KeyboardInterrupt, unless the target has raised it itself,
    `asyncio.CancelledError` and the outcomes of pytest, so that a person, a scheduler or
    pytest-timeout can end a check.

    >>> [is_fault(error) for error in (GeneratorExit(), SystemExit(), KeyboardInterrupt())]
    [True, True, False]
    """
    return not is_interruption(error) and not any(
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


def has_row_scales(function: object, format: str) -> bool:
    """Whether a call of a target's function has a tensor scale for each row, as a column.

    It says so itself; a tile has no scale of a row, which has parts of several tiles.
    """
    fmt = OTHER_BLOCK_FORMATS.get(format)
    if fmt is None or not fmt.tensor_scale or fmt.is_tiled:
        return False
    return bool(getattr(function, "row_scales", False))


def calls_of(function: object, file: VectorFile, inputs: NDArray[np.uint64]) -> Iterator[Asked]:
    """The calls of a target's function that ask some cases.

    Args:
        function: the function; its `row_scales` says that a tensor has a scale for each row.
        file: its operation, format and float type.
        inputs: the words of the cases, one case a row.
    """
    one = REGISTRY[file.op]
    ask = one.row_calls if has_row_scales(function, file.format) else one.calls
    return ask(file.format, file.float, inputs)


def call_operation(
    function: Callable[..., Any],
    file: VectorFile,
    inputs: NDArray[np.uint64],
    first: int = 0,
    *,
    offset: int = 0,
) -> NDArray[np.uint64]:
    """One call of the target: words in, words out; the arrays are fresh copies.

    Which cases one call has, the operation says (`Operation.calls`).

    Args:
        function: the target's function.
        file: its operation, format and float type, and the cases from number `first` on.
        inputs: the words of these cases, one case a row.
        first: the number of the first case in the file.
        offset: every array then starts this many items past a multiple of 64 bytes, and is
            C-contiguous; 0 leaves it where NumPy allocates it.
    """
    calls = calls_of(function, file, inputs)
    function = _displaced(function, offset)
    answers: list[tuple[Any, NDArray[np.uint64]]] = []
    for asked in calls:
        arguments = list(asked.arguments.values())
        if REGISTRY[file.op].single and _is_strided(file, first + len(answers)):
            nan = LAYOUTS[file.float].nan_bits
            arguments[0] = strided(arguments[0], (first + len(answers)) // 2, nan)
        answers.append((asked.cases, asked.read(function(*arguments))))
    if len(answers) == 1:
        return answers[0][1]
    if REGISTRY[file.op].single:
        return padded([row for _, rows in answers for row in rows])
    width = max((rows.shape[1] for _, rows in answers), default=0)
    found = np.empty((len(inputs), width), np.uint64)
    for cases, rows in answers:
        found[cases] = rows
    return found


def _is_strided(file: VectorFile, index: int) -> bool:
    """Whether the arrays of a case are handed over in memory that is not contiguous."""
    return index < len(file.cases) and "strided" in file.cases[index].flags


def strided(values: NDArray[Any], kind: int, filler: int) -> NDArray[Any]:
    """The same array with other strides: every other element, columns first, or backwards.

    >>> array = np.arange(6).reshape(2, 3)
    >>> [(s.strides, bool((s == array).all())) for s in (strided(array, k, 9) for k in range(3))]
    [((56, 16), True), ((8, 16), True), ((-24, -8), True)]
    """
    if kind % 3 == 1:
        return values.T.copy().T
    if kind % 3 == 2:
        backwards = (slice(None, None, -1),) * values.ndim
        return values[backwards].copy()[backwards]
    larger = [*(n + 2 for n in values.shape[:-1]), 2 * values.shape[-1] + 1]
    every_other = (*[slice(1, -1)] * (values.ndim - 1), slice(1, None, 2))
    room = np.full(larger, filler, f"u{values.itemsize}").view(values.dtype)
    found = room[every_other]
    found[...] = values
    return found


def call_codes(
    function: Callable[..., Any], file: VectorFile, values: NDArray[Any]
) -> NDArray[Any]:
    """One call of an operation from floats to codes: floats in, their codes out."""
    from mxref.operations.elements import ToCodes

    operation = REGISTRY[file.op]
    if not isinstance(operation, ToCodes):
        raise ValueError(f"op must be one from floats to codes, got {file.op!r}")
    shape = values.shape  # which the target may change
    result = function(*operation.given(file.format, values).values())
    return operation.codes(result, file.format, shape)


def _displaced(function: Callable[..., Any], offset: int) -> Callable[..., Any]:
    """A function that passes copies of its arrays, starting at an offset, to the given one."""
    if not offset:
        return function

    def call(*arguments: Any) -> Any:
        return function(
            *(at_offset(a, offset) if isinstance(a, np.ndarray) else a for a in arguments)
        )

    return call
