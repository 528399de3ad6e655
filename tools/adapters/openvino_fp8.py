"""OpenVINO 2026.4.1 on the CPU: Convert to and from FP8, by way of float16."""

from openvino_adapter import FLOATS, decode, encode

__all__ = ["FLOATS", "decode", "encode"]
POLICY = "ocp+overflow=nonsaturating+pre_rounding=float16"
PROFILE = "openvino_fp8"
FORMATS = ["e5m2", "e4m3"]
