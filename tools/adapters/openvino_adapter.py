"""OpenVINO 2026.4.1 on the CPU: the operator Convert to and from narrow types.

The mode FP8 has the FP8 ones, which it rounds to float16 first.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from _peer import peer
from numpy.typing import NDArray

ov = peer("openvino", "openvino==2026.4.1")
_OPS = peer("openvino.opset13", "openvino==2026.4.1")

POLICY = (
    "ocp+nan_to_finite=signed_max+scale_rounding=ties_to_even+scale_of_negative=code_00"
    "+scale_of_inf=largest"
)
PROFILE = "openvino"
FORMATS = ["e2m1"]
FLOATS = ["f32", "f16", "bf16"]
_TYPES = {
    "e5m2": ov.Type.f8e5m2, "e4m3": ov.Type.f8e4m3, "e2m1": ov.Type.f4e2m1, "e8m0": ov.Type.f8e8m0,
    "float32": ov.Type.f32, "float16": ov.Type.f16, "bfloat16": ov.Type.bf16,
}  # fmt: skip


def _convert(bits: NDArray[Any], source: str, to: str, count: int) -> NDArray[Any]:
    """Convert, evaluated by the core's reference; bytes in, bytes out."""
    parameter = _OPS.parameter([count], _TYPES[source])
    model = ov.Model([_OPS.convert(parameter, _TYPES[to])], [parameter])
    given, result = (ov.Tensor(_TYPES[name], ov.Shape([count])) for name in (source, to))
    given.data.view(np.uint8)[:] = bits.view(np.uint8)
    if not model.evaluate([result], [given]):
        raise RuntimeError(f"no reference of Convert from {source} to {to}")
    return np.array(result.data).view(np.uint8)


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Convert to a narrow type; FP4 comes packed, the first in the low nibble."""
    count = len(values)
    codes = _convert(values, values.dtype.name, format, count)
    if format == "e2m1":
        codes = np.stack([codes & 15, codes >> 4], 1).reshape(-1)[:count]
    return codes


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Convert to float32."""
    count = len(codes)
    if format == "e2m1":
        codes = np.pad(codes, (0, count % 2))
        codes = codes[::2] | codes[1::2] << np.uint8(4)
    return _convert(codes, format, "float32", count).view(np.float32)


def encode_scale(values: NDArray[Any]) -> NDArray[Any]:
    """Convert to f8e8m0."""
    return encode(values, "e8m0")


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """Convert from f8e8m0."""
    return decode(codes, "e8m0")


FP8 = SimpleNamespace(
    PROFILE="openvino_fp8",
    POLICY="ocp+overflow=nonsaturating+pre_rounding=float16",
    FORMATS=["e5m2", "e4m3"],
    FLOATS=FLOATS,
    encode=encode,
    decode=decode,
)
