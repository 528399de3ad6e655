"""A wrong answer to one case, from which operations make the sentence that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["WrongAnswer"]


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """An answer that is not the right one.

    Args:
        format: the format.
        slot: the float type, or the layout of bytes.
        words: the case.
        want: the right answer.
        got: the answer.
        differs: whether each word of the longer answer is wrong.
        policy: the first policy of the file with this right answer; None if there is none.
        default: the first policy of the file.
    """

    format: str
    slot: str
    words: Sequence[int]
    want: tuple[int, ...]
    got: tuple[int, ...]
    differs: NDArray[np.bool_]
    policy: str | None
    default: str = "ocp"

    @property
    def first(self) -> int:
        """The number of the first wrong word."""
        return int(np.argmax(self.differs))
