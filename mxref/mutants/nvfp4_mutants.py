"""Classes A, C, D and E where the scale is a small float: NVFP4 gone wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import FLT_MAX, F64Array, fl, wide
from mxref.bits.floats import (
    F32,
    F64,
    I64,
    U8,
    Floats,
    Parts,
    bits_of,
    compose,
    floats_from,
    floor_log2,
    layout_of,
    split,
)
from mxref.blocks.exact_scales import quotient, scaled
from mxref.blocks.quantization import quantize
from mxref.formats.catalog import E2M1, UE4M3, block_format
from mxref.mutants.block_mutants import largest
from mxref.mutants.mutant import DEQUANTIZED, FLOATS, Function, Mutants, wrong
from mxref.numbers.codes import every_code
from mxref.numbers.element import encode_parts
from mxref.policy.policy import Policy

__all__ = ["SCALED", "dequantizer", "divided", "over", "quantizer", "sixth"]

Pair = tuple[U8, U8]
_FORMAT = block_format("fp4_ue4m3")
_SCALES = every_code(UE4M3)
_NUMBERS: F64Array = compose(_SCALES, F64).view(np.float64)


def _sixth(policy: str = "ocp") -> Callable[[Parts], I64]:
    """The scale of amax / 6, rounded as a policy says."""
    element = Policy.parse(policy).element
    return lambda amax: encode_parts(
        quotient(amax, np.int64(3), np.int64(1)), UE4M3, element
    ).astype(np.int64)


#: The scale of amax / 6.
sixth = _sixth()


def divided(parts: Parts, codes: I64) -> Parts:
    """Numbers divided by their block's scale, rounded to odd."""
    return scaled(parts, codes, _FORMAT, None)


def over(parts: Parts, tensor_scale: Any, power: int) -> Parts:
    """Numbers divided by a power of the tensor's scale, -2 to 2, rounded to odd."""
    one = split(*bits_of(np.array([tensor_scale], np.float32)))
    for _ in range(abs(power)):
        if power > 0:
            parts = quotient(parts, one.significand[0], one.exponent[0])
        else:
            short = _in_38_bits(parts)
            parts = dataclasses.replace(
                short,
                significand=short.significand * one.significand[0],
                exponent=short.exponent + one.exponent[0],
            )
    return parts


def _in_38_bits(parts: Parts) -> Parts:
    """Numbers rounded to odd, so that they can be multiplied by one of 24 bits."""
    over = np.maximum(floor_log2(parts.significand) - 37, 0)
    short = parts.significand >> over
    return dataclasses.replace(
        parts,
        significand=short | (short << over != parts.significand),
        exponent=parts.exponent + over,
    )


def quantizer(
    scale: Callable[[Parts], I64] = sixth,
    divide: Callable[[Parts, I64], Parts] = divided,
    amax: Callable[[NDArray[Any], Parts], NDArray[Any]] = largest,
    powers: tuple[int, int] = (1, 1),
) -> Function:
    """A `quantize` to blocks with UE4M3 scales, made of these stages; the defaults are right.

    Under a tensor scale the block scales are divided by its first power, elements by its second.

    >>> scales, codes = quantizer()(np.float32([[6.0, 1.25] * 8]), "fp4_ue4m3")
    >>> scales, codes[0, :2]
    (array([56], dtype=uint8), array([7, 2], dtype=uint8))
    """
    element = Policy().element

    def quantize(values: NDArray[Any], format: str, tensor_scale: Any = 1.0) -> Pair:
        bits, layout = bits_of(values)
        parts = split(bits, layout)
        magnitude = bits & layout.uint.type(layout.sign_bit - 1)
        top = amax(magnitude, parts)
        special = top >= layout.inf_bits
        finite = split(np.where(special, 0, top), layout)
        codes = scale(over(finite, tensor_scale, powers[0]))
        significand = parts.significand * (codes != 0)[:, np.newaxis]
        parts = dataclasses.replace(parts, significand=significand)
        parts = over(parts, tensor_scale, powers[1])
        elements = encode_parts(divide(parts, codes), E2M1, element)
        elements[special] = 0
        return np.where(special, UE4M3.code_count - 1, codes).astype(np.uint8), elements

    return quantize


def _by_reciprocal(parts: Parts, codes: I64) -> Parts:
    """The elements times the float32 of 1 / scale, rounded; right where that is exact."""
    inverse = fl(1.0 / np.where(codes == 0, 1.0, _NUMBERS[codes]))[:, np.newaxis]
    numbers = np.where(parts.is_inf | parts.is_nan, 0.0, wide(compose(parts, F32), F32))
    return split(fl(numbers * inverse).view(np.uint64), F64)


