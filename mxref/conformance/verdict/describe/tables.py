"""The values of features: tables of numbers, codes, products, blocks, tensors and layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import (
    F32,
    I64,
    FloatLayout,
    Parts,
    compose,
    floor_log2,
    round_to_code,
    split,
)
from mxref.blocks.shapes import result_shapes
from mxref.cases.records import VectorFile
from mxref.conformance.verdict.describe.features import UNKNOWN, Table, real_keys
from mxref.formats.catalog import E8M0, BlockFormat, CodeFormat
from mxref.numbers.codes import every_code
from mxref.packing.scale_orders import SCALE_ORDERS
from mxref.policy.policy import Policy


def known(values: Any, where: Any) -> I64:
    """Values, and UNKNOWN elsewhere."""
    return np.where(where, np.asarray(values, np.int64), np.int64(UNKNOWN))


def parts_at(fmt: CodeFormat, codes: I64) -> Parts:
    """The parts of codes of a format."""
    if fmt.bits > 8:
        return split(codes.astype(np.uint32), F32)
    parts = every_code(fmt)
    return Parts(*(getattr(parts, field.name)[codes] for field in fields(Parts)))


def magnitudes_of(fmt: CodeFormat, codes: I64) -> I64:
    """Codes without their signs."""
    return codes & 0x7FFFFFFF if fmt.bits > 8 else magnitudes(fmt)[codes]


def magnitudes(fmt: CodeFormat) -> I64:
    """The code without sign of every code of a format of few bits."""
    return np.array([fmt.sign_and_magnitude(c)[1] for c in range(fmt.code_count)], np.int64)


def index_table(name: str, index: I64) -> Table:
    """Features of a number that counts something."""
    return {name: index, f"{name} parity": index & 1, f"{name} of four": index & 3}


def number_table(parts: Parts) -> Table:
    """Features of numbers of any shape."""
    keys = real_keys(parts.significand, parts.exponent, parts.is_inf)
    zero = parts.significand == 0
    return {
        "sign": parts.negative.astype(np.int64),
        "input": np.select((parts.is_nan, parts.is_inf, zero, parts.is_subnormal), (4, 3, 0, 1), 2),
        "magnitude": known(keys, ~parts.is_nan),
        # the key with exponent 0
        "significand": known(keys & ((1 << 52) - 1), ~(parts.is_nan | parts.is_inf | zero)),
    }


def encoding_table(parts: Parts, fmt: CodeFormat, want: I64) -> Table:
    """Features of numbers that become the wanted codes of a format."""
    m, emin, first = fmt.mantissa_bits, fmt.emin, 0 if fmt.subnormals else 1 << fmt.mantissa_bits
    if getattr(fmt, "twos_complement", False):  # all steps between integers are the same
        m, emin = 52, emin + 52 - m
    # The increments of the second are the side of the number in its step.
    floor, more = (
        round_to_code(parts.significand, parts.exponent, parts.negative, m, emin, added, first)
        for added in (np.zeros(16, np.int64), np.arange(16) % 4)
    )
    special, side = parts.is_inf | parts.is_nan, more - floor
    unit = np.maximum(floor_log2(parts.significand) + parts.exponent, emin) - m
    drop = np.maximum(unit - parts.exponent, 0)
    rest = parts.significand & ((np.int64(1) << np.minimum(drop, 62)) - 1)
    code, cut = magnitudes(fmt)[want] - floor, side > 0
    kinds = (floor + cut > fmt.max_code, (code == 0) & ~cut, code == 0, (code == 1) & cut)
    rounding = np.select(kinds, (3, 0, 1, 2), 3)
    part = real_keys(rest, -drop, special)
    found = {"remainder": side, "part of a step": part, "rounding": rounding}
    sides = {name: known(column, ~special) for name, column in found.items()}
    return sides | code_table("wanted", want, fmt)


def code_table(name: str, codes: I64, fmt: CodeFormat) -> Table:
    """Features of codes of any shape; those of NaN have no number."""
    parts, magnitude = parts_at(fmt, codes), magnitudes(fmt)[codes]
    zero, largest = parts.significand == 0, magnitude == fmt.max_code
    kinds = (parts.is_nan, parts.is_inf, zero & parts.negative, zero, largest, parts.is_subnormal)
    return {
        name: known(codes, ~parts.is_nan),
        f"{name} sign": (codes & fmt.sign_bit != 0).astype(np.int64),
        f"{name} class": np.select(kinds, (6, 5, 1, 0, 4, 2), 3),
        f"{name} magnitude": known(magnitude, ~parts.is_nan),
        f"{name} parity": known(magnitude & 1, ~parts.is_nan),
    }


def tensor_scale_table(scales: NDArray[np.uint64]) -> Table:
    """The feature of the tensor scales of blocks, one a row; nothing of formats without one."""
    found = number_table(split(scales, F32))["magnitude"]
    return {"tensor scale": found} if scales.shape[1] else {}


def product_table(factors: Sequence[Parts], layout: FloatLayout) -> Table:
    """Features of an exact product of numbers, rounded to a float."""
    product = factors[0]
    for factor in factors[1:]:
        n, exponent = product.significand * factor.significand, product.exponent + factor.exponent
        infinite, nan = product.is_inf | factor.is_inf, product.is_nan | factor.is_nan
        product = Parts(np.zeros(n.shape, bool), n, exponent, infinite, nan, infinite)
    found = number_table(split(compose(product, layout), layout))
    return {"product": found["magnitude"], "product class": found["input"]}


def block_tables(
    bits: NDArray[Any], layout: FloatLayout, fmt: BlockFormat, scales: I64, codes: I64
) -> tuple[Table, Table]:
    """Features of blocks, a block a row, and of their elements.

    `bits` are float patterns of a layout, `scales` and `codes` the wanted codes.
    """
    parts = split(bits, layout)
    elements = number_table(parts)
    numbers = (bits & bits.dtype.type(layout.sign_bit - 1)).astype(np.int64)
    numbers[parts.is_nan] = -1
    first = numbers.argmax(axis=1, keepdims=True)
    positions, some = index_table("amax position", first), numbers.max(axis=1, keepdims=True) > 0
    kinds = elements["input"].max(axis=1, keepdims=True)
    one_nan = parts.is_nan.sum(axis=1, keepdims=True) == 1
    nans = index_table("nan position", parts.is_nan.argmax(axis=1)[:, np.newaxis])
    plus, minus = (
        (parts.is_inf & (parts.negative == sign)).any(axis=1, keepdims=True) for sign in (0, 1)
    )
    signs = np.take_along_axis(elements["sign"], first, axis=1)
    block = {
        "block": np.select((kinds == 4, kinds == 3, kinds == 0), (3, 2, 0), 1),
        "amax": np.take_along_axis(elements["magnitude"], first, axis=1),
        "amax significand": np.take_along_axis(elements["significand"], first, axis=1),
        **{name: known(column, some) for name, column in positions.items()},
        "amax sign": known(signs, some),
        **{name: known(column, one_nan) for name, column in nans.items()},
        "infinities": known(np.where(plus & minus, 2, minus), plus | minus),
        "scale code": scales,
    }
    elements |= index_table("position", np.arange(bits.shape[1]))
    elements |= code_table("wanted", codes, fmt.element)
    if fmt.scale is E8M0:  # a power of two
        scaled = replace(parts, exponent=parts.exponent - (scales - E8M0.bias))
        elements["scaled magnitude"] = number_table(scaled)["magnitude"]
        elements |= encoding_table(scaled, fmt.element, codes)
    return block, elements


def tensor_blocks(
    file: VectorFile, words: Sequence[int], policy: Policy
) -> tuple[NDArray[np.uint64], I64, I64, Table]:
    """A tensor cut into blocks of 32 along its axis, each line filled up with zeros.

    Returns their values, the numbers of the words of their scales and of their elements, -1 where
    there is none, and features.
    """
    rows, columns, axis, *values = words
    shapes = result_shapes((rows, columns), file.format, policy, axis=axis)
    scales = np.arange(int(np.prod(shapes.scale_codes))).reshape(shapes.scale_codes)
    codes = scales.size + np.arange(int(np.prod(shapes.codes))).reshape(shapes.codes)

    def cut(array: NDArray[Any], filler: int) -> NDArray[Any]:
        lines = np.moveaxis(array, axis, -1)
        behind = (0, -lines.shape[1] % 32)
        return np.pad(lines, ((0, 0), behind), constant_values=filler).reshape(-1, 32)

    row, column = (cut(places, -1) for places in np.indices((rows, columns)))
    inside = row >= 0
    more = case_table(file.op, words) | {
        "block length": inside.sum(axis=1, keepdims=True),
        "inside": inside.astype(np.int64),
        "row": known(row, inside),
        "column": known(column, inside),
        "rows behind": known(rows - 1 - row, inside),
        "columns behind": known(columns - 1 - column, inside),
    }
    numbers = cut(np.array(values, np.uint64).reshape(rows, columns), 0)
    return numbers, np.moveaxis(scales, axis, -1).reshape(-1, 1), cut(codes, -1), more


def case_table(op: str, words: Sequence[int]) -> Table:
    """The features of a whole case: its shape."""
    if op in ("pack", "unpack"):
        return index_table("length", np.array(len(words) if op == "pack" else words[0]))
    names = {"quantize_tensor": ("rows", "columns", "axis"), "pack_blocks": ("scale code",)}
    shape = ("rows", "columns") if op.endswith("pack_scales") else ()
    return dict(zip(names.get(op, shape), np.array(words[:3], np.int64), strict=False))


def word_table(
    file: VectorFile, words: Sequence[int], want: NDArray[np.uint64], policy: Policy
) -> Table:
    """Features of each word of the answer to a case."""
    index = source = np.arange(len(want))
    table = index_table("word", index) | {"words behind": index[::-1]}
    table |= {"wanted word": want.astype(np.int64)} | case_table(file.op, words)
    if file.op == "pack_scales":  # the number of the scale code in each byte; -1 in filler
        rows, columns = words[:2]
        places: Any = np.indices((rows, columns)).reshape(2, -1)
        parts = SCALE_ORDERS[policy.layout.scale_layout].parts(rows, columns)
        source = np.full(len(want), -1)
        source[sum(part.of(*places) for part in parts)] = np.arange(rows * columns)
    if file.op.endswith("pack_scales"):
        row, column = np.divmod(source, words[1])
        table |= {"row": known(row, source >= 0), "column": known(column, source >= 0)}
    return table
