"""Calls of a target's layout operations, one for each case; any number of words comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.formats.catalog import E8M0, CodeFormat, block_format, element_format
from mxref.operations.word_rows import padded, stripped
from mxref.targets.returned import AnswerError, array_of, code_words, pair_of

__all__ = ["call_layout", "layout_words", "strided"]

Function = Callable[..., Any]
#: The format that bytes and scale codes of any format are checked against.
_BYTE = CodeFormat("bytes", 8, 0, 0, signed=False)


def call_layout(
    function: Function, file: VectorFile, inputs: NDArray[np.uint64], first: int = 0
) -> NDArray[np.uint64]:
    """Words in, words out; `first` is the number of the first case in the file."""
    rows = [_call(function, file, stripped(row), first + i) for i, row in enumerate(inputs)]
    return padded(rows)


def _call(
    function: Function, file: VectorFile, words: Sequence[int], index: int
) -> NDArray[np.uint64]:
    name = file.format
    shape: tuple[int, ...] = (1,)
    match file.op:
        case "pack":
            result = function(_bytes(words), name)
        case "unpack":
            result = function(_bytes(words[1:]), name, words[0])
        case "pack_scales":
            result = function(_bytes(words[2:]).reshape(words[:2]))
        case "unpack_scales":
            shape = words[0], words[1]
            result = function(_bytes(words[2:]), shape)
        case "pack_blocks":
            result = function(_bytes(words[:1]), _bytes(words[1:])[np.newaxis], name)
        case "unpack_blocks":
            result = function(_bytes(words)[np.newaxis], name)
        case _:
            result = function(_tensor(words, file, index), name, words[2])
    return layout_words(file, result, shape)


def layout_words(file: VectorFile, result: object, shape: tuple[int, ...]) -> NDArray[np.uint64]:
    """The result of an operation on layouts as words; its shape is checked as far as it is known.

    Args:
        file: operation and format.
        result: what the target returned.
        shape: shape of the scales for `unpack_scales`, number of blocks for `pack_blocks` and
            `unpack_blocks`; other operations do not read it.

    Raises:
        AnswerError: a result of another shape or type.
    """
    match file.op:
        case "pack" | "pack_scales":
            return _flat(result, _BYTE)
        case "unpack":
            return _flat(result, element_format(file.format))
        case "unpack_scales":
            return code_words(result, shape, E8M0).reshape(-1)
        case "pack_blocks":
            array = array_of(result)
            if array.ndim != 2 or array.shape[:1] != shape:
                raise AnswerError(
                    f"the result must have shape ({shape[0]}, bytes), got {array.shape}"
                )
            return _flat(array.reshape(-1), _BYTE)
    element = block_format(file.format).element
    scales, codes = pair_of(file.op, result)
    if file.op == "unpack_blocks":
        parts = (code_words(scales, shape, E8M0), code_words(codes, (*shape, 32), element))
        return np.concatenate([parts[0], parts[1].reshape(-1)])
    return np.concatenate([_ravelled(scales, E8M0), _ravelled(codes, element)])


def _bytes(words: Sequence[int]) -> NDArray[np.uint8]:
    return np.array(words, np.uint8)


def _flat(result: object, fmt: CodeFormat) -> NDArray[np.uint64]:
    array = array_of(result)
    if array.ndim != 1:
        raise AnswerError(f"the result must have one axis, got shape {array.shape}")
    return code_words(array, array.shape, fmt)


def _ravelled(result: object, fmt: CodeFormat) -> NDArray[np.uint64]:
    """Codes of a tensor in C order, whatever its shape; only their order is compared."""
    array = array_of(result)
    return code_words(array, array.shape, fmt).reshape(-1)


def _tensor(words: Sequence[int], file: VectorFile, index: int) -> NDArray[Any]:
    layout = LAYOUTS[file.float]
    values = np.array(words[3:], layout.uint).reshape(words[:2])
    if index < len(file.cases) and "strided" in file.cases[index].flags:
        values = strided(values, index // 2, layout.nan_bits)
    return values.view(layout.dtype)


def strided(values: NDArray[Any], kind: int, filler: int) -> NDArray[Any]:
    """The same array with other strides: every other element, columns first, or backwards.

    >>> array = np.arange(6).reshape(2, 3)
    >>> [(s.strides, bool((s == array).all())) for s in (strided(array, k, 9) for k in range(3))]
    [((56, 16), True), ((8, 16), True), ((-24, -8), True)]
    """
    if kind % 3 == 1:
        return values.T.copy().T
    if kind % 3 == 2:
        backwards = (slice(None, None, -1),) * values.ndim
        return values[backwards].copy()[backwards]
    larger = [*(n + 2 for n in values.shape[:-1]), 2 * values.shape[-1] + 1]
    every_other = (*[slice(1, -1)] * (values.ndim - 1), slice(1, None, 2))
    found = np.full(larger, filler, values.dtype)[every_other]
    found[...] = values
    return found
