"""In float64."""

import nvfp4_base as base

FORMATS = ["nvfp4", "fp4_ue4m3"]


quantize, dequantize = base.quantize, base.dequantize
