"""Questions beside the vectors as lines: those of the search, ordinary data, further sizes.

Programs answer by the line, so that a case is a number, a block, a tensor or a call. The questions
of seed 0 are those of `mxref prompts` and of recorded answers, the same on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.cases.drawn import drawn
from mxref.cases.records import VectorFile
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.operands.draws import Draws, Words
from mxref.operands.ordinary import NUMBERS, ordinary_numbers
from mxref.operands.splitmix import splitmix64
from mxref.operands.word_rows import padded

__all__ = ["beside"]

#: Questions of the search; ordinary numbers, and ordinary blocks, of each kind.
_SEARCH, _NUMBERS, _BLOCKS = 256, 256, 16
#: Rows and columns of tensors: aligned ones, tails, and larger ones than in the vectors.
_TENSORS = ((1, 32), (32, 1), (2, 64), (64, 64), (33, 96), (3, 100), (128, 32), (31, 33), (7, 257))


def beside(files: Iterable[VectorFile], seed: int = 0) -> dict[str, Words]:
    """The questions beside the cases of vector files, one a row, by the files' stems.

    Args:
        files: the vector files; those without cases have no questions.
        seed: another seed gives other questions.

    >>> from mxref.targets.calls import without_cases
    >>> beside([without_cases("decode", "e4m3", "f32")])
    {}
    """
    found = {}
    for file in files:
        some = [*_searched(file, seed), *_ordinary(file, seed)] if file.cases else []
        if some:
            found[file.stem] = padded(some)
    return found


def _searched(file: VectorFile, seed: int) -> Words:
    """Some questions of the search: near ties, in every lane, calls of integers, layers."""
    words = drawn(file.op, file.format, file.float, _SEARCH, seed)
    if len(words) > _SEARCH:  # every pattern
        words = words[splitmix64(seed, _SEARCH) % len(words)]
    return words


def _ordinary(file: VectorFile, seed: int) -> Iterator[Words]:
    """Ordinary numbers of every kind, alone, in blocks, and in tensors of many sizes."""
    layout = LAYOUTS.get(file.float)
    if layout is None:
        return
    name = f"ordinary {seed} {file.op} {file.format} {file.float}"
    for number, kind in enumerate(NUMBERS):
        draws = Draws(f"{name} {kind}")
        if file.op in ("encode", "encode_scale"):
            yield from ordinary_numbers(kind, draws, (_NUMBERS, 1), layout)
        elif file.op == "shared_scale":
            unsigned = np.uint64(layout.sign_bit - 1)
            yield from ordinary_numbers(kind, draws, (_NUMBERS, 1), layout) & unsigned
        elif file.op == "quantize" and file.format in BLOCK_FORMATS:
            yield from ordinary_numbers(kind, draws, (_BLOCKS, 32), layout)
        elif file.op == "quantize_tensor":
            rows, columns = _TENSORS[number % len(_TENSORS)]
            for axis in (0, 1):
                values = ordinary_numbers(kind, draws, (rows, columns), layout)
                sizes = np.array([rows, columns, axis], np.uint64)
                yield np.concatenate([sizes, values.reshape(-1)])
