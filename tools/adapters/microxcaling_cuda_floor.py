"""microxcaling's C++ with the rounding mode floor."""

from microxcaling_cuda_adapter import FLOATS, FORMATS, rounding, shared_scale

__all__ = ["FLOATS", "FORMATS", "quantize", "shared_scale"]
PROFILE = "microxcaling_cuda_floor"
POLICY = "ocp+rounding=toward_zero+zero_sign=dropped+underflow_sign=dropped"
quantize = rounding("floor")
