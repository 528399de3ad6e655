"""MLX 0.32 on the CPU."""

from mlx_adapter import FLOATS, FORMATS, decode, dequantize, encode, of_version, quantize

__all__ = ["FLOATS", "FORMATS", "decode", "dequantize", "encode", "quantize"]
POLICY = "ocp+scale_rule=rceil+scale_underflow=wrap"
of_version("0.32")
