"""Cases of `quantize_tensor` as the blocks that they are made of."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from mxref.operands.word_rows import NO_WORD, padded, stripped
from mxref.policy.choices import Tail
from mxref.policy.policy import Policy

__all__ = ["blocks_of", "scale_counts", "scale_places", "tensors_of"]

Words = NDArray[np.uint64]


def blocks_of(inputs: Words) -> Words:
    """The blocks of 32 of tensors, line by line along their axes, tails filled up with +0.

    >>> blocks_of(np.uint64([[1, 3, 1, 7, 8, 9]]))[0, :4].tolist()
    [7, 8, 9, 0]
    """
    return np.concatenate([_cut(stripped(row)) for row in inputs])


def tensors_of(inputs: Words, blocks: Words, policy: Policy) -> Words:
    """Answers about tensors from those about their blocks: scale codes and codes, in C order.

    Args:
        inputs: the cases.
        blocks: a scale code and 32 codes for each of `blocks_of` them.
        policy: says what is stored of a tail.

    Raises:
        ValueError: a policy that refuses tails.
    """
    if policy.layout.tail is Tail.REFUSED:
        raise ValueError("tail must be zero_padded or short, got refused")
    cases = [stripped(row)[:3] for row in inputs]
    pieces = np.split(blocks, np.cumsum(scale_counts(inputs))[:-1])
    return padded([_joined(*pair, policy) for pair in zip(cases, pieces, strict=True)])


def scale_counts(inputs: Words) -> NDArray[np.int64]:
    """The number of scales of each tensor; its answer begins with them.

    >>> scale_counts(np.uint64([[2, 33, 1], [2, 33, 0]])).tolist()
    [4, 33]
    """
    lines = (_lines(tuple(row[:3].tolist())) for row in inputs)
    return np.array([count * -(-length // 32) for count, length in lines], np.int64)


def scale_places(inputs: Words, answers: Words) -> NDArray[np.int64]:
    """For each word of answers that is an element the place of its scale; -1 for all others.

    Answers of another size than tails of either kind have are without elements.

    >>> scale_places(np.uint64([[2, 1, 0, 7, 8]]), np.uint64([[5, 1, 2]])).tolist()
    [[-1, 0, 0]]
    """
    counts = (answers != np.uint64(NO_WORD)).sum(axis=1).tolist()
    found = np.full(answers.shape, -1)
    for row, words, count in zip(found, inputs[:, :3].tolist(), counts, strict=True):
        row[:count] = _scale_places(tuple(words), count)
    return found


@functools.lru_cache(256)
def _scale_places(words: tuple[int, ...], count: int) -> NDArray[np.int64]:
    lines, length = _lines(words)
    scales = lines * -(-length // 32)
    places = np.full(count, -1)
    if count - scales in (lines * length, 32 * scales):
        side = np.arange(scales).reshape((lines, -1) if words[2] == 1 else (-1, lines))
        stored = (count - scales) // lines
        each = np.repeat(side, 32, axis=words[2])
        cut = each[:, :stored] if words[2] == 1 else each[:stored]
        places[scales:] = cut.reshape(-1)
    return places


def _lines(words: tuple[int, ...]) -> tuple[int, int]:
    """The number of lines that a tensor has along its axis, and their length."""
    rows, columns, axis = words
    return (rows, columns) if axis == 1 else (columns, rows)


def _cut(words: tuple[int, ...]) -> Words:
    rows, columns, axis, *values = words
    matrix = np.array(values, np.uint64).reshape(rows, columns)
    lines = matrix if axis == 1 else matrix.T
    return np.pad(lines, ((0, 0), (0, -lines.shape[1] % 32))).reshape(-1, 32)


def _joined(words: tuple[int, ...], blocks: Words, policy: Policy) -> Words:
    count, length = _lines(words)
    scales = blocks[:, 0].reshape(count, -1)
    codes = blocks[:, 1:].reshape(count, -1)
    if policy.layout.tail is Tail.SHORT:
        codes = codes[:, :length]
    sides = (scales, codes) if words[2] == 1 else (scales.T, codes.T)
    return np.concatenate([side.reshape(-1) for side in sides])
