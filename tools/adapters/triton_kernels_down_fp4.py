"""triton_kernels of vLLM 0.33.0, the reference in torch, with ROUND_DOWN: MXFP4."""

from triton_kernels_adapter import FLOATS, dequantize, quantizer

__all__ = ["FLOATS", "dequantize", "quantize"]
POLICY = "ocp+rounding=ties_to_away+scale_underflow=flush+scale_00=zero+scale_ff=inf"
PROFILE = "triton_kernels_down"
FORMATS = ["mxfp4_e2m1"]
quantize = quantizer("ROUND_DOWN")
