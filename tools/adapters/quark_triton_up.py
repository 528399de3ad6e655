"""AMD Quark 0.13, its Triton kernel in the interpreter, with ROUND_UP."""

from quark_triton_adapter import FLOATS, FORMATS, dequantize, quantizer

__all__ = ["FLOATS", "FORMATS", "dequantize", "quantize"]
POLICY = "ocp+rounding=ties_to_away+scale_rule=rceil+scale_underflow=flush+scale_00=zero"
quantize = quantizer("ROUND_UP")
