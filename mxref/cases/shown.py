"""The words of a case as they are shown: with the values that they stand for."""

from __future__ import annotations

from mxref.cases.records import VectorFile
from mxref.operations.operation import shown_by
from mxref.operations.registry import REGISTRY

__all__ = ["show_input", "show_output"]


def show_input(file: VectorFile, word: int) -> str:
    """An input word with its value, for operations with one input word."""
    return shown_by(REGISTRY[file.op].kinds_in(file.format, file.float, (word,))[0], word)


def show_output(file: VectorFile, word: int, index: int = 0, count: int = 1) -> str:
    """A word of an answer of `count` words with its value."""
    return shown_by(REGISTRY[file.op].kinds_out(file.format, file.float, (), count)[index], word)
