"""torchao 0.18.0 with ScaleCalculationMode.CEIL."""

from torchao_adapter import FLOATS, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchao_0_18_ceil"
POLICY = "ocp+scale_rule=ceil+nan=signed"
quantize, shared_scale = functions("CEIL")
