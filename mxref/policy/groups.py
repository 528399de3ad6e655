"""The choices of a policy in groups, by what reads them, each with its default."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from mxref.policy import choices as c
from mxref.policy.choices import Choice, Rounding
from mxref.policy.scale_rule import ScaleRule
from mxref.support.text import unknown_name

__all__ = [
    "DecodePolicy",
    "ElementPolicy",
    "FloatScalePolicy",
    "LayoutPolicy",
    "ProductPolicy",
    "ScalePolicy",
    "chosen_member",
]


def chosen_member(name: str, value: object, members: list[Choice]) -> Choice:
    """The member of a choice that a member or its spelling means.

    Raises:
        ValueError: no member of the choice.
    """
    known = {member.value: member for member in members}
    if isinstance(value, Choice) and value in members:
        return value
    if not isinstance(value, str) or value not in known:
        raise ValueError(unknown_name(name, value, known))
    return known[value]


class _Group:
    """Base of the parts of a policy, which take members or their spellings."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            kind: Any = type(field.default)
            value = getattr(self, field.name)
            if not isinstance(value, kind):
                object.__setattr__(self, field.name, chosen_member(field.name, value, list(kind)))


@dataclass(frozen=True, slots=True)
class ElementPolicy(_Group):
    """The choices that encoding one element reads."""

    rounding: Rounding = Rounding.TIES_TO_EVEN
    overflow: c.Overflow = c.Overflow.SATURATE
    clamp: c.Clamp = c.Clamp.AFTER_ROUNDING
    nan: c.NaN = c.NaN.POSITIVE
    nan_to_finite: c.NaNToFinite = c.NaNToFinite.MAX
    zero_sign: c.ZeroSign = c.ZeroSign.KEPT
    underflow_sign: c.UnderflowSign = c.UnderflowSign.KEPT
    subnormal_inputs: c.SubnormalInputs = c.SubnormalInputs.KEPT
    int8_range: c.Int8Range = c.Int8Range.SYMMETRIC
    pre_rounding: c.PreRounding = c.PreRounding.NONE


@dataclass(frozen=True, slots=True)
class ScalePolicy(_Group):
    """The choices that finding and encoding a scale read."""

    scale_rule: ScaleRule = ScaleRule.FLOOR
    scale_rounding: c.ScaleRounding = c.ScaleRounding.TOWARD_ZERO
    block_nan: c.BlockNaN = c.BlockNaN.NAN_BLOCK
    block_inf: c.BlockInf = c.BlockInf.NAN_BLOCK
    zero_block: c.ZeroBlock = c.ZeroBlock.CODE_00
    scale_overflow: c.ScaleOverflow = c.ScaleOverflow.CLAMP
    scale_underflow: c.ScaleUnderflow = c.ScaleUnderflow.CLAMP
    amax_type: c.AmaxType = c.AmaxType.SOURCE
    int8_emax: c.Int8Emax = c.Int8Emax.ZERO
    nan_block_codes: c.NaNBlockCodes = c.NaNBlockCodes.ZEROS
    scaling: c.Scaling = c.Scaling.DIVIDE
    scale_arithmetic: c.ScaleArithmetic = c.ScaleArithmetic.EXACT
    scale_of_zero: c.ScaleOfZero = c.ScaleOfZero.CODE_00
    scale_of_negative: c.ScaleOfNegative = c.ScaleOfNegative.MAGNITUDE
    scale_of_inf: c.ScaleOfInf = c.ScaleOfInf.NAN
    tiny_scale: c.TinyScale = c.TinyScale.EXACT


@dataclass(frozen=True, slots=True)
class FloatScalePolicy(_Group):
    """The choices that float32 scales read."""

    amax_floor: c.AmaxFloor = c.AmaxFloor.NONE
    scale_from: c.ScaleFrom = c.ScaleFrom.QUOTIENT
    scale_power: c.ScalePower = c.ScalePower.ANY
    element_from: c.ElementFrom = c.ElementFrom.EXACT


@dataclass(frozen=True, slots=True)
class DecodePolicy(_Group):
    """The choices that decoding reads."""

    scale_00: c.Scale00 = c.Scale00.POWER
    scale_ff: c.ScaleFF = c.ScaleFF.NAN
    product_overflow: c.ProductOverflow = c.ProductOverflow.INF
    product_rounding: c.ProductRounding = c.ProductRounding.ONCE
    decoded_zero: c.DecodedZero = c.DecodedZero.KEPT


@dataclass(frozen=True, slots=True)
class LayoutPolicy(_Group):
    """The choices about where elements and blocks lie."""

    tail: c.Tail = c.Tail.ZERO_PADDED
    fp4_packing: c.FP4Packing = c.FP4Packing.LOW_NIBBLE_FIRST
    fp6_packing: c.FP6Packing = c.FP6Packing.LSB_FIRST
    scale_place: c.ScalePlace = c.ScalePlace.SEPARATE
    scale_byte: c.ScaleByte = c.ScaleByte.BIASED
    scale_layout: c.ScaleLayout = c.ScaleLayout.ROW_MAJOR


@dataclass(frozen=True, slots=True)
class ProductPolicy(_Group):
    """The choices that products and linear layers read."""

    accumulation: c.Accumulation = c.Accumulation.EXACT
    backward_operands: c.BackwardOperands = c.BackwardOperands.REQUANTIZED
    gradient_rows: c.GradientRows = c.GradientRows.FLATTENED
    weight_axis: c.WeightAxis = c.WeightAxis.IN
    activations: c.Activations = c.Activations.QUANTIZED
