"""AMD Quark 0.13 with scale_calculation_mode="even"."""

from quark_adapter import FLOATS, FORMATS, dequantize, encode, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "encode", "quantize", "shared_scale"]
POLICY = "ocp+zero_sign=dropped+underflow_sign=dropped+scale_rule=even+scale_ff=inf"
PROFILE = "quark_even"
quantize, shared_scale = functions("even")
