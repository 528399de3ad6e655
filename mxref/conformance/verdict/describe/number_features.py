"""Features of numbers, of codes, of an encoding and of a product."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64, FloatLayout, Parts, compose, floor_log2, round_to_code, split
from mxref.conformance.verdict.describe.features import UNKNOWN, Table, real_keys
from mxref.formats.catalog import CodeFormat
from mxref.numbers.codes import every_code

__all__ = ["code_table", "encoding_table", "known", "number_table", "product_table", "wanted_table"]

#: Increments that never round up, and the key of one half.
_DOWN, _HALF = np.zeros(16, np.int64), -1 << 52
#: The class of a NaN code.
_NAN = 6


def known(values: Any, where: Any) -> I64:
    """Values, and UNKNOWN elsewhere."""
    return np.where(where, np.asarray(values, np.int64), np.int64(UNKNOWN))


def number_table(bits: NDArray[Any], layout: FloatLayout) -> Table:
    """Features of float patterns of any shape."""
    parts = split(bits, layout)
    n, finite = parts.significand, ~(parts.is_inf | parts.is_nan)
    keys = real_keys(n, parts.exponent, parts.is_inf)
    number = finite & (n != 0)
    length = floor_log2(n) - floor_log2(n & -n) + 1
    return {
        "sign": parts.negative.astype(np.int64),
        "input": _input_class(parts),
        "magnitude": known(keys, ~parts.is_nan),
        "significand": known(keys & ((1 << 52) - 1), number),  # the key's with exponent 0
        "significant bits": known(length, number),
        "exponent parity": known(keys >> 52 & 1, number),
    }


def _input_class(parts: Parts) -> I64:
    kinds = (parts.is_nan, parts.is_inf, parts.significand == 0, parts.is_subnormal)
    return np.select(kinds, (4, 3, 0, 1), 2).astype(np.int64)


def encoding_table(
    bits: NDArray[Any], layout: FloatLayout, fmt: CodeFormat, want: NDArray[Any], shift: Any = None
) -> Table:
    """Features of numbers on their way into a format.

    Args:
        bits: the numbers.
        layout: their type.
        fmt: the format.
        want: the wanted codes.
        shift: where they are divided by a power of two, its exponent.
    """
    first = 0 if fmt.subnormals else 1 << fmt.mantissa_bits
    parts = _scaled(bits, layout, shift)
    floor, rest, remainder = _placed(parts, fmt, first)
    finite = ~(parts.is_inf | parts.is_nan)
    magnitude = bits & bits.dtype.type(layout.sign_bit - 1)
    one = bits.dtype.type(1)
    above, below = (
        _placed(_scaled(beside, layout, shift), fmt, first)[2] == 2
        for beside in (magnitude + one, np.maximum(magnitude, one) - one)
    )
    code = _magnitudes(fmt)[want]
    inside = (floor < fmt.max_code) | ((floor == fmt.max_code) & (remainder == 0))
    down, up = code == floor, (code == floor + 1) & (remainder != 0)
    ways = (inside & way for way in (down & (remainder == 0), down, up))
    rounding = np.select(list(ways), (0, 1, 2), 3)
    table = {
        "remainder": known(remainder, finite),
        "part of a step": known(rest, finite),
        "neighbour": known(np.select((above, below), (1, 2), 0), finite),
        "rounding": known(rounding, finite),
        **wanted_table(want, fmt),
    }
    if shift is not None:
        keys = real_keys(parts.significand, parts.exponent, parts.is_inf)
        table["scaled magnitude"] = known(keys, ~parts.is_nan)
    return table


def _scaled(bits: NDArray[Any], layout: FloatLayout, shift: Any) -> Parts:
    """The parts of numbers divided by a power of two."""
    parts = split(bits, layout)
    return parts if shift is None else replace(parts, exponent=parts.exponent - shift)


def _placed(parts: Parts, fmt: CodeFormat | FloatLayout, first: int = 0) -> tuple[I64, I64, I64]:
    """The magnitude code below numbers, of any size, what remains as a key, and its class."""
    n, exponent, m = parts.significand, parts.exponent, fmt.mantissa_bits
    floor = round_to_code(n, exponent, parts.negative, m, fmt.emin, _DOWN, first)
    unit = np.maximum(floor_log2(n) + exponent, fmt.emin) - m
    if getattr(fmt, "twos_complement", False):  # of integers all steps are the same
        unit = np.full_like(unit, fmt.emin - m)
    drop = np.maximum(unit - exponent, 0)
    rest = np.where(drop > 53, n, n & ((np.int64(1) << np.minimum(drop, 53)) - 1))
    keys = real_keys(rest, -drop)
    sides = (rest == 0, keys < _HALF, keys == _HALF)
    return floor, keys, np.select(sides, (0, 1, 2), 3).astype(np.int64)


def _magnitudes(fmt: CodeFormat) -> I64:
    return np.array([fmt.sign_and_magnitude(c)[1] for c in range(fmt.code_count)], np.int64)


def _classes(fmt: CodeFormat) -> I64:
    """The class of every code: +0, -0, subnormal, normal, largest, infinite, NaN."""
    parts = every_code(fmt)
    largest = _magnitudes(fmt) == fmt.max_code
    zero = parts.significand == 0
    minus = zero & parts.negative
    kinds = (parts.is_nan, parts.is_inf, minus, zero, largest, parts.is_subnormal)
    return np.select(kinds, (_NAN, 5, 1, 0, 4, 2), 3).astype(np.int64)


def wanted_table(want: NDArray[Any], fmt: CodeFormat) -> Table:
    """Features of wanted codes; which NaN it is makes no difference."""
    found = code_table(want, fmt)
    number = found["code class"] != _NAN
    return {
        "wanted": found["code class"],
        "wanted code": known(found["magnitude code"], number),
        "wanted parity": known(found["code parity"], number),
        "wanted fraction": known(found["fraction field"], number),
    }


def code_table(codes: NDArray[Any], fmt: CodeFormat) -> Table:
    """Features of codes of any shape."""
    magnitude = _magnitudes(fmt)[codes]
    negative = np.array([fmt.sign_and_magnitude(c)[0] for c in range(fmt.code_count)], np.int64)
    return {
        "code": codes.astype(np.int64),
        "code sign": negative[codes],
        "code class": _classes(fmt)[codes],
        "magnitude code": magnitude,
        "code parity": magnitude & 1,
        "exponent field": magnitude >> fmt.mantissa_bits,
        "fraction field": magnitude & ((1 << fmt.mantissa_bits) - 1),
    }


def product_table(factors: list[Parts], layout: FloatLayout) -> Table:
    """Features of the exact product of numbers, which broadcast, and of it as a float."""
    product, *rest = factors
    for factor in rest:
        product = Parts(
            product.negative ^ factor.negative,
            product.significand * factor.significand,
            product.exponent + factor.exponent,
            product.is_inf | factor.is_inf,
            product.is_nan | factor.is_nan,
            product.is_subnormal & False,
        )
    finite = ~(product.is_inf | product.is_nan)
    keys = real_keys(product.significand, product.exponent, product.is_inf)
    return {
        "product": known(keys, ~product.is_nan),
        "product class": _input_class(split(compose(product, layout), layout)),
        "product remainder": known(_placed(product, layout)[2], finite),
    }
