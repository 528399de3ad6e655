"""neural-compressor 3.10, microxcaling's PyTorch path, with round="even"."""

from neural_compressor_adapter import FLOATS, FORMATS, rounding

__all__ = ["FLOATS", "FORMATS", "quantize", "shared_scale"]
PROFILE = "microxcaling_torch_even"
POLICY = "ocp+zero_sign=dropped+scale_rule=floor_log2_float32+scale_overflow=nan"
quantize, shared_scale = rounding("even")
