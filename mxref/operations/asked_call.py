"""One call of an operation, and the words of its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operands.returned import AnswerError, array_of

__all__ = ["AskedCall", "integers_of", "result_type", "result_words", "words_of"]


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call.

    Args:
        arguments: what the function is given.
        dtype: of the result.
        shape: of the result.
    """

    arguments: tuple[Any, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def words_of(result: NDArray[Any]) -> tuple[int, ...]:
    """The words of an array: patterns of its own width.

    >>> words_of(np.int8([-1, 2])), words_of(np.float32([1]))
    ((255, 2), (1065353216,))
    """
    return tuple(result.reshape(-1).view(f"u{result.dtype.itemsize}").tolist())


def integers_of(words: Sequence[int], dtype: Any) -> NDArray[Any]:
    """Words in two's complement as an array.

    >>> integers_of((0xFFFFFFFF, 1), np.int8)
    array([-1,  1], dtype=int8)
    """
    return np.array(words, np.uint32).view(np.int32).astype(dtype)


def result_type(format: str) -> np.dtype[Any]:
    """The type of the integers out, by the format.

    >>> result_type("int16_axis"), result_type("int32-int8")
    (dtype('int16'), dtype('int8'))
    """
    return np.dtype(format.split("_")[0].split("-")[-1])


def result_words(result: object, call: AskedCall) -> NDArray[Any]:
    """The words of what a function has returned for a call, in an array of their own.

    Raises:
        AnswerError: another shape or dtype.
    """
    array = array_of(result)
    if array.dtype != call.dtype:
        raise AnswerError(f"the result must be {call.dtype}, got {array.dtype}")
    if array.shape != call.shape:
        raise AnswerError(f"the result must have shape {call.shape}, got {array.shape}")
    flat = np.array(array, order="C").reshape(-1)
    return flat.view(f"u{flat.dtype.itemsize}")
