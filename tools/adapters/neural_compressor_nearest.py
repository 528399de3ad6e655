"""neural-compressor 3.10, microxcaling's PyTorch path, with round="nearest"."""

from neural_compressor_adapter import FLOATS, FORMATS, functions, shared_scale

__all__ = ["FLOATS", "FORMATS", "encode", "quantize", "shared_scale"]
POLICY = (
    "ocp+rounding=ties_to_away+zero_sign=dropped+scale_rule=floor_log2_float32+scale_overflow=nan"
)
quantize, encode = functions("nearest")
