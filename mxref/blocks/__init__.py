"""Blocks: quantize, dequantize, their container, shapes and two-level scales."""

from __future__ import annotations

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
