"""CUDA 13.5 headers: element casts with __NV_NOSAT; FP6 and FP4 saturate all the same."""

from cuda_adapter import FORMATS, decode, encoder

__all__ = ["FORMATS", "decode", "encode"]
POLICY = "ocp+overflow=nonsaturating"
PROFILE = "cuda_nosat"
encode = encoder(0)
