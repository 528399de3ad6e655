"""triton_kernels of vLLM 0.33.0, the reference in torch, with ROUND_DOWN: MXFP8."""

from triton_kernels_adapter import FLOATS, dequantize, quantizer

__all__ = ["FLOATS", "dequantize", "quantize"]
POLICY = "ocp+scale_underflow=flush+scale_00=zero+scale_ff=inf"
PROFILE = "triton_kernels_down"
FORMATS = ["mxfp8_e5m2", "mxfp8_e4m3"]
quantize = quantizer("ROUND_DOWN")
