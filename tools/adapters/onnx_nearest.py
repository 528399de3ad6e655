"""ONNX 1.23.2: Cast to E8M0 with round_mode=nearest."""

from onnx_adapter import scale_encoder

__all__ = ["encode_scale"]
POLICY = "ocp+pre_rounding=float32+scale_rounding=ties_to_away+tiny_scale=as_if_zero"
PROFILE = "onnx_nearest"
encode_scale = scale_encoder("nearest")
