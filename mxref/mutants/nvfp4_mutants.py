"""Classes A, C, D and E where the scale is a small float: NVFP4 gone wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, fl, wide
from mxref.bits.floats import F32, F64, I64, U8, Floats, Parts, bits_of, compose, floats_from, split
from mxref.blocks.quantization import quantize
from mxref.blocks.two_level import quotient, scaled
from mxref.formats.catalog import E2M1, UE4M3, block_format
from mxref.mutants.mutant import Function, Mutant
from mxref.numbers.codes import every_code
from mxref.numbers.element import encode_parts
from mxref.policy.policy import Policy

__all__ = ["SCALED"]

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


_SIXTH = _sixth()


def _divided(parts: Parts, codes: I64) -> Parts:
    return scaled(parts, codes, _FORMAT, None)


def quantizer(
    scale: Callable[[Parts], I64] = _SIXTH,
    divide: Callable[[Parts, I64], Parts] = _divided,
    policy: str = "ocp",
) -> Function:
    """A `quantize` to blocks with UE4M3 scales in stages; with none of them replaced it is right.

    >>> scales, codes = quantizer()(np.float32([[6.0, 1.25] * 8]), "fp4_ue4m3")
    >>> scales, codes[0, :2]
    (array([56], dtype=uint8), array([7, 2], dtype=uint8))
    """
    element = Policy.parse(policy).element

    def quantize(values: NDArray[Any], format: str) -> Pair:
        bits, layout = bits_of(values)
        parts = split(bits, layout)
        magnitude = bits & layout.uint.type(layout.sign_bit - 1)
        special = (parts.is_inf | parts.is_nan).any(axis=1)
        codes = scale(split(np.where(special, 0, magnitude.max(axis=1)), layout))
        significand = parts.significand * (codes != 0)[:, np.newaxis]
        parts = dataclasses.replace(parts, significand=significand)
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
    return lambda amax: change(_SIXTH(amax))


def _by_four(amax: Parts) -> I64:
    """The scale of amax / 4, with the largest power of two of E2M1, as for MXFP4."""
    quarter = dataclasses.replace(amax, exponent=amax.exponent - 2)
    return encode_parts(quarter, UE4M3, Policy().element).astype(np.int64)


def _powers(codes: I64) -> I64:
    """The power of two not below the scale."""
    up = codes + -codes % 8
    return np.where(codes < 8, codes, np.minimum(up, 0x78))


def _with_tensor_scale(values: NDArray[Any], format: str, tensor_scale: Any) -> Pair:
    """Forgets the tensor's scale."""
    blocks = quantize(values, "fp4_ue4m3")
    return blocks.scale_codes, blocks.codes


def _by_arithmetic(**choices: Any) -> Function:
    def run(values: NDArray[Any], format: str, tensor_scale: Any) -> Pair:
        blocks = quantize(values, format, tensor_scale=tensor_scale, **choices)
        return blocks.scale_codes, blocks.codes

    return run


def dequantizer(read: Callable[[], Parts] = lambda: _SCALES) -> Function:
    """A `dequantize` that reads UE4M3 scales so; as it stands it is right.

    >>> dequantizer()(np.uint8([57]), np.full((1, 16), 2, np.uint8), "fp4_ue4m3", np.float32)[0, 0]
    np.float32(1.125)
    """

    def dequantize(
        scale_codes: U8, codes: U8, format: str, dtype: Any, tensor_scale: Any = None
    ) -> Floats:
        scale, element = read(), every_code(E2M1)
        nan = scale.is_nan[:, np.newaxis] | element.is_nan
        products = Parts(
            negative=element.negative & ~nan,
            significand=scale.significand[:, np.newaxis] * element.significand,
            exponent=scale.exponent[:, np.newaxis] + element.exponent,
            is_inf=np.zeros(nan.shape, bool),
            is_nan=nan,
            is_subnormal=np.zeros(nan.shape, bool),
        )
        return floats_from(compose(products, F32)[scale_codes[:, np.newaxis], codes], F32)

    return dequantize


def _read(**changed: Any) -> Function:
    return dequantizer(lambda: dataclasses.replace(_SCALES, **changed))


_CODES = np.arange(UE4M3.code_count)
_SUBNORMAL = _CODES < 8
_NOT_NAN = np.zeros(UE4M3.code_count, bool)


