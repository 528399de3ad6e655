"""MLX 0.31.2 on the CPU: MXFP4."""

from mlx_adapter import FLOATS, dequantize, of_version, quantize

__all__ = ["FLOATS", "dequantize", "quantize"]
POLICY = (
    "ocp+rounding=ties_to_zero+zero_sign=dropped+underflow_sign=dropped+scale_rule=nearest_log2"
    "+zero_block=one+scale_underflow=wrap+scale_ff=inf"
)
PROFILE = "mlx_0_31"
FORMATS = ["mxfp4_e2m1"]
of_version("0.31.2")
