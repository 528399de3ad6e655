"""Calls of a target's integer operations, one for each case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.operations.integer_operation import IntegerCall
from mxref.operations.registry import INTEGERS
from mxref.operations.word_rows import padded, stripped
from mxref.targets.returned import AnswerError, array_of

__all__ = ["call_integers", "result_words"]


def call_integers(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Words in, words out.

    Raises:
        AnswerError: a result of another shape or dtype.
    """
    rows = []
    for row in inputs:
        asked = INTEGERS[file.op].call(file.format, stripped(row))
        rows.append(result_words(function(*asked.arguments), asked))
    return padded(rows)


def result_words(result: object, asked: IntegerCall) -> NDArray[Any]:
    """The words of a result.

    Raises:
        AnswerError: another shape or dtype.
    """
    array = array_of(result)
    if array.dtype != asked.dtype:
        raise AnswerError(f"the result must be {asked.dtype}, got {array.dtype}")
    if array.shape != asked.shape:
        raise AnswerError(f"the result must have shape {asked.shape}, got {array.shape}")
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(f"u{flat.dtype.itemsize}")
