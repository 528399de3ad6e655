"""torchao main with ScaleCalculationMode.FLOOR."""

from torchao_main_adapter import FLOATS, FORMATS, dequantize, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize", "shared_scale"]
PROFILE = "torchao_main_floor"
POLICY = "ocp+nan=signed"
quantize, shared_scale = functions("FLOOR")
