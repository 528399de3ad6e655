"""CUDA 13.5 headers: element casts with __NV_SATFINITE."""

from cuda_adapter import FORMATS, decode, encoder

__all__ = ["FORMATS", "decode", "encode"]
PROFILE = "cuda_satfinite"
encode = encoder(1)
