"""Classes D, E and F: `decode`, `decode_scale` and `dequantize` gone wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, U8, FloatLayout, Parts, compose, floats_from
from mxref.formats.catalog import ElementFormat
from mxref.mutants.decoder import Elements, Table, decoder, dequantizer, magnitudes, replaced
from mxref.mutants.mutant import (
    DECODED,
    E8M0,
    FP,
    FP6_FP4,
    INT8,
    Function,
    Mutant,
    Mutants,
    blocks_of,
    wrong,
)
from mxref.mutants.product_mutants import by_policy, dequantizes
from mxref.numbers.codes import every_code
from mxref.numbers.scale import decode_scale, scale_parts
from mxref.policy.groups import DecodePolicy

__all__ = ["DECODERS"]


def _decode_scale(**choices: Any) -> Function:
    return lambda codes: decode_scale(codes, **choices)


def _hidden_bit(fmt: ElementFormat, *, zeros: bool = False) -> Parts:
    """Subnormal codes, and perhaps zeros, read as if they were normal, one binade lower."""
    parts = every_code(fmt)
    low = magnitudes(fmt) < 1 << fmt.mantissa_bits
    hidden = low & (zeros | (parts.significand != 0))
    return replaced(
        fmt,
        significand=parts.significand + hidden * (1 << fmt.mantissa_bits),
        exponent=parts.exponent - low,
    )


def _low_exponent(fmt: ElementFormat) -> Parts:
    """Subnormal codes one binade too low: exponent 0 - bias instead of 1 - bias."""
    return replaced(fmt, exponent=every_code(fmt).exponent - every_code(fmt).is_subnormal)


def _other_bias(fmt: ElementFormat) -> Parts:
    return replaced(fmt, exponent=every_code(fmt).exponent - 1)


def _no_specials(fmt: ElementFormat) -> Parts:
    no = np.zeros(fmt.code_count, bool)
    negative = (np.arange(fmt.code_count) & fmt.sign_bit) != 0
    return replaced(fmt, is_nan=no, is_inf=no, negative=negative)


def _top_is_nan(fmt: ElementFormat) -> Parts:
    top = (fmt.sign_bit - 1) >> fmt.mantissa_bits << fmt.mantissa_bits
    return replaced(fmt, is_nan=magnitudes(fmt) >= top)


def _positive(fmt: ElementFormat) -> Parts:
    """No code negative, since the sign is expected in bit 7."""
    return replaced(fmt, negative=np.zeros(fmt.code_count, bool))


def _complement(fmt: ElementFormat) -> Parts:
    """Negative codes read as two's complement."""
    codes = np.arange(fmt.code_count)
    parts = every_code(fmt)
    where = np.where(codes & fmt.sign_bit, -codes & (fmt.sign_bit - 1), codes)
    return replaced(fmt, significand=parts.significand[where], exponent=parts.exponent[where])


def _sign_and_magnitude(fmt: ElementFormat) -> Parts:
    return replaced(fmt, significand=magnitudes(fmt))


def _minus_128(significand: int) -> Elements:
    """INT8 code 80 read as -significand / 64."""

    def elements(fmt: ElementFormat) -> Parts:
        parts = every_code(fmt)
        code = np.arange(256) == 0x80
        return replaced(
            fmt,
            significand=np.where(code, significand, parts.significand),
            exponent=np.where(code, -6, parts.exponent),
        )

    return elements


def _stepped(step: int) -> Elements:
    return lambda fmt: replaced(fmt, exponent=every_code(fmt).exponent + step)


