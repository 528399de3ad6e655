"""A call of a target's function: the cases of it, its arguments, and what reads the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.support.distinct import distinct

__all__ = ["Asked", "Read", "groups_of", "one_row"]

Words: TypeAlias = NDArray[np.uint64]
#: From the result of a call to its words; it raises AnswerError.
Read = Callable[[object], Words]


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of a target's function.

    Args:
        cases: which of the cases it has, in their order.
        arguments: what the function is given, by names that code about it may use: fresh arrays,
            numbers, names of formats, dtypes, shapes.
        read: from the result to a row of words for each case; it raises AnswerError for a result of
            another shape or type.
    """

    cases: Any
    arguments: Mapping[str, Any]
    read: Read


def groups_of(words: Words, default: int) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Each different word, with a mask of the cases that have it; of no cases, the default."""
    for word in distinct(words).tolist() if len(words) else [default]:
        yield word, words == np.uint64(word)


def one_row(read: Read, result: object) -> Words:
    """The words of the only case of a call, as a row."""
    return read(result)[np.newaxis]
