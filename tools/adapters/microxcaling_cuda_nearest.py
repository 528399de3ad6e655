"""microxcaling's C++ with the rounding mode nearest."""

from microxcaling_cuda_adapter import FLOATS, FORMATS, rounding, shared_scale

__all__ = ["FLOATS", "FORMATS", "quantize", "shared_scale"]
PROFILE = "microxcaling_cuda"
POLICY = "ocp+rounding=ties_to_away+zero_sign=dropped+underflow_sign=dropped"
quantize = rounding("nearest")
