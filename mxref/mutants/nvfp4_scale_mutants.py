"""Classes C, D, E and G of NVFP4's two scales: conventions, widths and neighbours confused.

They complete `mxref.mutants.nvfp4_mutants`, of whose stages they are made. One that names no source
is a mechanism: a step of the formulas in SPEC_NOTES N41 and N42 that is left out or done elsewhere.
A scale that is read as signed E4M3 is none of them: no code of UE4M3 has that sign, so what is
wrong about signed scales is how they are made (C8g) or which bit is the sign (E10d).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import (
    BF16,
    F16,
    F32,
    F64,
    I64,
    U8,
    FloatLayout,
    Floats,
    Parts,
    bits_of,
    compose,
    floats_from,
    layout_of,
    split,
)
from mxref.blocks.dequantization import dequantize
from mxref.blocks.exact_scales import quotient
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.formats.catalog import E2M1, UE4M3
from mxref.mutants.block_mutants import largest, signed_largest
from mxref.mutants.mutant import FLOATS, Function, Mutants, wrong
from mxref.mutants.nvfp4_mutants import dequantizer, divided, over, quantizer, sixth
from mxref.numbers.codes import every_code
from mxref.numbers.element import encode_parts
from mxref.policy.policy import Policy

__all__ = ["NVFP4_SCALES"]

Pair = tuple[U8, U8]
_SCALES = every_code(UE4M3)
_CODES = np.arange(UE4M3.code_count)
_ELEMENT = Policy().element
#: The code of 256, the largest scale of "4 over 6", and the bit of a sign.
_CODE_256, _SIGN = 0x78, 0x80
#: The smallest float32.
_SMALLEST = np.uint32(1).view(np.float32)
_ONE = np.ones(1, np.float32)


def _encoded(scales: Parts) -> I64:
    return encode_parts(scales, UE4M3, _ELEMENT).astype(np.int64)


def _some(parts: Parts, index: Any) -> Parts:
    """Numbers of an array of them."""
    fields = (getattr(parts, field.name)[index] for field in dataclasses.fields(Parts))
    return Parts(*fields)


# The scale of the tensor.


def _under(change: Callable[[np.float32], Any], right: Function) -> Function:
    """An operation under another scale of the tensor, its last argument."""

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            scale = np.float32(change(np.float32(arguments[-1])))
        # One that has become 0 would make all quotients infinite: so does the smallest number.
        return right(*arguments[:-1], max(scale, _SMALLEST))

    return run


def _times(factor: float) -> Callable[[np.float32], Any]:
    return lambda scale: scale * np.float32(factor)


def _of_amax(scale: np.float32) -> Any:
    """What the scale would be if it were the tensor's amax."""
    return scale / np.float32(6 * 448)


def _narrow(parts: Parts, layout: FloatLayout) -> Parts:
    """Numbers rounded to a float type, ties to even."""
    return split(compose(parts, layout), layout)


def _in_bfloat16(scale: np.float32) -> Any:
    parts = split(*bits_of(np.array([scale], np.float32)))
    return floats_from(compose(_narrow(parts, BF16), F32), F32)[0]


def _half_read(scale: np.float32) -> Any:
    """Four bytes that begin with a bfloat16, and zeros after it, read as a float32."""
    return (scale.view(np.uint32) >> np.uint32(16)).view(np.float32)


def _over_448(scale_codes: U8, codes: U8, format: str, dtype: Any, tensor_scale: Any) -> Floats:
    """Transformer Engine's arithmetic of an amax that stands for 6 * 448, not for 6 * 256."""
    bits = int(np.float32(tensor_scale).view(np.uint32))
    return dequantize(
        codes,
        dtype,
        Policy().replace(scale_arithmetic="transformer_engine"),
        scale_codes=scale_codes[:, np.newaxis],
        block_format=format,
        tensor_scale=TensorScale(bits, TensorScaleKind.AMAX),
    )


# The scales of blocks.


def _of_amax_itself(amax: Parts) -> I64:
    """The scale of amax, not of amax / 6."""
    return _encoded(amax)


def _at_most_256(amax: Parts) -> I64:
    return np.minimum(sixth(amax), _CODE_256)


def _of_pair(magnitudes: NDArray[Any], parts: Parts) -> NDArray[Any]:
    """Amax of each two blocks, of 32 elements."""
    top = largest(magnitudes, parts)
    for first in range(0, len(top) - 1, 2):
        top[first : first + 2] = top[first : first + 2].max()
    return top


def _of_half(magnitudes: NDArray[Any], parts: Parts) -> NDArray[Any]:
    """Amax of the first eight elements; NaN and infinities are seen in all of them."""
    special = (parts.is_inf | parts.is_nan).any(axis=1)
    top: NDArray[Any] = np.where(special, magnitudes.max(axis=1), magnitudes[:, :8].max(axis=1))
    return top


