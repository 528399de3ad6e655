"""torchao main with ScaleCalculationMode.EVEN."""

from torchao_main_adapter import FLOATS, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchao_main_even"
POLICY = "ocp+scale_rule=even+nan=signed"
quantize, shared_scale = functions("EVEN")
