"""Which sizes the axes of a call have: by these it is filled up to multiples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["FilledAxes"]


class FilledAxes(NamedTuple):
    """Which size each axis of the arguments and of the results has.

    K is the bytes of k codes of four bits, z those of the zero points of g blocks of b bytes, B the
    blocks of k elements; = stands before parameters, # before a size itself.

    Args:
        arguments: those of the first arguments; none of others.
        results: those of the results.
        zeros: of an argument, which other one it is filled up with, or a number.
    """

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    zeros: Mapping[int, int | float] = {}