def _of_row_before(right: Function) -> Function:
    """An operation with a scale of the tensor for each row, that takes the one of the row before.

    The first row keeps its own.
    """

    def run(*arguments: Any) -> Any:
        *rest, scales = arguments
        before = np.concatenate([scales[:1], scales[:-1]])[:, 0]
        found: list[NDArray[Any]] = []
        for scale in np.unique(before) if len(before) else _ONE:
            rows = before == scale
            some = (one[rows] if isinstance(one, np.ndarray) else one for one in rest)
            result = right(*some, scale)
            parts = result if isinstance(result, tuple) else (result,)
            found = found or [np.empty((len(rows), *p.shape[1:]), p.dtype) for p in parts]
            for whole, part in zip(found, parts, strict=True):
                whole[rows] = part
        return tuple(found) if len(found) > 1 else found[0]

    vars(run)["row_scales"] = True
    return run


def _amax_in_float32(magnitudes: NDArray[Any], parts: Parts) -> NDArray[Any]:
    found: NDArray[Any] = compose(_narrow(split(largest(magnitudes, parts), F64), F32), F64)
    return found


def _rounded_first(values: NDArray[Any], format: str, tensor_scale: Any) -> Pair:
    """The scale of amax / 6 is rounded, divided by the scale of the tensor, and rounded again."""

    def scale(amax: Parts) -> I64:
        return _encoded(over(_some(_SCALES, sixth(amax)), tensor_scale, 1))

    found: Pair = quantizer(scale, powers=(0, 1))(values, format, tensor_scale)
    return found


def _by_unrounded(values: NDArray[Any], format: str, tensor_scale: Any = 1.0) -> Pair:
    """Elements divided by amax / 6 where that is no more than the largest scale."""
    bits, layout = bits_of(values)
    top = (bits & layout.uint.type(layout.sign_bit - 1)).max(axis=1)
    amax = split(np.where(top < layout.inf_bits, top, 0), layout)
    six = split(bits, layout)
    six = dataclasses.replace(six, significand=six.significand * 3, exponent=six.exponent + 1)
    divisor = np.maximum(amax.significand, 1)[:, np.newaxis]
    found = encode_parts(quotient(six, divisor, amax.exponent[:, np.newaxis]), E2M1, _ELEMENT)
    scales, codes = quantizer()(values, format, tensor_scale)
    seen = (scales > 0) & (scales < UE4M3.max_code)
    return scales, np.where(seen[:, np.newaxis], found, codes)


def _with_sign(values: NDArray[Any], format: str, *tensor_scale: Any) -> Pair:
    """The largest element has the positive code 7, and its scale has its sign."""
    bits, layout = bits_of(values)
    magnitudes = bits & layout.uint.type(layout.sign_bit - 1)
    rows = np.arange(len(bits))
    first = bits[rows, magnitudes.argmax(axis=1)]
    negative = (first > layout.sign_bit) & (first != layout.inf_bits | layout.sign_bit)
    scales, codes = quantizer()(values, format, *tensor_scale)
    negative &= scales < UE4M3.code_count - 1
    turned = codes ^ (negative[:, np.newaxis] * 8).astype(np.uint8)
    return scales | (negative * _SIGN).astype(np.uint8), turned


def _by_misread(parts: Parts, codes: I64) -> Parts:
    """Elements divided by a scale that is read with a hidden bit where it is subnormal."""
    small = (codes > 0) & (codes < 8)
    significand = np.where(small, codes + 8, 1)[:, np.newaxis]
    wrong = quotient(parts, significand, np.full_like(significand, -10))
    right = divided(parts, codes)
    mask = np.broadcast_to(small[:, np.newaxis], parts.significand.shape)
    chosen = (
        np.where(mask, getattr(wrong, field.name), getattr(right, field.name))
        for field in dataclasses.fields(Parts)
    )
    return Parts(*chosen)


# Reading.


def _pairs_read(scale_codes: U8, *rest: Any) -> Floats:
    """Each two blocks under the scale of the first."""
    found: Floats = dequantizer()(scale_codes[np.arange(len(scale_codes)) & ~1], *rest)
    return found


def _through_float32(
    scale_codes: U8, codes: U8, format: str, dtype: Any, tensor_scale: Any
) -> Floats:
    products = dequantizer()(scale_codes, codes, format, np.float32, tensor_scale)
    layout = layout_of(dtype)
    return floats_from(compose(split(products.view(np.uint32), F32), layout), layout)


def _sign_in_bit_6() -> Parts:
    return dataclasses.replace(_some(_SCALES, _CODES & 0x3F), negative=_CODES >= 0x40)


def _joined(layout: FloatLayout | None) -> Function:
    """Both scales multiplied and rounded, to UE4M3 if to no float type, and then the elements."""

    def run(scale_codes: U8, codes: U8, format: str, dtype: Any, tensor_scale: Any) -> Floats:
        def read() -> Parts:
            both = over(_SCALES, tensor_scale, -1)
            return _narrow(both, layout) if layout else _some(_SCALES, _encoded(both))

        found: Floats = dequantizer(read, 0)(scale_codes, codes, format, dtype, tensor_scale)
        return found

    return run


