"""FBGEMM's MX4 with RoundingMode.floor."""

from fbgemm_adapter import FLOATS, FORMATS, dequantize, policy, quantizer

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize"]
POLICY = policy("floor_log2_float32")
PROFILE = "fbgemm_mx4_floor"
quantize = quantizer("floor")
