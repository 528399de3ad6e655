"""The values of features: tables of numbers, codes, products, blocks, tensors and layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, FloatLayout, Parts, compose, floor_log2, round_to_code, split
from mxref.blocks.shapes import result_shapes
from mxref.cases.layout_answers import fast_layout
from mxref.cases.records import VectorFile, padded
from mxref.conformance.verdict.describe.features import UNKNOWN, Table, real_keys
from mxref.formats.catalog import E8M0, BlockFormat, CodeFormat
from mxref.numbers.codes import every_code
from mxref.policy.policy import Policy

__all__ = [
    "block_tables",
    "case_table",
    "code_table",
    "encoding_table",
    "magnitudes",
    "number_table",
]
__all__ += ["parts_at", "place_table", "product_table", "spread", "tensor_blocks", "word_table"]

#: Increments that never round up, the key of one half, and the class of a NaN code.
_DOWN, _HALF, _NAN = np.zeros(16, np.int64), -1 << 52, 6


def known(values: Any, where: Any) -> I64:
    """Values, and UNKNOWN elsewhere."""
    return np.where(where, np.asarray(values, np.int64), np.int64(UNKNOWN))


def spread(table: Table, shape: tuple[int, ...]) -> Table:
    """Features of blocks as features of their elements, in rows."""
    return {name: np.broadcast_to(v[:, np.newaxis], shape) for name, v in table.items()}


def parts_at(fmt: CodeFormat, codes: I64) -> Parts:
    """The parts of codes of a format."""
    parts = every_code(fmt)
    return Parts(*(getattr(parts, field.name)[codes] for field in fields(Parts)))


def magnitudes(fmt: CodeFormat) -> I64:
    """The code without sign of every code of a format."""
    return np.array([fmt.sign_and_magnitude(c)[1] for c in range(fmt.code_count)], np.int64)


def number_table(bits: NDArray[Any], layout: FloatLayout) -> Table:
    """Features of float patterns of any shape."""
    parts = split(bits, layout)
    n = parts.significand
    keys = real_keys(n, parts.exponent, parts.is_inf)
    number = ~(parts.is_inf | parts.is_nan) & (n != 0)
    kinds = (parts.is_nan, parts.is_inf, n == 0, parts.is_subnormal)
    return {
        "sign": parts.negative.astype(np.int64),
        "input": np.select(kinds, (4, 3, 0, 1), 2),
        "magnitude": known(keys, ~parts.is_nan),
        "significand": known(keys & ((1 << 52) - 1), number),  # the key's with exponent 0
        "significant bits": known(floor_log2(n) - floor_log2(n & -n) + 1, number),
        "exponent parity": known(keys >> 52 & 1, number),
    }


def encoding_table(
    bits: NDArray[Any], layout: FloatLayout, fmt: CodeFormat, want: I64, shift: Any = 0
) -> Table:
    """Features of numbers that are divided by 2**shift and become the wanted codes of a format."""
    magnitude, one = bits & bits.dtype.type(layout.sign_bit - 1), bits.dtype.type(1)
    finite = magnitude < layout.inf_bits
    near = (magnitude, magnitude + one, np.maximum(magnitude, one) - one)
    parts = [split(beside, layout) for beside in near]
    scaled = [replace(part, exponent=part.exponent - shift) for part in parts]
    (floor, rest, remainder), above, below = (_placed(part, fmt) for part in scaled)
    code, more = magnitudes(fmt)[want] - floor, remainder > 0
    kinds = (floor + more > fmt.max_code, (code == 0) & ~more, code == 0, (code == 1) & more)
    return {
        "remainder": known(remainder, finite),
        "part of a step": known(rest, finite),
        "neighbour": known(np.select((above[2] == 2, below[2] == 2), (1, 2), 0), finite),
        "rounding": known(np.select(kinds, (3, 0, 1, 2), 3), finite),
        **wanted_table(want, fmt),
    }


def _placed(parts: Parts, fmt: CodeFormat | FloatLayout) -> tuple[I64, I64, I64]:
    """The magnitude code below numbers, of any size, what remains as a key, and its class."""
    n, exponent, m = parts.significand, parts.exponent, fmt.mantissa_bits
    first = 0 if getattr(fmt, "subnormals", True) else 1 << m
    floor = round_to_code(n, exponent, parts.negative, m, fmt.emin, _DOWN, first)
    unit = np.maximum(floor_log2(n) + exponent, fmt.emin) - m
    if getattr(fmt, "twos_complement", False):  # all steps between integers are the same
        unit = np.full_like(unit, fmt.emin - m)
    drop = np.maximum(unit - exponent, 0)
    rest = np.where(drop > 53, n, n & ((np.int64(1) << np.minimum(drop, 53)) - 1))
    keys = real_keys(rest, -drop)
    return floor, keys, np.select((rest == 0, keys < _HALF, keys == _HALF), (0, 1, 2), 3)


def code_table(codes: I64, fmt: CodeFormat) -> Table:
    """Features of codes of any shape."""
    parts, magnitude = parts_at(fmt, codes), magnitudes(fmt)[codes]
    negative = np.array([fmt.sign_and_magnitude(c)[0] for c in range(fmt.code_count)])[codes]
    zero, largest = parts.significand == 0, magnitude == fmt.max_code
    kinds = (parts.is_nan, parts.is_inf, zero & negative, zero, largest, parts.is_subnormal)
    return {
        "code": codes,
        "code sign": negative.astype(np.int64),
        "code class": np.select(kinds, (_NAN, 5, 1, 0, 4, 2), 3),
        "magnitude code": magnitude,
        "code parity": magnitude & 1,
        "exponent field": magnitude >> fmt.mantissa_bits,
        "fraction field": magnitude & ((1 << fmt.mantissa_bits) - 1),
    }


def wanted_table(want: I64, fmt: CodeFormat) -> Table:
    """Features of wanted codes; which NaN it is makes no difference."""
    found = code_table(want, fmt)
    number = found["code class"] != _NAN
    return {
        "wanted": found["code class"],
        "wanted code": known(found["magnitude code"], number),
        "wanted parity": known(found["code parity"], number),
    }


def product_table(factors: Sequence[Parts], layout: FloatLayout) -> Table:
    """Features of the magnitude of an exact product of numbers, and of it as a float."""
    shape = np.broadcast_shapes(*(factor.significand.shape for factor in factors))
    no, n, exponent = np.zeros(shape, bool), np.ones(shape, np.int64), np.zeros(shape, np.int64)
    infinite = nan = no
    for factor in factors:
        n, exponent = n * factor.significand, exponent + factor.exponent
        infinite, nan = infinite | factor.is_inf, nan | factor.is_nan
    product = Parts(no, n, exponent, infinite, nan, no)
    return {
        "product": known(real_keys(n, exponent, infinite), ~nan),
        "product class": number_table(compose(product, layout), layout)["input"],
        "product remainder": known(_placed(product, layout)[2], ~(infinite | nan)),
    }


def place_table(index: I64, count: int) -> Table:
    """Features of positions in blocks of `count` elements."""
    place = np.select((index == 0, index == count - 1), (0, 2), 1)
    parities = {"position parity": index & 1, "position of four": index & 3}
    return {"place": place, "position": index, **parities}


def block_tables(
    bits: NDArray[Any], layout: FloatLayout, fmt: BlockFormat, scales: I64, codes: I64
) -> tuple[Table, Table]:
    """Features of blocks, one entry each, and of their elements, in rows.

    Args:
        bits: float patterns, a block a row.
        layout: their type.
        fmt: the block format.
        scales: the wanted scale code of each block.
        codes: the wanted codes, a block a row.
    """
    numbers = (bits & bits.dtype.type(layout.sign_bit - 1)).astype(np.int64)
    nan = numbers > layout.inf_bits
    numbers[nan] = -1
    amax, first, width = numbers.max(axis=1), numbers.argmax(axis=1), bits.shape[1]
    largest, some = numbers == amax[:, np.newaxis], amax > 0
    elements = number_table(bits, layout)
    of_amax = {name: column[np.arange(len(first)), first] for name, column in elements.items()}
    found = {
        "amax significand": of_amax["significand"],
        "amax sign": of_amax["sign"],
        "amax place": place_table(first, width)["place"],
        "amax position": first,
        "amax position parity": first & 1,
        "amax count": largest.sum(axis=1),
    }
    kinds = nan.any(axis=1), amax == layout.inf_bits, amax == 0
    block = {name: known(column, some) for name, column in found.items()}
    block |= {"block": np.select(kinds, (3, 2, 0), 1), "amax": of_amax["magnitude"]}
    elements |= spread({**block, "scale code": scales, "scale parity": scales & 1}, bits.shape)
    elements |= place_table(np.broadcast_to(np.arange(width), bits.shape), width)
    elements["largest"] = largest.astype(np.int64)
    if fmt.scale is not E8M0:  # no powers of two: where x lies between two numbers is not said
        return block | {"wanted scale": scales}, elements | wanted_table(codes, fmt.element)
    shift, parts = scales[:, np.newaxis] - E8M0.bias, split(bits, layout)
    keys = real_keys(parts.significand, parts.exponent - shift, parts.is_inf)
    elements["scaled magnitude"] = known(keys, ~parts.is_nan)
    elements |= encoding_table(bits, layout, fmt.element, codes, shift)
    return block | {"wanted scale": scales}, elements


def tensor_blocks(
    file: VectorFile, words: Sequence[int], policy: Policy
) -> tuple[NDArray[np.uint64], I64, I64, Table, Table]:
    """A tensor cut into blocks of 32 along its axis, each line filled up with zeros.

    Returns:
        The blocks' values, the number of the word of each block's scale and of each of their
        elements in the answer, -1 where there is none, and features of blocks and of elements.
    """
    rows, columns, axis, *values = words
    shapes = result_shapes((rows, columns), file.format, policy, axis=axis)
    count = int(np.prod(shapes.scale_codes))
    scales = np.arange(count).reshape(shapes.scale_codes)
    codes = count + np.arange(int(np.prod(shapes.codes))).reshape(shapes.codes)
    tensor = np.array(values, np.uint64).reshape(rows, columns)
    if axis == 0:
        tensor, scales, codes = tensor.T, scales.T, codes.T
    (lines, length), blocks = tensor.shape, scales.shape[1]

    def cut(array: NDArray[Any], filler: int) -> NDArray[Any]:
        behind = (0, 32 * blocks - array.shape[1])
        return np.pad(array, ((0, 0), behind), constant_values=filler).reshape(-1, 32)

    line, number = np.indices((lines, blocks)).reshape(2, -1)
    table = {name: np.full(len(line), v) for name, v in case_table(file.op, words).items()}
    along = 32 * number[:, np.newaxis] + np.arange(32)
    inside = along < length
    table |= {
        "block number": number,
        "block place": place_table(number, blocks)["place"] if blocks > 1 else number + 3,
        "block length": inside.sum(axis=1),
        ("column" if axis == 0 else "row"): line,
    }
    elements = spread(table, along.shape) | {"inside": inside.astype(np.int64)}
    elements["row" if axis == 0 else "column"] = along
    for name, size in (("row", rows), ("column", columns)):
        elements[f"{name}s behind"] = known(size - 1 - elements[name], inside)
    return cut(tensor, 0), scales.reshape(-1), cut(codes, -1), table, elements


def case_table(op: str, words: Sequence[int]) -> dict[str, int]:
    """The features of a whole case: its shape."""
    if op in ("pack", "unpack"):
        length = len(words) if op == "pack" else words[0]
        return {"length": length, "length parity": length & 1, "length of four": length & 3}
    names = {
        "pack_scales": ("rows", "columns"),
        "unpack_scales": ("rows", "columns"),
        "quantize_tensor": ("rows", "columns", "axis"),
        "pack_blocks": ("scale code",),
    }
    return dict(zip(names.get(op, ()), words, strict=False))


def word_table(
    file: VectorFile, words: Sequence[int], want: NDArray[np.uint64], policy: Policy
) -> Table:
    """Features of each word of the answer to a case."""
    index = np.arange(len(want))
    table = {
        "word": index,
        "word from the end": index[::-1],
        "word parity": index & 1,
        "word of three": index % 3,
        "word of four": index & 3,
        "wanted word": want.astype(np.int64),
        **{name: np.full(len(want), v) for name, v in case_table(file.op, words).items()},
    }
    if file.op in ("pack_scales", "unpack_scales"):
        source = _sources(file, words, policy) if file.op == "pack_scales" else index
        table["content"] = (source >= 0).astype(np.int64)
        table["row"] = known(source // words[1], source >= 0)
        table["column"] = known(source % words[1], source >= 0)
    return table


def _sources(file: VectorFile, words: Sequence[int], policy: Policy) -> I64:
    """The number of the scale code that each byte holds; -1 for filler."""
    rows, columns = words[:2]
    numbers = np.arange(1, rows * columns + 1)
    sources = np.full(1, -1)
    for shift in (0, 8):
        codes = [rows, columns, *(numbers >> shift & 0xFF).tolist()]
        laid = fast_layout(file.op, file.format, file.float, padded([codes]), policy)[0]
        sources = sources + (laid.astype(np.int64) << shift)
    return sources