def _quantizes(id: str, name: str, text: str, run: Function, *seen: str) -> Mutant:
    floats = ("f32", "bf16")
    return Mutant(id, name, text, "quantize", run, ("fp4_ue4m3",), floats, "M9", seen)


def _reads(id: str, name: str, text: str, run: Function, *seen: str) -> Mutant:
    return Mutant(id, name, text, "dequantize", run, ("fp4_ue4m3",), ("f32",), "M10", seen)


def _with_factor(id: str, name: str, text: str, op: str, run: Function, model: str) -> Mutant:
    return Mutant(id, name, text, op, run, ("nvfp4",), ("f32",), model)


SCALED = (
    _quantizes(
        *("D3", "reciprocal", "multiplies by the reciprocal of a scale that is no power of two"),
        *(quantizer(divide=_by_reciprocal), "arch-hdl-lang/arch-com#905"),
    ),
    _quantizes(
        *("C17c", "scale_cut_off", "cuts the scale off instead of rounding it"),
        quantizer(_sixth("ocp+rounding=toward_zero")),
    ),
    _quantizes(
        *("C17d", "ue4m3_scale_rounded_up", "rounds the scale up"),
        quantizer(_sixth("ocp+rounding=toward_positive")),
    ),
    _quantizes(
        *("C17e", "scale_ties_away", "rounds a tie of the scale up"),
        quantizer(_sixth("ocp+rounding=ties_to_away")),
    ),
    _quantizes(
        *("C20c", "scale_by_four", "divides amax by 4, the largest power of two"),
        quantizer(_by_four),
    ),
    _quantizes(
        *("C20d", "scale_is_a_power", "rounds the scale up to a power of two"),
        quantizer(_stage(_powers)),
    ),
    _quantizes(
        *("C12b", "small_scales_flushed", "flushes subnormal scales to zero"),
        quantizer(_stage(lambda codes: np.where(codes < 8, 0, codes))),
    ),
    _quantizes(
        *("C12c", "small_scales_clamped", "takes no scale below the smallest normal one"),
        *(quantizer(_stage(lambda codes: np.maximum(codes, 8))), "torchao"),
    ),
    _quantizes(
        *("C13d", "large_scales_are_nan", "makes a scale beyond the largest one NaN"),
        quantizer(_sixth("ocp+overflow=nonsaturating")),
    ),
    _quantizes(
        *("A1r", "ties_away_under_scale", "rounds a tie of an element away from zero"),
        quantizer(policy="ocp+rounding=ties_to_away"),
    ),
    _reads(
        *("E5d", "hidden_bit_of_small_scales", "reads a subnormal scale with a hidden one"),
        _read(
            significand=_SCALES.significand + 8 * (_SUBNORMAL & (_CODES > 0)),
            exponent=_SCALES.exponent - _SUBNORMAL,
        ),
    ),
    _reads(
        *("E5e", "small_scales_one_binade_low", "reads a subnormal scale with exponent 0 - bias"),
        _read(exponent=_SCALES.exponent - _SUBNORMAL),
    ),
    _reads(
        *("E5f", "scale_bias_8", "takes a bias of 8 for the scale, as E4M3FNUZ has"),
        _read(exponent=_SCALES.exponent - 1),
    ),
    _reads(
        *("E1c", "small_scales_read_as_zero", "reads a subnormal scale as zero"),
        _read(significand=np.where(_SUBNORMAL, 0, _SCALES.significand)),
    ),
    _reads(
        *("E6c", "scale_7f_is_480", "reads scale code 7F as 480"),
        _read(is_nan=_NOT_NAN),
    ),
    _reads(
        *("E10b", "scale_read_as_e8m0", "reads the scale as a power of two, code - 127"),
        _read(significand=_CODES * 0 + 1, exponent=_CODES - 127),
    ),
    _reads(
        *("E10c", "linear_ue4m3", "reads the scale byte as a number"),
        _read(significand=_CODES, exponent=_CODES * 0),
    ),
    _with_factor(
        *("D7b", "tensor_scale_forgotten", "quantizes without the scale of the tensor"),
        *("quantize", _with_tensor_scale, "M9"),
    ),
    _with_factor(
        *("D3d", "reciprocal_of_tensor_scale", "multiplies by reciprocals of both scales"),
        *("quantize", _by_arithmetic(scale_arithmetic="torchao"), "M9"),
    ),
    _with_factor(
        *("D7c", "tensor_scale_not_read", "reads without the scale of the tensor"),
        *("dequantize", dequantizer(), "M10"),
    ),
)
