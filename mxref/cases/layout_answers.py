"""Answers about layouts of codes, scales and blocks, by the slow twin and by the fast path.

Words of a case: `pack` codes to bytes, `unpack` the count and bytes to codes; `pack_scales` rows,
columns and codes to bytes, `unpack_scales` rows, columns and bytes to codes; `pack_blocks` a scale
code and codes to bytes, `unpack_blocks` back; `quantize_tensor` rows, columns, axis and values to
the scale codes and then the codes of the tensor, both in C order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref import exact
from mxref.bits.floats import LAYOUTS, U8
from mxref.blocks.quantization import quantize
from mxref.blocks.shapes import result_shapes
from mxref.cases.records import padded, stripped
from mxref.formats.catalog import block_format, element_format
from mxref.packing.elements import pack, pack_blocks, packed_size, unpack, unpack_blocks
from mxref.packing.scale_orders import SCALE_ORDERS
from mxref.packing.scales import pack_scales, unpack_scales
from mxref.policy.choices import FP4Packing, FP6Packing, ScaleLayout, Tail
from mxref.policy.policy import Policy

__all__ = ["SLOTS", "exact_layout", "fast_layout", "packing_of", "sizes"]

#: In a file's name in place of a float type: `bytes` where its columns are layouts, or the one
#: layout of its inputs.
SLOTS = (
    "bytes",
    *dict.fromkeys(m.value for choice in (FP4Packing, FP6Packing, ScaleLayout) for m in choice),
)

Words = Sequence[int]


def packing_of(bits: int, policy: Policy) -> str:
    """The name of a policy's packing of elements of `bits` bits.

    >>> packing_of(6, Policy()), packing_of(8, Policy())
    ('lsb_first', 'byte_each')
    """
    return policy.choices().get(f"fp{bits}_packing", "byte_each")


def exact_layout(
    op: str,
    format: str,
    words: Words,
    policy: Policy,
    quantized: Callable[[Words], tuple[int, list[int]]],
) -> tuple[int, ...]:
    """The answer to one case, by the slow twin; `quantized` is its answer to one block."""
    layout = policy.layout
    match op:
        case "pack":
            bits = element_format(format).bits
            return tuple(exact.pack(words, bits, packing_of(bits, policy)))
        case "unpack":
            bits = element_format(format).bits
            return tuple(exact.unpack(words[1:], bits, packing_of(bits, policy), words[0]))
        case "pack_scales":
            _, columns, *codes = words
            matrix = [codes[start : start + columns] for start in range(0, len(codes), columns)]
            return tuple(exact.pack_scales(matrix, layout.scale_layout.value))
        case "unpack_scales":
            found = exact.unpack_scales(words[2:], (words[0], words[1]), layout.scale_layout.value)
            return tuple(code for row in found for code in row)
        case "quantize_tensor":
            return _exact_tensor(words, quantized, short=layout.tail is Tail.SHORT)
    bits = block_format(format).element.bits
    how = (bits, packing_of(bits, policy), layout.scale_place.value, layout.scale_byte.value)
    if op == "pack_blocks":
        return tuple(exact.pack_block(words[0], words[1:], *how))
    scale, unpacked = exact.unpack_block(words, 32, *how)
    return (scale, *unpacked)


def _exact_tensor(
    words: Words, quantized: Callable[[Words], tuple[int, list[int]]], *, short: bool
) -> tuple[int, ...]:
    """Every line of the tensor along the axis, in blocks of 32 padded with +0."""
    _, columns, axis, *values = words
    matrix = [values[start : start + columns] for start in range(0, len(values), columns)]
    lines = matrix if axis == 1 else [list(line) for line in zip(*matrix, strict=True)]
    scales: list[list[int]] = []
    codes: list[list[int]] = []
    for line in lines:
        blocks = [
            quantized([*line[start : start + 32], *[0] * (start + 32 - len(line))])
            for start in range(0, len(line), 32)
        ]
        scales.append([scale for scale, _ in blocks])
        whole = [code for _, block in blocks for code in block]
        codes.append(whole[: len(line)] if short else whole)
    if axis == 0:
        scales, codes = ([list(row) for row in zip(*side, strict=True)] for side in (scales, codes))
    return tuple(word for side in (scales, codes) for row in side for word in row)


def fast_layout(
    op: str, format: str, float: str, words: NDArray[Any], policy: Policy
) -> NDArray[np.uint64]:
    """The answers to cases, one a row, by the fast path; no words where a policy has no answer."""
    return padded([_fast_answer(op, format, float, stripped(row), policy) for row in words])


def _fast_answer(op: str, format: str, float: str, words: Words, policy: Policy) -> U8:
    try:
        return _fast(op, format, float, words, policy)
    except ValueError:  # bytes of another packing, or scale_place=separate
        return np.zeros(0, np.uint8)


def _fast(op: str, format: str, float: str, words: Words, policy: Policy) -> U8:
    match op:
        case "pack":
            return pack(words, format, policy)
        case "unpack":
            return unpack(words[1:], format, words[0], policy)
        case "pack_scales":
            return pack_scales(np.array(words[2:], np.uint8).reshape(words[:2]), policy)
        case "unpack_scales":
            return unpack_scales(words[2:], words[:2], policy).reshape(-1)
        case "pack_blocks":
            return pack_blocks(words[:1], words[1:], format, policy).reshape(-1)
        case "unpack_blocks":
            return np.concatenate(unpack_blocks([words], format, policy))
    layout = LAYOUTS[float]
    values = np.array(words[3:], layout.uint).view(layout.dtype).reshape(words[:2])
    blocks = quantize(values, format, policy, axis=words[2])
    return np.concatenate([blocks.scale_codes.reshape(-1), blocks.codes.reshape(-1)])


#: Number of words in and out of a case, by the words in, the format and the policy.
_SIZES: Mapping[str, Callable[[Words, str, Policy], tuple[int, int]]] = {
    "pack": lambda w, name, p: (len(w), packed_size(len(w), name, p)),
    "unpack": lambda w, name, p: (1 + packed_size(w[0], name, p), w[0]),
    "pack_scales": lambda w, name, p: (2 + w[0] * w[1], _matrix_size(w, p)),
    "unpack_scales": lambda w, name, p: (2 + _matrix_size(w, p), w[0] * w[1]),
    "pack_blocks": lambda w, name, p: (33, _block_size(name, p)),
    "unpack_blocks": lambda w, name, p: (_block_size(name, p), 33),
    "quantize_tensor": lambda w, name, p: (3 + w[0] * w[1], _tensor_size(w, name, p)),
}


def sizes(op: str, format: str, words: Words, policy: Policy) -> tuple[int, int]:
    """The numbers of words in and out of a case, by its first words and a policy.

    >>> sizes("unpack", "e2m1", (5, 0, 0, 0), Policy()), sizes("pack", "e2m1", (1, 2), Policy())
    ((4, 5), (2, 1))

    Raises:
        ValueError: no case of this format and policy begins with these words.
    """
    if len(words) < _FIRST.get(op, 1):
        raise ValueError(f"{op} must have more words in than {len(words)}")
    return _SIZES[op](words, format, policy)


#: Operations whose sizes take several words, and how many.
_FIRST = {"pack_scales": 2, "unpack_scales": 2, "quantize_tensor": 3}


def _matrix_size(words: Words, policy: Policy) -> int:
    return SCALE_ORDERS[policy.layout.scale_layout].size(*words[:2])


def _block_size(name: str, policy: Policy) -> int:
    return 1 + packed_size(32, block_format(name).element, policy)


def _tensor_size(words: Words, name: str, policy: Policy) -> int:
    shapes = result_shapes(words[:2], name, policy, axis=words[2])
    codes, scales = (np.prod(shape, dtype=int) for shape in (shapes.codes, shapes.scale_codes))
    return int(codes + scales)
