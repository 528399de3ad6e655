"""Both references answer every case of a file alike, or there is no file."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mxref import exact
from mxref.cases.records import VectorFile
from mxref.formats.catalog import CodeFormat
from mxref.operands.word_rows import same_width, stripped
from mxref.operations.registry import REGISTRY

__all__ = ["compare_codes", "compare_references"]


def compare_codes(fmt: CodeFormat) -> None:
    """Compare what the codes of a format stand for with the slow twin's table of it.

    Raises:
        ValueError: another number; the sentence has the first one.

    >>> from mxref.formats.catalog import ElementFormat
    >>> compare_codes(ElementFormat("e2m1", 2, 1, 2))
    Traceback (most recent call last):
    ValueError: e2m1 must have the numbers of its list (FORMAT_VALUES), got 0.25 for 01, not 1/2
    """
    numbers = exact.numbers(fmt.name)
    if len(numbers) != fmt.code_count:
        raise ValueError(
            f"{fmt.name} must have as many codes as its list (FORMAT_VALUES) has numbers, got "
            f"{fmt.code_count}, not {len(numbers)}"
        )
    for code, listed in enumerate(numbers):
        value = fmt.value(code)
        known = Fraction(value) if math.isfinite(value) else str(value)
        if known != listed:
            raise ValueError(
                f"{fmt.name} must have the numbers of its list (FORMAT_VALUES), got {value:g} for "
                f"{code:02x}, not {listed}"
            )


def compare_references(file: VectorFile) -> None:
    """Compare the answers of a file, which are those of the slow twin, with the fast path's.

    Raises:
        RuntimeError: they differ; the message names the first such case.
    """
    inputs = file.input_words()
    for index, column in enumerate(file.columns):
        wanted = file.outputs(index)
        answers = REGISTRY[file.op].fast(file.format, file.float, inputs, column)
        got, wanted = same_width(answers.astype(np.uint64), wanted)
        wrong = np.flatnonzero((got != wanted).any(axis=-1))
        if wrong.size:
            case = file.cases[wrong[0]]
            raise RuntimeError(
                f"the two references disagree on {case.id} under {column}: "
                f"slow {list(stripped(wanted[wrong[0]]))}, fast {list(stripped(got[wrong[0]]))}"
            )
