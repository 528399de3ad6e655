"""FBGEMM's MX4 with RoundingMode.even."""

from fbgemm_adapter import FLOATS, FORMATS, dequantize, policy, quantizer

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize"]
POLICY = policy("even")
PROFILE = "fbgemm_mx4_even"
quantize = quantizer("even")
