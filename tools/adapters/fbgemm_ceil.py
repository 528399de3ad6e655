"""FBGEMM's MX4 with RoundingMode.ceil."""

from fbgemm_adapter import FLOATS, FORMATS, dequantize, policy, quantizer

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize"]
POLICY = policy("ceil")
PROFILE = "fbgemm_mx4_ceil"
quantize = quantizer("ceil")
