"""Parts of a task on several threads: NumPy lets go of the interpreter while it computes."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["for_each", "thread_count"]

_Part = TypeVar("_Part")
_VARIABLE = "MXREF_THREADS"


def thread_count(threads: int | None) -> int:
    """How many threads a call takes: the argument, or MXREF_THREADS, or one.

    Raises:
        TypeError: threads is no integer.
        ValueError: a number below 1, or a MXREF_THREADS that is no number.

    >>> thread_count(2)
    2
    """
    if threads is None:
        text = os.environ.get(_VARIABLE, "") or "1"
        if not text.isdecimal() or int(text) < 1:
            raise ValueError(f"{_VARIABLE} must be a number from 1 on, got {text!r}")
        return int(text)
    try:
        count = operator.index(threads)
    except TypeError:
        what = type(threads).__name__
        raise TypeError(f"threads must be an integer, got {what}") from None
    if count < 1:
        raise ValueError(f"threads must be at least 1, got {count}")
    return count


def for_each(work: Callable[[_Part], None], parts: Iterable[_Part], threads: int) -> None:
    """Do the work for each part, on so many threads; what one of them raises is raised here."""
    if threads == 1:
        for part in parts:
            work(part)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, parts):
            pass
