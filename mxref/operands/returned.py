"""Results of a target, checked and turned into words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.formats.catalog import CodeFormat
from mxref.numbers.codes import dtype_of, word_of
from mxref.support.host_arrays import host_array, refuse_masked

__all__ = ["AnswerError", "array_of", "code_array", "code_words", "float_words", "pair_of"]


class AnswerError(TypeError):
    """A result that is no array of the right shape and type."""


def array_of(result: object) -> NDArray[Any]:
    """The result, an array of any library on any device, as a NumPy array."""
    try:
        refuse_masked(result, "the result")
        return host_array(result)
    except TypeError as error:
        raise AnswerError(str(error)) from None


def pair_of(op: str, result: object) -> tuple[Any, Any]:
    """Scale codes and codes, from a pair or from an object that has both."""
    if hasattr(result, "scale_codes") and hasattr(result, "codes"):
        return result.scale_codes, result.codes
    if not isinstance(result, tuple) or len(result) != 2:
        raise AnswerError(f"{op} must return two arrays, got {type(result).__name__}")
    return result


def code_words(result: object, shape: tuple[int, ...], fmt: CodeFormat) -> NDArray[np.uint64]:
    """Codes of a shape as words."""
    return code_array(result, shape, fmt).astype(np.uint64)


def code_array(result: object, shape: tuple[int, ...], fmt: CodeFormat) -> NDArray[Any]:
    """Codes of a shape as integers of their own dtype, not copied."""
    array = array_of(result)
    if isinstance(result, list | tuple) and not array.size and 0 in shape:
        return np.empty(shape, np.uint8)  # an empty list has neither type nor shape
    own = dtype_of(fmt)
    if own is not None and array.dtype == own:
        array = array.view(word_of(fmt))
    if array.dtype.kind not in "iu":
        raise AnswerError(f"codes must come back as integers, got {array.dtype}")
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        raise AnswerError(f"codes must not be negative, got {array.min()}: return them as uint8")
    packed = (*shape[:-1], -(-shape[-1] * fmt.bits // 8))
    is_packed = fmt.bits <= 6 and array.shape == packed
    hint = ": one code to a byte, unpack it first" if is_packed else ""
    return _shaped(array, shape, hint)


def float_words(result: object, shape: tuple[int, ...], layout: FloatLayout) -> NDArray[np.uint64]:
    """Numbers of a shape as words."""
    array = array_of(result)
    if array.dtype != layout.dtype:
        raise AnswerError(f"numbers must come back as {layout.dtype}, got {array.dtype}")
    return _shaped(array, shape).view(layout.uint).astype(np.uint64)


def _shaped(array: NDArray[Any], shape: tuple[int, ...], hint: str = "") -> NDArray[Any]:
    if array.shape != shape:
        raise AnswerError(f"the result must have shape {shape}, got {array.shape}{hint}")
    return array
