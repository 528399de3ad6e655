"""The vector files of FP8 under float32 scales, made once in all tests, and not to collect them."""

from __future__ import annotations

import functools

from mxref.cases.records import VectorFile
from mxref.golden.float_scaled_cases import float_scaled_tasks

__all__ = ["float_scaled"]


@functools.cache
def float_scaled() -> dict[str, VectorFile]:
    """The files by their names."""
    return {file.stem: file for file in (task() for task in float_scaled_tasks())}
