"""PyTorch's casts to and from E5M2, which overflow to infinity, unlike those of E4M3."""

from torch_adapter import decode, encode

__all__ = ["decode", "encode"]
POLICY = "ocp+overflow=nonsaturating+nan=signed+pre_rounding=float32"
PROFILE = "torch_e5m2"
FORMATS = ["e5m2"]
