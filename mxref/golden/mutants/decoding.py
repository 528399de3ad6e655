"""Classes D, E and F on the way back: `decode`, `decode_scale` and `dequantize` gone wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._bits import F32, U8, FloatLayout, Floats, Parts, compose, floats_from
from mxref._codes import parts_of
from mxref.block import Blocks, dequantize
from mxref.formats import BLOCK_FORMATS, ElementFormat
from mxref.golden.mutants._decoder import Elements, Table, decoder, dequantizer
from mxref.golden.mutants.mutant import (
    BLOCKS,
    DECODED,
    DEQUANTIZED,
    E8M0,
    FP,
    FP6_FP4,
    INT8,
    Function,
    Mutant,
)
from mxref.policy import DecodePolicy
from mxref.scale import decode_scale, scale_parts

__all__ = ["DECODERS"]


def _decode_scale(**choices: Any) -> Function:
    return lambda codes: decode_scale(codes, **choices)


def _dequantize(**choices: Any) -> Function:
    def run(scale_codes: U8, codes: U8, format: str, dtype: Any) -> Floats:
        fmt = BLOCK_FORMATS[format]
        blocks = Blocks(codes, scale_codes[:, np.newaxis], fmt, 1, codes.shape)
        return dequantize(blocks, dtype, **choices)

    return run


def _replaced(fmt: ElementFormat, **changed: Any) -> Parts:
    return dataclasses.replace(parts_of(fmt), **changed)


def _magnitudes(fmt: ElementFormat) -> NDArray[np.int64]:
    return np.arange(fmt.code_count) & (fmt.sign_bit - 1)


def _hidden_bit(fmt: ElementFormat) -> Parts:
    """Subnormal codes read as if they were normal, one binade lower."""
    parts = parts_of(fmt)
    low = _magnitudes(fmt) < 1 << fmt.mantissa_bits
    return _replaced(
        fmt,
        significand=parts.significand + (low & (parts.significand != 0)) * (1 << fmt.mantissa_bits),
        exponent=parts.exponent - low,
    )


def _low_exponent(fmt: ElementFormat) -> Parts:
    """Subnormal codes one binade too low: exponent 0 - bias instead of 1 - bias."""
    return _replaced(fmt, exponent=parts_of(fmt).exponent - parts_of(fmt).is_subnormal)


def _other_bias(fmt: ElementFormat) -> Parts:
    return _replaced(fmt, exponent=parts_of(fmt).exponent - 1)


def _no_specials(fmt: ElementFormat) -> Parts:
    no = np.zeros(fmt.code_count, bool)
    negative = (np.arange(fmt.code_count) & fmt.sign_bit) != 0
    return _replaced(fmt, is_nan=no, is_inf=no, negative=negative)


def _top_is_nan(fmt: ElementFormat) -> Parts:
    top = (fmt.sign_bit - 1) >> fmt.mantissa_bits << fmt.mantissa_bits
    return _replaced(fmt, is_nan=_magnitudes(fmt) >= top)


def _positive(fmt: ElementFormat) -> Parts:
    """The sign looked for in bit 7."""
    return _replaced(fmt, negative=np.zeros(fmt.code_count, bool))


def _complement(fmt: ElementFormat) -> Parts:
    """Negative codes read as two's complement."""
    codes = np.arange(fmt.code_count)
    parts = parts_of(fmt)
    where = np.where(codes & fmt.sign_bit, -codes & (fmt.sign_bit - 1), codes)
    return _replaced(fmt, significand=parts.significand[where], exponent=parts.exponent[where])


def _sign_and_magnitude(fmt: ElementFormat) -> Parts:
    return _replaced(fmt, significand=_magnitudes(fmt))


def _minus_128(significand: int) -> Elements:
    def elements(fmt: ElementFormat) -> Parts:
        found = parts_of(fmt).significand.copy()
        found[0x80] = significand
        return _replaced(fmt, significand=found)

    return elements


def _stepped(step: int) -> Elements:
    return lambda fmt: _replaced(fmt, exponent=parts_of(fmt).exponent + step)