def _stage(change: Callable[[I64], I64]) -> Callable[[Parts], I64]:
    return lambda amax: change(sixth(amax))


def _by_four(amax: Parts) -> I64:
    """The scale of amax / 4, with the largest power of two of E2M1, as for MXFP4."""
    quarter = dataclasses.replace(amax, exponent=amax.exponent - 2)
    return encode_parts(quarter, UE4M3, Policy().element).astype(np.int64)


def _powers(codes: I64) -> I64:
    """The smallest power of two that is not below the scale."""
    up = codes + -codes % 8
    return np.where(codes < 8, codes, np.minimum(up, 0x78))


def _by_arithmetic(**choices: Any) -> Function:
    def run(values: NDArray[Any], format: str, tensor_scale: Any) -> Pair:
        blocks = quantize(values, format, tensor_scale=tensor_scale, **choices)
        return blocks.scale_codes, blocks.codes

    return run


def dequantizer(read: Callable[[], Parts] = lambda: _SCALES, power: int = 1) -> Function:
    """A `dequantize` whose scales come from `read`; the default is right.

    In NVFP4 the products are multiplied by a power of the tensor's scale.

    >>> dequantizer()(np.uint8([57]), np.full((1, 16), 2, np.uint8), "fp4_ue4m3", np.float32)[0, 0]
    np.float32(1.125)
    """

    def dequantize(
        scale_codes: U8, codes: U8, format: str, dtype: Any, tensor_scale: Any = None
    ) -> Floats:
        scale, element = read(), every_code(E2M1)
        nan = scale.is_nan[:, np.newaxis] | element.is_nan
        products = Parts(
            negative=(scale.negative[:, np.newaxis] ^ element.negative) & ~nan,
            significand=scale.significand[:, np.newaxis] * element.significand,
            exponent=scale.exponent[:, np.newaxis] + element.exponent,
            is_inf=np.zeros(nan.shape, bool),
            is_nan=nan,
            is_subnormal=np.zeros(nan.shape, bool),
        )
        products = over(products, 1.0 if tensor_scale is None else tensor_scale, -power)
        layout = layout_of(dtype)
        return floats_from(compose(products, layout)[scale_codes[:, np.newaxis], codes], layout)

    return dequantize


def _read(**changed: Any) -> Function:
    return dequantizer(lambda: dataclasses.replace(_SCALES, **changed))


_CODES = np.arange(UE4M3.code_count)
_SUBNORMAL = _CODES < 8
_NOT_NAN = np.zeros(UE4M3.code_count, bool)


def _by_inverse(scale_codes: U8, codes: U8, format: str, dtype: Any, tensor_scale: Any) -> Floats:
    """Multiplies by the float32 of the reciprocal of the tensor's scale."""
    with np.errstate(over="ignore"):
        inverse = np.minimum(np.float32(1.0) / np.float32(tensor_scale), np.float32(FLT_MAX))
    found: Floats = dequantizer()(scale_codes, codes, format, dtype, inverse)
    return found


def _next_scale(values: NDArray[Any], format: str, *tensor_scale: Any) -> Pair:
    scales, codes = quantizer()(values, format, *tensor_scale)
    return np.roll(scales, -1), codes


def _reads_next(scale_codes: U8, *rest: Any) -> Floats:
    found: Floats = dequantizer()(np.roll(scale_codes, -1), *rest)
    return found


_SCALED = ("fp4_ue4m3", "nvfp4")
#: Powers of the tensor's scale that scales and elements are divided by.
_POWERS: tuple[tuple[str, str, str, tuple[int, int]], ...] = (
    (
        "D7b",
        "tensor_scale_forgotten",
        "quantizes without the scale of the tensor",
        (0, 0),
    ),
    (
        "D7d",
        "tensor_scale_inverted",
        "multiplies by the scale of the tensor instead of dividing",
        (-1, -1),
    ),
    (
        "D7e",
        "tensor_scale_not_of_elements",
        "applies the scale of the tensor to the scales but not to the elements",
        (1, 0),
    ),
    (
        "D7f",
        "tensor_scale_not_of_scales",
        "applies the scale of the tensor to the elements but not to the scales",
        (0, 1),
    ),
    (
        "D7g",
        "tensor_scale_twice",
        "applies the scale of the tensor twice",
        (2, 2),
    ),
    (
        "D7h",
        "tensor_scale_of_elements_twice",
        "applies the scale of the tensor to the elements twice",
        (1, 2),
    ),
    (
        "D7i",
        "tensor_scale_of_elements_inverted",
        "multiplies the elements by the scale of the tensor instead of dividing",
        (1, -1),
    ),
    (
        "D7j",
        "tensor_scale_of_scales_inverted",
        "multiplies the scales by the scale of the tensor instead of dividing",
        (-1, 1),
    ),
)

