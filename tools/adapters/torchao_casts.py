"""torchao 0.18.0: its own casts of FP6 and FP4, one code to a byte."""

from typing import Any

from _peer import array, peer, tensor
from numpy.typing import NDArray

kernels = peer("torchao.prototype.mx_formats.kernels", "torch==2.13.0 torchao==0.18.0")

POLICY = "ocp"
PROFILE = "torchao_0_18_floor"
FORMATS = ["e3m2", "e2m3", "e2m1"]
FLOATS = ["f32"]
_NAMES = {"e3m2": "f6_e3m2", "e2m3": "f6_e2m3", "e2m1": "f4"}


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """`f32_to_f4_unpacked` and its like."""
    return array(getattr(kernels, f"f32_to_{_NAMES[format]}_unpacked")(tensor(values)))


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`f4_unpacked_to_f32` and its like."""
    return array(getattr(kernels, f"{_NAMES[format]}_unpacked_to_f32")(tensor(codes)))
