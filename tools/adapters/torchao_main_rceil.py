"""torchao main with ScaleCalculationMode.RCEIL."""

from torchao_main_adapter import FLOATS, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchao_main_rceil"
POLICY = "ocp+scale_rule=rceil_reciprocal+nan=signed"
quantize, shared_scale = functions("RCEIL")
