"""torchao main with ScaleCalculationMode.CEIL."""

from torchao_main_adapter import FLOATS, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchao_main_ceil"
POLICY = "ocp+scale_rule=ceil+nan=signed"
quantize, shared_scale = functions("CEIL")