def _scales(spoil: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Callable[[], Parts]:
    """Scales with other exponents."""

    def scales() -> Parts:
        parts = scale_parts(DecodePolicy())
        return dataclasses.replace(parts, exponent=spoil(parts.exponent))

    return scales


def _from_scales(scales: Callable[[], Parts]) -> Function:
    return lambda codes: floats_from(compose(scales(), F32)[codes], F32)


def _linear_scales() -> Parts:
    """The scale byte as a number."""
    codes = np.arange(256)
    return Parts.finite(codes < 0, codes, np.zeros(256, np.int64))


def _inexact(codes: U8) -> Any:
    """Scales of which 2**127 is one unit too large, as a vectorised exp2 of float32 gives it."""
    bits = decode_scale(codes).view(np.uint32) + (codes == 0xFE)
    return bits.astype(np.uint32).view(np.float32)


def _inexact_products(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    table = table.copy()
    magnitude = table[0xFE] & layout.uint.type(layout.sign_bit - 1)
    table[0xFE] += ((magnitude > 0) & (magnitude < layout.inf_bits)).astype(layout.uint)
    return table


def _element(elements: Elements, formats: tuple[str, ...] = FP) -> tuple[Mutant, Mutant]:
    """A wrong reading of element codes, alone and under a scale."""
    return (
        _decodes(decoder(elements), op="decode", formats=formats),
        dequantizes(dequantizer(elements), formats=blocks_of(formats)),
    )


def _scale(alone: Function, under: Function) -> tuple[Mutant, Mutant]:
    """A wrong reading of scale codes, alone and in a block."""
    return _decodes(alone, op="decode_scale", formats=E8M0), dequantizes(under)


def _biased(bias: int) -> tuple[Mutant, Mutant]:
    """Scales read with another bias."""
    scales = _scales(lambda exponent: exponent + 127 - bias)
    return _scale(_from_scales(scales), dequantizer(scales=scales))


def _emax_times(times: int) -> Mutant:
    """Products times a power of 2**emax; not for INT8, whose emax is 0."""

    def elements(fmt: ElementFormat) -> Parts:
        return replaced(fmt, exponent=every_code(fmt).exponent + times * fmt.emax)

    return dequantizes(dequantizer(elements), formats=blocks_of(FP))


def _neighbour(scale_codes: U8, codes: U8, format: str, dtype: Any) -> Any:
    """Each block read under the scale of the next one, the last under that of the first."""
    return dequantizer()(np.roll(scale_codes, -1), codes, format, dtype)


_decodes = partial(wrong, floats=DECODED, model="M10")

DECODERS: Mutants = {
    "C5e emax_multiplied: multiplies by 2**emax, too": _emax_times(1),
    "C5f emax_divided: divides by 2**emax, too": _emax_times(-1),
    "C6d read_bias_128: subtracts a bias of 128: every output is half the right one": _biased(128),
    "C6f read_bias_126: subtracts a bias of 126: every output is twice the right one": _biased(126),
    "C6g read_bias_125: subtracts a bias of 125: every output is 4 times the right one": _biased(
        125
    ),
    "C6n read_without_bias: subtracts no bias: every output is 2**127 times the right one": _biased(
        0
    ),
    "D7 divided_by_scale: divides by the scale instead of multiplying": dequantizes(
        dequantizer(scales=_scales(lambda exponent: -exponent))
    ),
    "D8 exp2_inexact: makes 2**127 one unit too large, by a float32 exp2": _scale(
        _inexact, dequantizer(finish=_inexact_products)
    ),
    "E1 scale_00_is_zero: reads scale code 00 as 0, or flushes 2**-127": _scale(
        _decode_scale(scale_00="zero"),
        by_policy(scale_00="zero"),
    ),
    "E1b scale_00_is_normal: reads scale code 00 as 2**-126": _scale(
        _from_scales(_scales(lambda exponent: np.maximum(exponent, -126))),
        dequantizer(scales=_scales(lambda exponent: np.maximum(exponent, -126))),
    ),
    "E2a scale_ff_is_infinite: reads scale code FF as infinity": _scale(
        _decode_scale(scale_ff="inf"), by_policy(scale_ff="inf")
    ),
    "E2b scale_ff_is_a_power: reads scale code FF as 2**128": _scale(
        _decode_scale(scale_ff="power"), by_policy(scale_ff="power")
    ),
    "E4 minus_zero_read_as_zero: reads -0 as +0": _element(
        lambda fmt: replaced(fmt, negative=every_code(fmt).negative & (magnitudes(fmt) != 0)),
    ),
    "E4b sign_in_bit_7: looks for the sign in bit 7": _element(_positive, formats=FP6_FP4),
    "E4c negative_read_as_complement: reads negative codes as two's complement": _element(
        _complement
    ),
    "E5 hidden_bit_of_subnormals: reads subnormal codes with a hidden one": _element(
        _hidden_bit,
    ),
    "E5h hidden_bit_always: reads zeros and subnormal codes with a hidden one": _element(
        partial(_hidden_bit, zeros=True),
    ),
    "E5b subnormals_one_binade_low: reads subnormal codes with exponent 0 - bias": _element(
        _low_exponent
    ),
    "E5c element_bias: takes a bias that is one too large": _element(_other_bias),
    "E6 e4m3_nan_is_480: reads NaN as 480 with its sign": _element(_no_specials, formats=("e4m3",)),
    "E6b top_binade_read_as_nan: reads every code of the top binade as NaN": _element(
        _top_is_nan, formats=("e4m3",)
    ),
    "E7 e5m2_specials_are_numbers: reads infinities and NaNs as numbers": _element(
        _no_specials, formats=("e5m2",)
    ),
    "E7b e5m2_infinity_is_nan: reads infinities as NaN": _element(_top_is_nan, formats=("e5m2",)),
    "E10 linear_scale: reads the scale byte as a number": _scale(
        _from_scales(_linear_scales), dequantizer(scales=_linear_scales)
    ),
    "G8i scale_of_next_block_read: reads a block under the scale of the next one": dequantizes(
        _neighbour
    ),
    "F1b minus_128_is_minus_127: reads code 80 as -127/64": _element(_minus_128(127), formats=INT8),
    "F1c minus_128_is_zero: reads code 80 as zero": _element(_minus_128(0), formats=INT8),
    "F2c factor_not_read: forgets that a unit is 2**-6": _element(_stepped(6), formats=INT8),
    "F2d factor_read_as_2_to_minus_7: takes 2**-7 for a unit": _element(_stepped(-1), formats=INT8),
    "F4b sign_and_magnitude_read: reads codes as sign and magnitude": _element(
        _sign_and_magnitude, formats=INT8
    ),
}
