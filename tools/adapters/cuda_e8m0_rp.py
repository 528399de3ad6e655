"""CUDA 13.5 headers: casts to and from E8M0 with cudaRoundPosInf and __NV_SATFINITE."""

from cuda_adapter import decode_scale, scale_encoder

__all__ = ["FLOATS", "FORMATS", "decode_scale", "encode_scale"]
POLICY = "ocp+scale_rounding=toward_positive+scale_of_inf=largest"
PROFILE = "cuda_e8m0_rp"
FORMATS = ["e8m0"]
FLOATS = ["f32", "bf16", "f64"]
encode_scale = scale_encoder(1, 2)
