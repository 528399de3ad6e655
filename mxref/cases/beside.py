"""Questions beside the vectors as lines: those of the search, ordinary data, further sizes.

Programs answer by the line, so that a case is a number, a block, a tensor or a call. The questions
of seed 0 are those of `mxref prompts` and of recorded answers, the same on every machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.blocks.arithmetics import numbers
from mxref.cases.drawn import drawn
from mxref.cases.drawn_layers import SHAPES, layer_words
from mxref.cases.ordinary import OPERATIONS, kinds_of, ordinary_words
from mxref.cases.records import VectorFile
from mxref.formats.catalog import E8M0, ScaleFormat
from mxref.operands.draws import Draws, Ints, Words
from mxref.operands.ordinary import (
    CODES,
    NUMBERS,
    SCALES,
    ordinary_codes,
    ordinary_numbers,
    ordinary_scales,
)
from mxref.operands.splitmix import splitmix64
from mxref.operands.word_rows import padded
from mxref.operations.product_words import pair_formats
from mxref.operations.registry import LAYER_OPERATIONS

__all__ = ["beside"]

#: Questions of the search; ordinary numbers, and ordinary blocks and codes, of each kind.
_SEARCH, _NUMBERS, _BLOCKS = 256, 256, 16
#: Blocks of dot products.
_DOT = (1, 2, 4)
#: Scales of tensors of dot products: 1, 1/2688, and 3.
_FACTORS = (0x3F800000, 0x39C30C31, 0x40400000)
#: Rows and columns of tensors: aligned ones, tails, and larger ones than in the vectors.
_TENSORS = ((1, 32), (32, 1), (2, 64), (64, 64), (33, 96), (3, 100), (128, 32), (31, 33), (7, 257))


def beside(files: Iterable[VectorFile], seed: int = 0) -> dict[str, Words]:
    """The questions beside the cases of vector files, one a row, by the files' stems.

    Args:
        files: the vector files; those without cases have no questions.
        seed: another seed gives other questions.

    >>> from mxref.targets.calls import without_cases
    >>> beside([without_cases("decode", "e4m3", "f32")])  # a file without cases
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
    """Ordinary numbers and codes of every kind: alone, in blocks, tensors, layers and products."""
    if file.op in OPERATIONS:
        rows = _NUMBERS if file.op in ("encode", "encode_scale", "shared_scale") else _BLOCKS
        for kinds in kinds_of(file):
            yield from ordinary_words(file, kinds, rows, seed)
    elif file.op == "quantize_tensor":
        yield from _tensors(file, seed)
    elif file.op in LAYER_OPERATIONS:
        yield from _layers(file, seed)
    elif file.op == "matmul":
        yield from _products(file, seed)


def _draws(file: VectorFile, seed: int, *kind: object) -> Draws:
    return Draws(f"ordinary {seed} {file.op} {file.format} {file.float} {kind}")


def _tensors(file: VectorFile, seed: int) -> Iterator[Words]:
    for number, kind in enumerate(NUMBERS):
        draws, (rows, columns) = _draws(file, seed, kind), _TENSORS[number % len(_TENSORS)]
        for axis in (0, 1):
            values = ordinary_numbers(kind, draws, (rows, columns), LAYOUTS[file.float])
            sizes = np.array([rows, columns, axis], np.uint64)
            yield np.concatenate([sizes, values.reshape(-1)])


def _layers(file: VectorFile, seed: int) -> Iterator[Words]:
    """Layers of the search whose x has one sign, or is what ReLU leaves, or one number."""
    layout = LAYOUTS[file.float]
    sign, first = np.uint64(layout.sign_bit), 5 if file.op == "linear" else 4  # behind the sizes
    for number, shape in enumerate(SHAPES):
        drawn = layer_words(file.op, file.format, file.float, shape, (seed + 2 << 20) + number)
        words = np.array(drawn, np.uint64)
        x = slice(first, first + math.prod(shape[:3]))
        given = words[x]
        for values in (
            given & ~sign,
            given | sign,
            np.where(given & sign, np.uint64(0), given),
            np.broadcast_to(given.max(), given.shape),
        ):
            words[x] = values
            yield words.copy()


def _products(file: VectorFile, seed: int) -> Iterator[Words]:
    """Dot products of every kind of codes and of scales, both operands of one kind."""
    for scale_kind, (number, kind) in itertools.product(SCALES, enumerate(CODES)):
        draws, sides = _draws(file, seed, kind, scale_kind), []
        for fmt in pair_formats(file.format):
            values, least = numbers(fmt.element), fmt.element.min_normal
            powers = ordinary_scales(scale_kind, draws, (_DOT[number % len(_DOT)],))
            scales = powers if fmt.scale == E8M0 else _near(powers, fmt.scale)
            codes = ordinary_codes(
                kind, draws, (scales.size, fmt.elements_per_block), values, least
            )
            tensor = [_FACTORS[number % len(_FACTORS)]] if fmt.tensor_scale else []
            sides.append(np.concatenate([np.array(tensor, np.int64), scales, codes.reshape(-1)]))
        yield np.concatenate(sides).astype(np.uint64)


def _near(codes: Ints, scale: ScaleFormat) -> Ints:
    """Scale codes of E8M0 as those of the same or the nearest powers of two of another format."""
    exponents = np.clip(codes - E8M0.bias + scale.bias, 1, (1 << scale.exponent_bits) - 1)
    found: Ints = exponents << scale.mantissa_bits
    return found
