"""AMD Quark 0.13, its Triton kernel in the interpreter, with ROUND_UP."""

from quark_triton_adapter import FLOATS, FORMATS, quantizer

__all__ = ["FLOATS", "FORMATS", "quantize"]
POLICY = (
    "ocp+rounding=ties_to_away+nan_to_finite=signed_max"
    "+scale_rule=rceil+block_nan=ignore+scale_underflow=flush"
)
PROFILE = "quark_triton_up"
quantize = quantizer("ROUND_UP")
