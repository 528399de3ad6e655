"""ONNX 1.23.2: Cast with saturate=0."""

from onnx_adapter import FORMATS, encoder, scale_encoder

__all__ = ["FORMATS", "encode", "encode_scale"]
POLICY = (
    "ocp+overflow=nonsaturating+nan=signed_quiet+nan_to_finite=opposite_zero+pre_rounding=float32"
    "+scale_rounding=toward_positive+scale_overflow=nan+tiny_scale=always_up"
)
PROFILE = "onnx_nosat"
encode = encoder(0)
encode_scale = scale_encoder("up", 0)
