"""CUDA 13.5 headers: casts to and from E8M0 with cudaRoundZero and __NV_NOSAT."""

from cuda_adapter import decode_scale, scale_encoder

__all__ = ["FLOATS", "FORMATS", "decode_scale", "encode_scale"]
POLICY = "ocp"
PROFILE = "cuda_e8m0_rz_nosat"
FORMATS = ["e8m0"]
FLOATS = ["f32", "bf16", "f64"]
encode_scale = scale_encoder(0, 1)
