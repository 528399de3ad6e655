"""ONNX 1.23.2: Cast to E8M0 with round_mode=down."""

from onnx_adapter import scale_encoder

__all__ = ["encode_scale"]
POLICY = "ocp+pre_rounding=float32"
PROFILE = "onnx_down"
encode_scale = scale_encoder("down")
