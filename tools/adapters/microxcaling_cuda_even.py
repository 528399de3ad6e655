"""microxcaling's C++ with the rounding mode even."""

from microxcaling_cuda_adapter import FLOATS, FORMATS, rounding, shared_scale

__all__ = ["FLOATS", "FORMATS", "quantize", "shared_scale"]
PROFILE = "microxcaling_cuda_even"
POLICY = "ocp+zero_sign=dropped+underflow_sign=dropped"
quantize = rounding("even")
