"""Blocks: quantize, dequantize, their container, shapes and two-level scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from mxref.blocks.container import Blocks
    from mxref.blocks.dequantization import dequantize
    from mxref.blocks.given_scales import AmaxOf
    from mxref.blocks.quantization import quantize
    from mxref.blocks.shapes import result_shapes
    from mxref.blocks.two_level import RowScales, TensorScale, TensorScaleKind

__all__ = [
    "AmaxOf",
    "Blocks",
    "RowScales",
    "TensorScale",
    "TensorScaleKind",
    "dequantize",
    "quantize",
    "result_shapes",
]

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.blocks.container": ("Blocks",),
        "mxref.blocks.dequantization": ("dequantize",),
        "mxref.blocks.given_scales": ("AmaxOf",),
        "mxref.blocks.quantization": ("quantize",),
        "mxref.blocks.shapes": ("result_shapes",),
        "mxref.blocks.two_level": (
            "RowScales",
            "TensorScale",
            "TensorScaleKind",
        ),
    }

    __getattr__ = lazy_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
