"""Class H: products gone wrong, in precision and range, in special values and in their operands."""

from __future__ import annotations

import functools
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Floats
from mxref.blocks.container import Blocks
from mxref.blocks.dequantization import dequantize
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.mutants.matmul_operands import OPERANDS, Change
from mxref.mutants.mutant import Function, Mutant, Mutants, wrong
from mxref.operations.product_words import MX_PAIRS, pair_formats
from mxref.products.dot import matmul

__all__ = ["MATMULS", "float32_numbers"]

Numbers = NDArray[np.float64]
Pairs = tuple[str, ...]

_SIZE = 32
_F32 = ("f32",)
#: Pairs that have vectors of narrower results.
_NARROW = ("mxfp8_e4m3-mxfp8_e4m3", "mxint8-mxint8")
_SPECIAL = tuple(
    pair for pair in MX_PAIRS if any(fmt.element.inf_code is not None for fmt in pair_formats(pair))
)
#: Pairs whose elements times a scale may be outside float32; with INT8 none is.
_BEYOND = tuple(pair for pair in MX_PAIRS if pair != "mxint8-mxint8")
_INT8 = tuple(pair for pair in MX_PAIRS if "int8" in pair)


def _blocks(scales: U8, codes: U8, name: str) -> Blocks:
    return Blocks(codes, scales, BLOCK_FORMATS[name], 1, codes.shape)


def _right(
    scales_a: U8, codes_a: U8, scales_b: U8, codes_b: U8, a: str, b: str, dtype: Any
) -> Floats:
    return matmul(_blocks(scales_a, codes_a, a), _blocks(scales_b, codes_b, b).T, dtype)


def _numbers(scales: U8, codes: U8, name: str) -> Numbers:
    """The elements times their scales; products of two are exact in float64."""
    return dequantize(_blocks(scales, codes, name), np.float64)


def _products(*operands: Any) -> Numbers:
    """All products (k, m, n)."""
    scales_a, codes_a, scales_b, codes_b, a, b = operands[:6]
    x, y = _numbers(scales_a, codes_a, a), _numbers(scales_b, codes_b, b)
    found: Numbers = x.T[:, :, np.newaxis] * y.T[:, np.newaxis]
    return found


# Precision and range.


def _narrow_sums(*operands: Any, sums: Any) -> Floats:
    """Sums rounded to a narrow float after every addition."""
    products = _products(*operands)
    total = np.zeros(products.shape[1:], sums)
    for product in products:
        total = (total.astype(np.float64) + product.astype(sums).astype(np.float64)).astype(sums)
    return total.astype(operands[6])


def _aligned(*operands: Any, bits: int) -> Floats:
    """Products cut off a few bits below the largest one, then added exactly."""
    products = _products(*operands)
    exponents = np.frexp(np.where(np.isfinite(products), products, 0.0))[1]
    largest = np.where(products == 0, -2000, exponents).max(axis=0, initial=-2000)
    unit = np.ldexp(1.0, np.maximum(largest, -900) - bits)
    cut: Numbers = (np.trunc(products / unit) * unit).sum(axis=0)
    return cut.astype(operands[6])


