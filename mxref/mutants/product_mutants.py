"""Classes D and E on products: `dequantize` gone wrong where scale and element meet."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mxref.bits.floats import (
    U8,
    FloatLayout,
    Floats,
    bits_of,
    compose,
    floats_from,
    layout_of,
    patterns,
    round_to_code,
    split,
)
from mxref.blocks.container import Blocks
from mxref.blocks.dequantization import dequantize
from mxref.formats.catalog import ElementFormat, block_format
from mxref.mutants.decoder import Table, dequantizer
from mxref.mutants.mutant import DEQUANTIZED, POWER_BLOCKS, Function, Mutants, wrong
from mxref.numbers.codes import every_code
from mxref.policy.policy import Policy

__all__ = ["PRODUCTS", "by_policy", "dequantizes"]

#: Float types that do not hold every product.
NARROW = ("bf16", "f16")


def by_policy(**choices: Any) -> Function:
    """A `dequantize` that follows another policy."""

    def run(scale_codes: U8, codes: U8, format: str, dtype: Any) -> Floats:
        fmt = block_format(format)
        blocks = Blocks(codes, scale_codes[:, np.newaxis], fmt, 1, codes.shape)
        return dequantize(blocks, dtype, **choices)

    return run


def _nan_times_zero(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    parts = every_code(fmt)
    zero = (parts.significand == 0) & ~parts.is_inf
    table = table.copy()
    table[0xFF, zero] = table[0x7F, zero]
    return table


def _flushed(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    magnitude = table & layout.uint.type(layout.sign_bit - 1)
    sign = table & layout.uint.type(layout.sign_bit)
    return np.where(magnitude < layout.uint.type(1 << layout.mantissa_bits), sign, table)


def _added_exponents(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    """The scale's exponent added to the element's field, whatever the element is."""
    element = compose(every_code(fmt), layout).astype(np.int64)
    step = (np.arange(256) - 127)[:, np.newaxis] << layout.mantissa_bits
    return (element + step).astype(layout.uint)


def _in_float16(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    """The scale as a float16: infinite above 2**15, zero below 2**-24."""
    table = table.copy()
    sign = table & layout.uint.type(layout.sign_bit)
    nan = (table & layout.uint.type(layout.sign_bit - 1)) > layout.uint.type(layout.inf_bits)
    zero = np.broadcast_to(table[0x7F] & layout.uint.type(layout.sign_bit - 1) == 0, table.shape)
    large = (np.arange(256) > 127 + 15)[:, np.newaxis] & ~nan
    small = (np.arange(256) < 127 - 24)[:, np.newaxis] & ~nan
    table = np.where(large, sign | layout.uint.type(layout.inf_bits), table)
    table = np.where(large & zero, layout.uint.type(layout.nan_bits), table)
    return np.where(small, sign, table)


def _subnormals_rounded(rounding: str) -> Function:
    """A `dequantize` that rounds subnormal products, which alone are inexact, in another way."""
    increments = Policy.parse(f"ocp+rounding={rounding}").element.rounding.increments()

    def run(scale_codes: U8, codes: U8, format: str, dtype: Any) -> Floats:
        layout = layout_of(dtype)
        right = patterns(dequantizer()(scale_codes, codes, format, dtype), layout)
        exact = split(*bits_of(dequantizer()(scale_codes, codes, format, np.float64)))
        count = round_to_code(
            exact.significand,
            exact.exponent,
            exact.negative,
            layout.mantissa_bits,
            layout.emin,
            increments,
        )
        sign = right & layout.uint.type(layout.sign_bit)
        small = count <= 1 << layout.mantissa_bits
        return floats_from(np.where(small, sign | count.astype(layout.uint), right), layout)

    return run


dequantizes = partial(wrong, op="dequantize", formats=POWER_BLOCKS, floats=DEQUANTIZED, model="M10")

PRODUCTS: Mutants = {
    "D5 float16_scale: holds the scale in float16": dequantizes(dequantizer(finish=_in_float16)),
    "D6 exponents_added: adds the exponents of zeros, subnormals and specials, too": dequantizes(
        dequantizer(finish=_added_exponents)
    ),
    "E3 nan_times_zero: makes NaN times zero a zero": dequantizes(
        dequantizer(finish=_nan_times_zero)
    ),
    "E8 products_flushed: flushes subnormal products to zero": dequantizes(
        dequantizer(finish=_flushed)
    ),
    "E9a products_saturated: saturates products that are too large": dequantizes(
        by_policy(product_overflow="saturate")
    ),
    "E9b large_products_are_nan: makes products that are too large NaN": dequantizes(
        by_policy(product_overflow="nan")
    ),
    "E8b products_truncated: rounds subnormal products toward zero": dequantizes(
        _subnormals_rounded("toward_zero"), floats=NARROW
    ),
    "E8c products_rounded_away: rounds a tie of subnormal products away from zero": dequantizes(
        _subnormals_rounded("ties_to_away"), floats=NARROW
    ),
}
