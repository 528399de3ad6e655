"""torchao 0.18.0 with ScaleCalculationMode.FLOOR."""

from torchao_adapter import FLOATS, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchao_0_18_floor"
POLICY = "ocp+nan=signed"
quantize, shared_scale = functions("FLOOR")