def _scales(spoil: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Callable[[], Parts]:
    """Scales with other exponents."""

    def scales() -> Parts:
        parts = scale_parts(DecodePolicy())
        return dataclasses.replace(parts, exponent=spoil(parts.exponent))

    return scales


def _raised_00(exponent: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.maximum(exponent, -126)


def _from_scales(scales: Callable[[], Parts]) -> Function:
    return lambda codes: floats_from(compose(scales(), F32)[codes], F32)


def _linear_scales() -> Parts:
    """The scale byte as a number."""
    codes = np.arange(256)
    return Parts.finite(codes < 0, codes, np.zeros(256, np.int64))


def _inexact(codes: U8) -> Any:
    """2**127 one unit too large, as a vectorised exp2 of float32 gives it."""
    bits = decode_scale(codes).view(np.uint32) + (codes == 0xFE)
    return bits.astype(np.uint32).view(np.float32)


def _inexact_products(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    table = table.copy()
    magnitude = table[0xFE] & layout.uint.type(layout.sign_bit - 1)
    table[0xFE] += ((magnitude > 0) & (magnitude < layout.inf_bits)).astype(layout.uint)
    return table


def _nan_times_zero(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    parts = parts_of(fmt)
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
    element = compose(parts_of(fmt), layout).astype(np.int64)
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


def _product(
    id: str, name: str, text: str, run: Function, *seen: str, formats: tuple[str, ...] = BLOCKS
) -> Mutant:
    return Mutant(id, name, text, "dequantize", run, formats, DEQUANTIZED, "M10", seen)


def _element(
    id: str,
    name: str,
    text: str,
    elements: Elements,
    *seen: str,
    formats: tuple[str, ...] = FP,
) -> tuple[Mutant, Mutant]:
    """A wrong reading of element codes, alone and under a scale."""
    blocks = tuple(name for name, fmt in BLOCK_FORMATS.items() if fmt.element.name in formats)
    whole, under = decoder(elements), dequantizer(elements)
    return (
        Mutant(id, name, text, "decode", whole, formats, DECODED, "M10", seen),
        Mutant(
            f"{id}q", f"{name}_in_blocks", text, "dequantize", under, blocks, DEQUANTIZED, "M10"
        ),
    )


def _scale(
    id: str, name: str, text: str, whole: Function, under: Function, *seen: str
) -> tuple[Mutant, Mutant]:
    """A wrong reading of scale codes, alone and in a block."""
    return (
        Mutant(id, name, text, "decode_scale", whole, E8M0, DECODED, "M10", seen),
        Mutant(
            f"{id}q", f"{name}_in_blocks", text, "dequantize", under, BLOCKS, DEQUANTIZED, "M10"
        ),
    )


DECODERS = (
    *_scale(
        *("C6d", "read_bias_128", "subtracts a bias of 128"),
        _from_scales(_scales(lambda exponent: exponent - 1)),
        dequantizer(scales=_scales(lambda exponent: exponent - 1)),
    ),
    _product(
        *("D5", "float16_scale", "holds the scale in float16"),
        *(dequantizer(finish=_in_float16), "1CatAI/1Cat-vLLM#222"),
    ),
    _product(
        *("D6", "exponents_added", "adds the exponents of zeros, subnormals and specials, too"),
        *(dequantizer(finish=_added_exponents), "vllm-project/vllm#46676"),
    ),
    _product(
        *("D7", "divided_by_scale", "divides by the scale instead of multiplying"),
        dequantizer(scales=_scales(lambda exponent: -exponent)),
    ),
    *_scale(
        *("D8", "exp2_inexact", "makes 2**127 one unit too large, by a float32 exp2"),
        *(_inexact, dequantizer(finish=_inexact_products), "numpy.exp2 with AVX-512"),
    ),
    *_scale(
        *("E1", "scale_00_is_zero", "reads scale code 00 as 0, or flushes 2**-127"),
        *(_decode_scale(scale_00="zero"), _dequantize(scale_00="zero")),
        *("triton-lang/triton#11624", "triton-lang/triton#11737"),
    ),
    *_scale(
        *("E1b", "scale_00_is_normal", "reads scale code 00 as 2**-126"),
        *(_from_scales(_scales(_raised_00)), dequantizer(scales=_scales(_raised_00))),
    ),
    *_scale(
        *("E2a", "scale_ff_is_infinite", "reads scale code FF as infinity"),
        *(_decode_scale(scale_ff="inf"), _dequantize(scale_ff="inf"), "ROCm/aiter#3556"),
    ),
    *_scale(
        *("E2b", "scale_ff_is_a_power", "reads scale code FF as 2**128"),
        *(_decode_scale(scale_ff="power"), _dequantize(scale_ff="power"), "ggml, gguf"),
    ),
    _product(
        *("E3", "nan_times_zero", "makes NaN times zero a zero"),
        dequantizer(finish=_nan_times_zero),
    ),
    *_element(
        *("E4", "minus_zero_lost", "reads -0 as +0"),
        lambda fmt: _replaced(fmt, negative=parts_of(fmt).negative & (_magnitudes(fmt) != 0)),
        "AMD mxDataGenerator",
    ),
    *_element(
        *("E4b", "sign_in_bit_7", "looks for the sign in bit 7"),
        *(_positive, "FP4 and FP6 in bytes"),
        formats=FP6_FP4,
    ),
    *_element(
        *("E4c", "negative_as_complement", "reads negative codes as two's complement"),
        _complement,
    ),
    *_element(
        *("E5", "hidden_bit_of_subnormals", "reads subnormal codes with a hidden one"),
        *(_hidden_bit, "local-inference-lab/b12x#388", "tile-ai/tilelang#2704"),
    ),
    *_element(
        *("E5b", "subnormals_one_binade_low", "reads subnormal codes with exponent 0 - bias"),
        _low_exponent,
    ),
    *_element(*("E5c", "element_bias", "takes a bias that is one too large"), _other_bias),
    *_element(
        *("E6", "e4m3_nan_is_480", "reads code 7F as 480"),
        *(_no_specials, "intel/intel-xpu-backend-for-triton#7772"),
        formats=("e4m3",),
    ),
    *_element(
        *("E6b", "top_binade_is_nan", "reads every code of the top binade as NaN"),
        _top_is_nan,
        formats=("e4m3",),
    ),
    *_element(
        *("E7", "e5m2_specials_are_numbers", "reads infinities and NaNs as numbers"),
        _no_specials,
        formats=("e5m2",),
    ),
    *_element(
        *("E7b", "e5m2_infinity_is_nan", "reads infinities as NaN"),
        _top_is_nan,
        formats=("e5m2",),
    ),
    _product(
        *("E8", "products_flushed", "flushes subnormal products to zero"),
        dequantizer(finish=_flushed),
    ),
    _product(
        *("E9a", "products_saturated", "saturates products that are too large"),
        _dequantize(product_overflow="saturate"),
    ),
    _product(
        *("E9b", "large_products_are_nan", "makes products that are too large NaN"),
        _dequantize(product_overflow="nan"),
    ),
    *_scale(
        *("E10", "linear_scale", "reads the scale byte as a number"),
        *(_from_scales(_linear_scales), dequantizer(scales=_linear_scales), "jundot/omlx#2159"),
    ),
    *_element(
        *("F1b", "minus_128_is_minus_127", "reads code 80 as -127/64"),
        _minus_128(127),
        formats=INT8,
    ),
    *_element(
        *("F1c", "minus_128_is_zero", "reads code 80 as zero"),
        _minus_128(0),
        formats=INT8,
    ),
    *_element(
        *("F2c", "factor_not_read", "forgets that a unit is 2**-6"),
        *(_stepped(6), "NVIDIA/Model-Optimizer#250"),
        formats=INT8,
    ),
    *_element(
        *("F2d", "factor_read_as_2_to_minus_7", "takes 2**-7 for a unit"),
        _stepped(-1),
        formats=INT8,
    ),
    *_element(
        *("F4b", "sign_and_magnitude_read", "reads codes as sign and magnitude"),
        *(_sign_and_magnitude, "microsoft/microxcaling#3"),
        formats=INT8,
    ),
)
