"""The keyword choices of every operation, as types, from which `mxref.policy.READS` is derived."""

from __future__ import annotations

from typing import TypedDict

from mxref.policy import choices as c
from mxref.policy.choices import Rounding
from mxref.policy.scale_rule import ScaleRule


class ElementChoices(TypedDict, total=False):
    """Keyword choices of `encode`."""

    rounding: str | Rounding
    overflow: str | c.Overflow
    clamp: str | c.Clamp
    nan: str | c.NaN
    nan_to_finite: str | c.NaNToFinite
    zero_sign: str | c.ZeroSign
    underflow_sign: str | c.UnderflowSign
    subnormal_inputs: str | c.SubnormalInputs
    int8_range: str | c.Int8Range
    pre_rounding: str | c.PreRounding


class _BlockScaleChoices(TypedDict, total=False):
    zero_block: str | c.ZeroBlock
    scale_overflow: str | c.ScaleOverflow
    scale_underflow: str | c.ScaleUnderflow
    amax_type: str | c.AmaxType
    int8_emax: str | c.Int8Emax


class SharedScaleChoices(_BlockScaleChoices, total=False):
    """Keyword choices of `shared_scale`; the rule is an argument of its own."""


class QuantizeChoices(ElementChoices, _BlockScaleChoices, total=False):
    """Keyword choices of `quantize`."""

    scale_rule: str | ScaleRule
    block_nan: str | c.BlockNaN
    block_inf: str | c.BlockInf
    nan_block_codes: str | c.NaNBlockCodes
    scaling: str | c.Scaling
    scale_arithmetic: str | c.ScaleArithmetic
    tail: str | c.Tail


class _FloatScaleChoices(TypedDict, total=False):
    amax_floor: str | c.AmaxFloor
    scale_from: str | c.ScaleFrom
    scale_power: str | c.ScalePower
    element_from: str | c.ElementFrom


class FloatScaleChoices(ElementChoices, _FloatScaleChoices, total=False):
    """Keyword choices of `quantize` under float32 scales."""

    block_nan: str | c.BlockNaN
    tail: str | c.Tail


class AnyQuantizeChoices(QuantizeChoices, _FloatScaleChoices, total=False):
    """Keyword choices of `quantize` under scales of any kind."""


class EncodeScaleChoices(TypedDict, total=False):
    """Keyword choices of `encode_scale`."""

    scale_rounding: str | c.ScaleRounding
    scale_overflow: str | c.ScaleOverflow
    scale_of_zero: str | c.ScaleOfZero
    scale_of_negative: str | c.ScaleOfNegative
    scale_of_inf: str | c.ScaleOfInf
    tiny_scale: str | c.TinyScale
    pre_rounding: str | c.PreRounding


class DecodeChoices(TypedDict, total=False):
    """Keyword choices of `decode`."""

    decoded_zero: str | c.DecodedZero


class DecodeScaleChoices(TypedDict, total=False):
    """Keyword choices of `decode_scale`."""

    scale_00: str | c.Scale00
    scale_ff: str | c.ScaleFF


class DequantizeChoices(DecodeChoices, DecodeScaleChoices, total=False):
    """Keyword choices of `dequantize`."""

    product_overflow: str | c.ProductOverflow
    product_rounding: str | c.ProductRounding
    scale_arithmetic: str | c.ScaleArithmetic


class ProductChoices(TypedDict, total=False):
    """Keyword choices of `matmul`."""

    accumulation: str | c.Accumulation


class LinearChoices(QuantizeChoices, ProductChoices, total=False):
    """Keyword choices of `linear`: those of quantizing its operands, and of the product."""

    weight_axis: str | c.WeightAxis
    activations: str | c.Activations


class LinearGradientsChoices(QuantizeChoices, ProductChoices, total=False):
    """Keyword choices of `linear_gradients`: those of quantizing, and of the products."""

    backward_operands: str | c.BackwardOperands
    gradient_rows: str | c.GradientRows


class PackChoices(TypedDict, total=False):
    """Keyword choices of `pack`, `unpack` and `packed_size`."""

    fp4_packing: str | c.FP4Packing
    fp6_packing: str | c.FP6Packing


class PackBlocksChoices(PackChoices, total=False):
    """Keyword choices of `pack_blocks` and `unpack_blocks`."""

    scale_place: str | c.ScalePlace
    scale_byte: str | c.ScaleByte


class PackScalesChoices(TypedDict, total=False):
    """Keyword choices of `pack_scales` and `unpack_scales`."""

    scale_layout: str | c.ScaleLayout