_SCALED = ("fp4_ue4m3", "nvfp4")
_both = partial(wrong, op="quantize", formats=_SCALED, floats=FLOATS, model="M9")
_quantizes = partial(wrong, op="quantize", formats=("nvfp4",), floats=FLOATS, model="M16")
_reads = partial(wrong, op="dequantize", formats=("nvfp4",), floats=FLOATS, model="M10")
_reads_both = partial(_reads, formats=_SCALED)
_4OVER6 = "ocp+scale_arithmetic=transformer_engine_4over6"

NVFP4_SCALES: Mutants = {
    "C8f scale_of_largest_number: takes the largest number of a block, not the largest "
    "magnitude": _both(quantizer(amax=signed_largest)),
    "C8g scale_with_sign: gives the scale the sign of the block's largest element": _both(
        _with_sign
    ),
    "C9d amax_over_32: takes amax over two blocks, 32 elements": _both(quantizer(amax=_of_pair)),
    "C9e amax_over_8: takes amax over the first half of a block": _both(quantizer(amax=_of_half)),
    "C13g scale_clamped_at_256: takes 256 for the largest scale": _both(quantizer(_at_most_256)),
    "C17f scale_rounded_first: rounds amax / 6 to a scale before it is divided by the scale of "
    "the tensor": _quantizes(_rounded_first),
    "C20e factor_of_6_forgotten: takes amax for the scale, not amax / 6": _both(
        quantizer(_of_amax_itself)
    ),
    "C19d amax_in_float32: rounds amax to float32 first": _both(
        quantizer(amax=_amax_in_float32), floats=("f64",)
    ),
    "D5b divided_by_unrounded_scale: divides elements by the scale before it is rounded": _both(
        _by_unrounded, floats=("f32", "bf16", "f16")
    ),
    "D5c scales_joined_in_bfloat16: rounds the product of both scales to bfloat16": _reads(
        _joined(BF16)
    ),
    "D5d scales_joined_in_float16: rounds the product of both scales to float16": _reads(
        _joined(F16)
    ),
    "D5e scales_joined_in_ue4m3: rounds the product of both scales to UE4M3": _reads(_joined(None)),
    "D5f products_in_float32: rounds products under the scale of the tensor to float32 first": (
        _reads(_through_float32, floats=("bf16", "f16", "f64"))
    ),
    "D7n tensor_scale_of_amax: takes the scale of the tensor for its amax": _quantizes(
        _under(_of_amax, quantizer())
    ),
    "D7o tensor_scale_of_amax_on_reading: reads the scale of the tensor as its amax": _reads(
        _under(_of_amax, dequantizer())
    ),
    "D7p tensor_scale_without_6: forgets the factor of 6 in the scale of the tensor": _quantizes(
        _under(_times(6), quantizer())
    ),
    "D7r tensor_scale_without_6_on_reading: forgets the factor of 6 in the scale of the tensor "
    "that it reads": _reads(_under(_times(6), dequantizer())),
    "D7s tensor_scale_for_256: makes 256 of 448 the largest scale of the tensor": _quantizes(
        _under(_times(448 / 256), quantizer())
    ),
    "D7u tensor_scale_for_256_on_reading: takes 256 for 448 in the scale of the tensor that it "
    "reads": _reads(_under(_times(448 / 256), dequantizer())),
    "D7w amax_over_448_on_reading: takes 448 for 256 in the amax of the tensor that it reads": (
        _reads(_over_448, policy=_4OVER6)
    ),
    "D7x tensor_scale_in_bfloat16: rounds the scale of the tensor to bfloat16": _quantizes(
        _under(_in_bfloat16, quantizer())
    ),
    "D7y tensor_scale_in_bfloat16_on_reading: rounds the scale of the tensor that it reads to "
    "bfloat16": _reads(_under(_in_bfloat16, dequantizer())),
    "D7z tensor_scale_bits_of_bfloat16: reads the bits of a bfloat16 as those of the float32 scale "
    "of the tensor": _quantizes(_under(_half_read, quantizer())),
    "E5i divided_by_misread_scale: divides elements by a subnormal scale read with a hidden bit": (
        _both(quantizer(divide=_by_misread))
    ),
    "E10d scale_sign_in_bit_6: reads the highest of a scale's seven bits as a sign": _reads_both(
        dequantizer(_sign_in_bit_6)
    ),
    "G8x tensor_scale_of_row_before: quantizes a row under the scale of the tensor of the row "
    "before": _quantizes(_of_row_before(quantizer())),
    "G8y tensor_scale_of_row_before_read: reads a row under the scale of the tensor of the row "
    "before": _reads(_of_row_before(dequantizer())),
    "G7c one_scale_for_32: reads two blocks, 32 elements, under the scale of the first": (
        _reads_both(_pairs_read)
    ),
}
