"""MLX 0.32.4 on the CPU: MXFP8."""

from mlx_adapter import FLOATS, decode, dequantize, encode, of_version, quantize

__all__ = ["FLOATS", "decode", "dequantize", "encode", "quantize"]
POLICY = "ocp+scale_rule=rceil+zero_block=one+scale_underflow=wrap+scale_ff=inf"
PROFILE = "mlx_0_32"
FORMATS = ["e4m3", "mxfp8_e4m3"]
of_version("0.32.4")
