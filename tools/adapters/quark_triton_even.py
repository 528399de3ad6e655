"""AMD Quark 0.13, its Triton kernel in the interpreter, with EVEN."""

from quark_triton_adapter import FLOATS, FORMATS, quantizer

__all__ = ["FLOATS", "FORMATS", "quantize"]
POLICY = (
    "ocp+rounding=ties_to_away+nan_to_finite=signed_max"
    "+scale_rule=even+block_nan=ignore+block_inf=largest_scale"
)
PROFILE = "quark_triton_even"
quantize = quantizer("EVEN")
