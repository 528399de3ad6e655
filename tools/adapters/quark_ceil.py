"""AMD Quark 0.13 with scale_calculation_mode="ceil"."""

from quark_adapter import FLOATS, FORMATS, dequantize, encode, functions

__all__ = ["FLOATS", "FORMATS", "dequantize", "encode", "quantize", "shared_scale"]
POLICY = "ocp+zero_sign=dropped+underflow_sign=dropped+scale_rule=ceil+scale_ff=inf"
PROFILE = "quark_ceil"
quantize, shared_scale = functions("ceil")
