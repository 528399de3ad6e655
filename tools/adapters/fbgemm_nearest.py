"""FBGEMM's MX4 with RoundingMode.nearest."""

from fbgemm_adapter import FLOATS, FORMATS, dequantize, policy, quantizer

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize"]
POLICY = policy("nearest_log2_power")
PROFILE = "fbgemm_mx4_nearest"
quantize = quantizer("nearest")