_blocks = partial(wrong, formats=("fp4_ue4m3",))
_quantizes = partial(_blocks, op="quantize", floats=FLOATS, model="M9")
_reads = partial(_blocks, op="dequantize", floats=FLOATS, model="M10")
_with_factor = partial(wrong, formats=("nvfp4",), floats=FLOATS)

SCALED: Mutants = {
    "D3 reciprocal: multiplies by the reciprocal of a scale that is no power of two": _quantizes(
        quantizer(divide=_by_reciprocal), model="M16"
    ),
    "C17c scale_cut_off: cuts the scale off instead of rounding it": _quantizes(
        quantizer(_sixth("ocp+rounding=toward_zero"))
    ),
    "C17d ue4m3_scale_rounded_up: rounds the scale up": _quantizes(
        quantizer(_sixth("ocp+rounding=toward_positive"))
    ),
    "C17e scale_ties_away: rounds a tie of the scale up": _quantizes(
        quantizer(_sixth("ocp+rounding=ties_to_away"))
    ),
    "C20c scale_by_four: divides amax by 4, the largest power of two": _quantizes(
        quantizer(_by_four)
    ),
    "C20d scale_is_a_power: rounds the scale up to a power of two": _quantizes(
        quantizer(_stage(_powers))
    ),
    "C12b small_scales_flushed: flushes subnormal scales to zero": _quantizes(
        quantizer(_stage(lambda codes: np.where(codes < 8, 0, codes)))
    ),
    "C12c small_scales_clamped: takes no scale below the smallest normal one": _quantizes(
        quantizer(_stage(lambda codes: np.maximum(codes, 8)))
    ),
    "C13d large_scales_are_nan: makes a scale beyond the largest one NaN": _quantizes(
        quantizer(_sixth("ocp+overflow=nonsaturating"))
    ),
    "E5d hidden_bit_of_small_scales: reads a subnormal scale with a hidden one": _reads(
        _read(
            significand=_SCALES.significand + 8 * (_SUBNORMAL & (_CODES > 0)),
            exponent=_SCALES.exponent - _SUBNORMAL,
        )
    ),
    "E5e small_scales_one_binade_low: reads a subnormal scale with exponent 0 - bias": _reads(
        _read(exponent=_SCALES.exponent - _SUBNORMAL)
    ),
    "E5f scale_bias_8: takes a bias of 8 for the scale, as E4M3FNUZ has": _reads(
        _read(exponent=_SCALES.exponent - 1)
    ),
    "E1c small_scales_read_as_zero: reads a subnormal scale as zero": _reads(
        _read(significand=np.where(_SUBNORMAL, 0, _SCALES.significand))
    ),
    "E6c scale_7f_is_480: reads scale code 7F as 480": _reads(_read(is_nan=_NOT_NAN)),
    "E10b scale_read_as_e8m0: reads the scale as a power of two, code - 127": _reads(
        _read(significand=_CODES * 0 + 1, exponent=_CODES - 127)
    ),
    "E10c linear_ue4m3: reads the scale byte as a number": _reads(
        _read(significand=_CODES, exponent=_CODES * 0)
    ),
    **{
        f"{id} {name}: {text}": _with_factor(quantizer(powers=powers), op="quantize", model="M16")
        for id, name, text, powers in _POWERS
    },
    "D3d reciprocal_of_tensor_scale: multiplies by reciprocals of both scales": _with_factor(
        _by_arithmetic(scale_arithmetic="torchao"), op="quantize", model="M9"
    ),
    "D7c tensor_scale_not_read: reads without the scale of the tensor": _with_factor(
        dequantizer(power=0), op="dequantize", model="M10"
    ),
    "D7k tensor_scale_inverted_on_reading: divides by the scale of the tensor instead of "
    "multiplying": _with_factor(
        dequantizer(power=-1), op="dequantize", floats=DEQUANTIZED, model="M10"
    ),
    "D7l reciprocal_of_tensor_scale_on_reading: multiplies by a float32 of 1 / the scale of the "
    "tensor": _with_factor(_by_inverse, op="dequantize", model="M10"),
    "D7m tensor_scale_read_twice: multiplies by the scale of the tensor twice": _with_factor(
        dequantizer(power=2), op="dequantize", model="M10"
    ),
    "G8m scale_of_next_block_of_nvfp4: stores the scale of the next block": wrong(
        _next_scale, op="quantize", formats=_SCALED, floats=FLOATS, model="M9"
    ),
    "G8n scale_of_next_block_of_nvfp4_read: reads a block under the scale of the next one": wrong(
        _reads_next, op="dequantize", formats=_SCALED, floats=FLOATS, model="M10"
    ),
}
