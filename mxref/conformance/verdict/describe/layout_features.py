"""Features of operations on layouts: of the words of an answer, and of tensors cut into blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64
from mxref.blocks.shapes import result_shapes
from mxref.cases.layout_answers import fast_layout
from mxref.cases.records import VectorFile, padded
from mxref.conformance.verdict.describe.block_features import spread
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.number_features import known
from mxref.policy.policy import Policy

__all__ = ["case_table", "tensor_blocks", "word_table"]

Words = Sequence[int]


def case_table(op: str, words: Words) -> Table:
    """What is to be said of a whole case: its shape."""
    table: dict[str, int] = {}
    if op in ("pack", "unpack"):
        length = len(words) if op == "pack" else words[0]
        table = {"length": length, "length parity": length & 1, "length of four": length & 3}
    elif op in ("pack_scales", "unpack_scales"):
        table = {"rows": words[0], "columns": words[1]}
    elif op == "quantize_tensor":
        table = {"rows": words[0], "columns": words[1], "axis": words[2]}
    elif op == "pack_blocks":
        table = {"scale code": words[0]}
    return {name: np.array([value], np.int64) for name, value in table.items()}


def word_table(file: VectorFile, words: Words, want: NDArray[np.uint64], policy: Policy) -> Table:
    """Features of each word of the answer to a case."""
    count = len(want)
    index = np.arange(count)
    table = {
        "word": index,
        "word from the end": index[::-1],
        "word parity": index & 1,
        "word of three": index % 3,
        "word of four": index & 3,
        "wanted word": want.astype(np.int64),
        **{name: np.repeat(value, count) for name, value in case_table(file.op, words).items()},
    }
    if file.op in ("pack_scales", "unpack_scales"):
        source = _sources(file, words, policy) if file.op == "pack_scales" else index
        table["content"] = (source >= 0).astype(np.int64)
        table["row"] = known(source // words[1], source >= 0)
        table["column"] = known(source % words[1], source >= 0)
    return table


def _sources(file: VectorFile, words: Words, policy: Policy) -> I64:
    """Which scale code each byte holds; -1 for filler."""
    rows, columns = words[:2]
    numbers = np.arange(1, rows * columns + 1)
    low, high = (
        fast_layout(file.op, file.format, file.float, padded([[rows, columns, *part]]), policy)[0]
        for part in ((numbers & 0xFF).tolist(), (numbers >> 8).tolist())
    )
    sources: I64 = (low + (high << np.uint64(8))).astype(np.int64) - 1
    return sources


def tensor_blocks(
    file: VectorFile, words: Words, policy: Policy
) -> tuple[NDArray[np.uint64], I64, I64, Table, Table]:
    """A tensor cut into blocks of 32 along its axis, each line filled up with zeros.

    Returns:
        The blocks' values, the number of the word of each block's scale and of each of their
        elements in the answer, -1 where there is none, and features of blocks and of elements.
    """
    rows, columns, axis, *values = words
    shapes = result_shapes((rows, columns), file.format, policy, axis=axis)
    scale_count = int(np.prod(shapes.scale_codes))
    tensor = np.array(values, np.uint64).reshape(rows, columns)
    scale_words = np.arange(scale_count).reshape(shapes.scale_codes)
    code_words = scale_count + np.arange(int(np.prod(shapes.codes))).reshape(shapes.codes)
    if axis == 0:
        tensor, scale_words, code_words = tensor.T, scale_words.T, code_words.T
    lines, length = tensor.shape
    blocks = scale_words.shape[1]
    filled = np.zeros((lines, 32 * blocks), np.uint64)
    filled[:, :length] = tensor
    places = np.full(filled.shape, -1)
    places[:, : code_words.shape[1]] = code_words
    line, number = (one.reshape(-1) for one in np.indices((lines, blocks)))
    last = blocks - 1
    kind = np.select((number == 0, number == last), (0, 2), 1) if last else np.full(lines, 3)
    inside = np.minimum(length - 32 * number, 32)
    table = {
        "block number": number,
        "block place": kind,
        "block length": inside,
        ("column" if axis == 0 else "row"): line,
        **{name: np.repeat(v, lines * blocks) for name, v in case_table(file.op, words).items()},
    }
    shape = (lines * blocks, 32)
    elements = spread(table, shape)
    elements["inside"] = (np.arange(32) < inside[:, np.newaxis]).astype(np.int64)
    elements["row" if axis == 0 else "column"] = 32 * elements["block number"] + np.arange(32)
    for name, count in (("row", rows), ("column", columns)):
        elements[f"{name}s behind"] = known(count - 1 - elements[name], elements["inside"])
    return filled.reshape(shape), scale_words.reshape(-1), places.reshape(shape), table, elements
