"""Words of calls drawn like tensors, and of the same calls with one special in them.

The words of an operation on numbers or blocks are of four sorts: numbers, codes, scale codes, and
what is the same in a whole call (the scale of a tensor, the width of random bits).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.blocks.arithmetics import numbers
from mxref.cases.records import VectorFile
from mxref.formats.catalog import CodeFormat, block_format, code_format
from mxref.operands.draws import Draws, Ints, Words
from mxref.operands.ordinary import (
    CODES,
    NUMBERS,
    SCALES,
    ordinary_codes,
    ordinary_numbers,
    ordinary_scales,
)

__all__ = [
    "OPERATIONS",
    "Sorts",
    "kinds_of",
    "ordinary_words",
    "sorts_of",
    "special_words",
]

#: Operations of which whole calls are drawn.
OPERATIONS = (
    "encode", "encode_stochastic", "encode_scale", "shared_scale", "decode", "decode_scale",
    "quantize", "dequantize",
)  # fmt: skip
#: The width of random bits.
_WIDTH = 8
#: What the fractions of float32 scales are made of.
_FRACTION = 0x2545F49
#: The greatest binade of numbers that are to lie in the range of a format.
_LARGEST = 4


class Sorts(NamedTuple):
    """Which words of a row are numbers, which are codes, and which are scale codes.

    Args:
        numbers: the columns of numbers.
        codes: those of element codes.
        scales: those of scale codes.
        layout: the float type of numbers.
        element: the format of element codes, or None.
        scale: the format of scale codes if it is not E8M0.
    """

    numbers: slice = slice(0)
    codes: slice = slice(0)
    scales: slice = slice(0)
    layout: FloatLayout = F32
    element: CodeFormat | None = None
    scale: CodeFormat | None = None


def sorts_of(file: VectorFile) -> Sorts:
    """The sorts of the words of a file's operation."""
    op = file.op
    if op == "decode":
        return Sorts(codes=slice(0, 1), element=code_format(file.format))
    if op == "decode_scale":
        return Sorts(scales=slice(0, 1))
    if op not in ("quantize", "dequantize"):
        element = (
            code_format(file.format) if op.startswith("encode") and "scale" not in op else None
        )
        return Sorts(slice(0, 1), layout=LAYOUTS[file.float], element=element)
    block = block_format(file.format)
    before = int(block.tensor_scale)
    if op == "quantize":
        numbers = slice(before, before + block.elements_per_block)
        return Sorts(numbers, layout=LAYOUTS[file.float], element=block.element)
    codes = slice(before + 1, before + 1 + block.elements_per_block)
    scale = None if block.scale.is_power else block.scale
    return Sorts(codes=codes, scales=slice(before, before + 1), element=block.element, scale=scale)


def kinds_of(file: VectorFile) -> Iterator[tuple[str, str]]:
    """The kinds of a file's calls: of numbers or codes, and of scale codes, or empty."""
    sorts = sorts_of(file)
    if sorts.numbers.stop:
        yield from ((kind, "") for kind in NUMBERS)
    elif not sorts.scales.stop:
        yield from ((kind, "") for kind in _code_kinds(sorts.element))
    elif not sorts.codes.stop:
        yield from (("", kind) for kind in SCALES)
    else:
        kinds = _code_kinds(sorts.element)
        yield from ((kind, scale) for scale in SCALES for kind in kinds)


def _code_kinds(element: CodeFormat | None) -> list[str]:
    """The kinds of which a format has several codes."""
    if element is None:
        return []
    values, least = numbers(element), element.min_normal
    return [kind for kind, is_one in CODES.items() if is_one(values, least).sum() > 1]


def ordinary_words(file: VectorFile, kinds: tuple[str, str], rows: int, seed: int) -> Words:
    """The words of a call of one kind, one case a row.

    Args:
        file: its operation, format and float type.
        kinds: one of `kinds_of`.
        rows: the number of cases.
        seed: another seed gives other words.
    """
    kind, scale_kind = kinds
    sorts = sorts_of(file)
    draws = Draws(f"ordinary {seed} {file.op} {file.format} {file.float} {kinds} {rows}")
    parts: list[Words] = []
    if sorts.numbers.start or sorts.scales.start:  # behind the scale of the tensor
        bits = draws.between(100, 150, (1, 1)) << F32.mantissa_bits
        parts.append(np.broadcast_to(bits | draws.below((1, 1), 1 << 23), (rows, 1)).astype("u8"))
    if sorts.scales.stop:
        parts.append(_scales(scale_kind, draws, rows, sorts.scale).astype(np.uint64))
    if sorts.codes.stop and sorts.element is not None:
        width = sorts.codes.stop - sorts.codes.start
        values, least = numbers(sorts.element), sorts.element.min_normal
        codes = ordinary_codes(kind, draws, (rows, width), values, least)
        parts.append(codes.astype(np.uint64))
    if sorts.numbers.stop:
        width, unit = sorts.numbers.stop - sorts.numbers.start, 1.0
        if width == 1 and sorts.element is not None:
            reach = math.frexp(sorts.element.max_normal)[1] - 1
            unit = 2.0 ** min(reach - 2, _LARGEST)
        patterns = ordinary_numbers(kind, draws, (rows, width), sorts.layout, unit)
        if file.op == "shared_scale":
            patterns &= np.uint64(sorts.layout.sign_bit - 1)
        parts.append(patterns)
    if file.row.random_bits:
        parts += [
            draws.below((rows, 1), 1 << _WIDTH).astype("u8"),
            np.full((rows, 1), _WIDTH, "u8"),
        ]
    return np.concatenate(parts, axis=1)


def special_words(file: VectorFile, words: Words, number: int) -> Words:
    """The same call with one special in the row in the middle, by turns of `number`."""
    sorts, found = sorts_of(file), words.copy()
    middle = len(words) // 2
    if sorts.numbers.stop:
        layout = sorts.layout
        sign = 0 if file.op == "shared_scale" else layout.sign_bit
        some = (layout.nan_bits, layout.inf_bits, layout.inf_bits - 1 | sign, 1, sign)
        found[middle, (sorts.numbers.start + sorts.numbers.stop) // 2] = some[number % len(some)]
        return found
    # A scale where calls have scales alone, and in every other call with codes.
    if sorts.scales.stop and (not sorts.codes.stop or number % 2):
        last = 0xFF if sorts.scale is None else sorts.scale.code_count - 1
        other = int(words[middle, sorts.scales.start]) ^ 1
        found[middle, sorts.scales.start] = (last, 0, last - 1, other)[number // 2 % 4]
    elif sorts.element is not None:
        half = sorts.element.code_count // 2
        codes = (sorts.element.code_count - 1, 1, half, half - 1)
        found[middle, (sorts.codes.start + sorts.codes.stop) // 2] = codes[number // 2 % 4]
    return found


def _scales(kind: str, draws: Draws, rows: int, fmt: CodeFormat | None) -> Ints:
    """Scale codes; those of another format than E8M0 by their place among its codes."""
    codes = ordinary_scales(kind, draws, (rows, 1))
    if fmt is not None and fmt.bits > 8:  # of float32: those powers, and numbers between them
        return codes << fmt.mantissa_bits | codes * _FRACTION % (1 << fmt.mantissa_bits)
    return codes if fmt is None else 1 + codes * (fmt.max_code - 1) // 0xFF
