"""Simplify a counterexample: simple numbers, few nonzero elements, in the first places.

Hypothesis shrinks to a local minimum of its own choices. Here one word is replaced by every simpler
one, all in one call, and the simplest that still fails is kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.operands.word_rows import stripped

__all__ = ["simplest"]

Words = NDArray[np.uint64]
#: From cases, one a row, to whether a target answers each wrongly.
Wrong = Callable[[Words], NDArray[np.bool_]]


def simplest(wrong: Wrong, file: VectorFile, row: Words) -> Words:
    """The simplest case found that a target still answers wrongly.

    Args:
        wrong: which cases it answers wrongly.
        file: operation, format and float type.
        row: words of a case that it answers wrongly.
    """
    before = None
    while before is None or not np.array_equal(before, row):
        before = row
        for attempt in file.row.attempts(file.format, file.float, stripped(row)):
            found = _first(wrong, attempt(row))
            while found is not None:
                row = found
                found = _first(wrong, attempt(row))
    return row


def _first(wrong: Wrong, rows: Words) -> Words | None:
    """The first case that is answered wrongly, if it is when asked alone, too."""
    if not len(rows):
        return None
    for index in np.flatnonzero(wrong(rows))[:1].tolist():
        if wrong(rows[index : index + 1])[0]:
            found: Words = rows[index]
            return found
    return None
