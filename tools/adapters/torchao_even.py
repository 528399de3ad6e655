"""torchao 0.18.0 with ScaleCalculationMode.EVEN."""

from torchao_adapter import FLOATS, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchao_0_18_even"
POLICY = "ocp+scale_rule=even+nan=signed"
quantize, shared_scale = functions("EVEN")