def _pairs_in_int16(*operands: Any, saturates: bool) -> Floats:
    """Products of INT8 codes of neighbouring lanes, added in int16."""
    scales_a, codes_a, scales_b, codes_b = operands[:4]
    missing = -codes_a.shape[1] % _SIZE
    x, y = (np.pad(c, ((0, 0), (0, missing))).view(np.int8) for c in (codes_a, codes_b))
    products = x.T[:, :, np.newaxis].astype(np.int32) * y.T[:, np.newaxis]
    pairs = products[::2] + products[1::2]
    pairs = np.clip(pairs, -(1 << 15), (1 << 15) - 1) if saturates else pairs.astype(np.int16)
    left, right = (
        np.where(s == 0xFF, np.nan, np.ldexp(1.0, s.astype(int) - 127)).T
        for s in (scales_a, scales_b)
    )
    scales = np.repeat(left[:, :, np.newaxis] * right[:, np.newaxis], _SIZE // 2, axis=0)
    found: Floats = (pairs * scales * 2.0**-12).sum(axis=0).astype(operands[6])
    return found


def _scale_product_first(*operands: Any) -> Floats:
    """Scales multiplied in float32 before they meet the elements."""
    scales_a, codes_a, scales_b, codes_b, a, b, dtype = operands
    total = np.zeros((len(codes_a), len(codes_b)), np.float32)
    ones = np.full_like(scales_a[:, :1], 0x7F), np.full_like(scales_b[:, :1], 0x7F)
    for block in range(scales_a.shape[1]):
        some = slice(_SIZE * block, _SIZE * (block + 1))
        part = _right(ones[0], codes_a[:, some], ones[1], codes_b[:, some], a, b, np.float32)
        left, right = (
            np.where(s == 0xFF, np.nan, np.ldexp(1.0, s.astype(int) - 127)).astype(np.float32)
            for s in (scales_a[:, block], scales_b[:, block])
        )
        total = total + part * np.multiply.outer(left, right)
    return total.astype(dtype)


def _numbers_in_float32(*operands: Any) -> Floats:
    """Elements times their own scale in float32, infinite before the other scale comes."""
    scales_a, codes_a, scales_b, codes_b, a, b, dtype = operands
    x, y = float32_numbers(scales_a, codes_a, a), float32_numbers(scales_b, codes_b, b)
    found: Floats = (x @ y.T).astype(dtype)
    return found


def float32_numbers(scales: U8, codes: U8, name: str) -> Numbers:
    """The elements times their scales as float32 holds them, which makes the largest infinite."""
    with np.errstate(over="ignore"):
        return _numbers(scales, codes, name).astype(np.float32).astype(np.float64)


def _by_way_of_float32(*operands: Any) -> Floats:
    *rest, dtype = operands
    found: Floats = _right(*rest, np.float32).astype(dtype)  # type: ignore[call-arg]
    return found


def _not_reset(*operands: Any) -> Floats:
    """The row before added to each row."""
    product = _right(*operands).astype(np.float32)
    product[1:] += product[:-1].copy()
    return product.astype(operands[6])


def _zeros(*operands: Any) -> Floats:
    return np.zeros((len(operands[1]), len(operands[3])), operands[6])


# Special values.


def _infinity_times_zero(*operands: Any) -> Floats:
    """Zero for the product of an infinity and a zero."""
    products = _products(*operands)
    scales_a, codes_a, scales_b, codes_b, a, b, _ = operands
    x, y = _numbers(scales_a, codes_a, a), _numbers(scales_b, codes_b, b)
    inf, zero = np.isinf(x.T)[:, :, np.newaxis], (y.T == 0)[:, np.newaxis]
    other = (x.T == 0)[:, :, np.newaxis] & np.isinf(y.T)[:, np.newaxis]
    products = np.where((inf & zero) | other, 0.0, products)
    total: Numbers = products.sum(axis=0)
    right = _right(*operands)
    return np.where(np.isfinite(right), right, total.astype(operands[6]))


def _after(change: Change) -> Function:
    """A right product of the wrong operands."""

    def run(*operands: Any) -> Floats:
        *rest, dtype = operands
        return _right(*change(*rest), dtype)

    return run


def _multiplies(
    run: Function, *, formats: Pairs = MX_PAIRS, floats: Pairs = _F32, **more: Any
) -> Mutant:
    """A mutant of `matmul`, without warnings of overflow."""

    @functools.wraps(run)
    def quietly(*operands: Any) -> Floats:
        with np.errstate(all="ignore"):
            found: Floats = run(*operands)
        return found

    return wrong(quietly, op="matmul", formats=formats, floats=floats, model="M12", **more)


def _reads(id: str, **more: Any) -> Mutant:
    change, formats = OPERANDS[id]
    return _multiplies(_after(change), formats=formats, **more)


MATMULS: Mutants = {
    "H1 narrow_sums: sums in bfloat16": _multiplies(partial(_narrow_sums, sums=ml_dtypes.bfloat16)),
    "H1b float16_sums: sums in float16": _multiplies(partial(_narrow_sums, sums=np.float16)),
    "H2 alignment_truncated: cuts products off 13 bits below the largest": _multiplies(
        partial(_aligned, bits=13)
    ),
    "H3 scale_product_first: multiplies the scales beyond float32": _multiplies(
        _scale_product_first
    ),
    "H3b numbers_in_float32: multiplies elements by their own scale in float32 first": _multiplies(
        _numbers_in_float32,
        formats=_BEYOND,
    ),
    "H4 nan_scale_of_zeros: ignores a NaN scale of zeros": _reads("H4"),
    "H5 infinity_times_zero: makes infinity times zero a zero": _multiplies(
        _infinity_times_zero, formats=_SPECIAL
    ),
    "H6 last_block_dropped: leaves out the last of several blocks": _reads("H6"),
    "H6b last_tile_dropped: leaves out the last of several tiles of 128": _reads("H6b"),
    "H6c tile_of_before: multiplies the codes of two tiles of 128 before again": _reads("H6c"),
    "H7 scales_of_blocks_swapped: takes the scales of the first operand in reverse": _reads("H7"),
    "H7b scales_of_operands_swapped: takes the scales of each operand for the other": _reads("H7b"),
    "H7c scale_of_next_tile: scales the last block of a tile of 128 as the next tile": _reads(
        "H7c"
    ),
    "H7d scale_of_next_block_of_first: takes the scale of the next block of the first operand": (
        _reads("H7d")
    ),
    "H7e scale_of_next_block_of_second: takes the scale of the next block of the second operand": (
        _reads("H7e")
    ),
    "H8 scale_of_next_row: takes the scales of the next row": _reads("H8"),
    "H8b scale_of_next_column: takes the scales of the next column of the second operand": _reads(
        "H8b"
    ),
    "H9 tail_not_masked: reads on behind the end of a row": _reads("H9"),
    "H10 int8_symmetric: reads the INT8 code 80 as -127/64": _reads("H10"),
    "H10b int16_saturated: adds pairs of INT8 products in saturating int16": _multiplies(
        partial(_pairs_in_int16, saturates=True), formats=_INT8
    ),
    "H10c int16_wrapped: adds pairs of INT8 products in int16": _multiplies(
        partial(_pairs_in_int16, saturates=False), formats=_INT8
    ),
    "H11 formats_swapped: decodes each operand as the other's format": _reads("H11"),
    "H22 product_bias_128: reads scales with a bias of 128: every output is a quarter": _reads(
        "H22"
    ),
    "H22b product_bias_128_of_first: reads the scales of the first operand with a bias of 128: "
    "every output is half": _reads("H22b"),
    "H22c product_bias_126: reads scales with a bias of 126: every output is 4 times the right "
    "one": _reads("H22c"),
    "H22d product_emax_added: multiplies by 2**emax of both formats, too": _reads("H22d"),
    "H22e product_scale_00_is_zero: reads scale code 00 as 0, or flushes 2**-127": _reads("H22e"),
    "H12 by_way_of_float32: rounds to float32 before a narrower type": _multiplies(
        _by_way_of_float32,
        formats=_NARROW,
        floats=("bf16", "f16"),
        policy="ocp+accumulation=exact",
    ),
    "H13 accumulator_not_reset: adds the row before": _multiplies(_not_reset),
    "H14 all_zeros: returns zeros": _multiplies(_zeros),
}
