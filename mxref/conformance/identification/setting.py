"""What is identified: an operation on a format, with a float type."""

from __future__ import annotations

from dataclasses import dataclass

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.blocks.two_level import TensorScaleKind
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E8M0,
    OTHER_BLOCK_FORMATS,
    CodeFormat,
    ScaleFormat,
    ScaleKind,
    block_format,
)
from mxref.formats.scale_kinds import has_small_float_scales, scale_kind
from mxref.operations.blocks import SCALED_ELEMENT_CHOICES, TENSOR_KINDS
from mxref.operations.operation import Operation
from mxref.operations.registry import REGISTRY
from mxref.policy.choices import ScaleArithmetic
from mxref.targets.calls import code_format, without_cases

__all__ = ["OF_LAYERS", "OF_OPERANDS", "Setting", "same_products"]

#: Choices of operands that are asked about in linear layers; others are taken to be those of `ocp`.
OF_OPERANDS = ("rounding", "overflow", "scale_rule", "int8_range", "int8_emax")
OF_LAYERS = ("weight_axis", "activations", "backward_operands", "gradient_rows")


@dataclass(frozen=True, slots=True)
class Setting:
    """An operation on a format, with the float type of its inputs or results.

    Args:
        op: operation.
        format: element, scale or block format.
        float: float type, or the layout of bytes in its place.
        one_nan: whether every NaN code is compared as one, and codes under a NaN scale are not
            compared, as `verify` does; else these bits tell the choices that are read in them.
    """

    op: str
    format: str
    float: str
    one_nan: bool = False

    def __str__(self) -> str:
        return " ".join((self.op, self.format, self.float))

    @property
    def row(self) -> Operation:
        """The operation's row."""
        return REGISTRY[self.op]

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices that are asked about: those that the operation reads.

        Of layers these are a few, and under scales that are small floats those that both references
        know.

        >>> Setting("linear", "mxint8", "f32").choices[-2:]
        ('weight_axis', 'activations')
        """
        every = self.row.reads(self.format)
        if self.is_scaled:
            known = ("scale_arithmetic", *SCALED_ELEMENT_CHOICES)
            return tuple(name for name in every if name in known)
        if not self.row.of_layers:
            return every
        return tuple(name for name in every if name in (*OF_OPERANDS, *OF_LAYERS))

    @property
    def is_scaled(self) -> bool:
        """Whether it is about blocks under scales that are small floats."""
        return has_small_float_scales(self.format)

    @property
    def is_float_scaled(self) -> bool:
        """Whether it is about blocks under float32 scales."""
        return scale_kind(self.format) is ScaleKind.FLOAT32

    @property
    def has_blocks(self) -> bool:
        """Whether its format is one of blocks."""
        return self.format in BLOCK_FORMATS or self.format in OTHER_BLOCK_FORMATS

    @property
    def scale(self) -> ScaleFormat:
        """The format of the scales of blocks; E8M0 where there are none."""
        return block_format(self.format).scale if self.has_blocks else E8M0

    @property
    def element(self) -> CodeFormat:
        """The format of the codes."""
        return code_format(without_cases(self.op, self.format, self.float))

    @property
    def layout(self) -> FloatLayout:
        """The float type; float32 where there is none."""
        return LAYOUTS.get(self.float, F32)


def same_products(setting: Setting) -> tuple[tuple[str, ...], str]:
    """Arithmetics that are one function in `dequantize`, with the reason.

    >>> same_products(Setting("dequantize", "nvfp4", "f32"))[0]
    ('transformer_engine_4over6', 'transformer_engine_4over6_mse')
    """
    if not block_format(setting.format).tensor_scale:
        every = tuple(one.value for one in ScaleArithmetic)
        return every, "without a tensor scale there is one product"
    of_256 = TensorScaleKind.AMAX_256
    some = tuple(one for one, kind in TENSOR_KINDS.items() if kind is of_256)
    return some, "products do not show how scales were chosen"
