"""microxcaling's PyTorch path with round="floor"."""

from microxcaling_adapter import FLOATS, FORMATS, rounding

__all__ = ["FLOATS", "FORMATS", "quantize", "shared_scale"]
PROFILE = "microxcaling_torch_floor"
POLICY = (
    "ocp+rounding=toward_zero+zero_sign=dropped+scale_rule=floor_log2_float32+scale_overflow=nan"
)
quantize, shared_scale = rounding("floor")
