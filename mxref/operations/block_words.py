"""What stands beside the elements in cases of blocks: scales of blocks and of tensors."""

from __future__ import annotations

from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import BlockFormat, ScaleKind
from mxref.operands.kinds import Codes, Kind, Scales
from mxref.operands.shown import show_float
from mxref.operations.operation import Words

__all__ = ["column", "of_scales", "tensor_scale"]


def column(fmt: BlockFormat) -> tuple[int, ...]:
    """The shape of one number for each of many blocks, with the axes of a block."""
    return (-1, *(1,) * len(fmt.block_shape))


def tensor_scale(fmt: BlockFormat, words: Words) -> tuple[str, Words]:
    """The scale of the tensor in words, if there is one, and the other words of a case."""
    if not fmt.tensor_scale:
        return "", words
    return f"tensor scale {show_float(words[0], LAYOUTS['f32'])}, ", words[1:]


def of_scales(fmt: BlockFormat, easy: int) -> Kind:
    """The kind of the scales of blocks."""
    is_float = fmt.scale.kind is ScaleKind.FLOAT32
    return Scales() if is_float else Codes(fmt.scale, easy)
