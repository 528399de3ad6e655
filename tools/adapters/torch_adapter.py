"""PyTorch's casts to and from float8 on the CPU (torch 2.13.0).

E4M3 saturates, infinities too; E5M2, the mode of that name, overflows to infinity. The cast to E8M0
goes to the nearest power of two, a midpoint up.
"""

from types import SimpleNamespace
from typing import Any

from _peer import array, peer, tensor
from numpy.typing import NDArray

torch = peer("torch", "torch==2.13.0")

POLICY = (
    "ocp+nan=signed+pre_rounding=float32+scale_rounding=ties_to_away+tiny_scale=as_if_zero"
    "+scale_overflow=nan"
)
PROFILE = "torch"
FORMATS = ["e4m3"]
_DTYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


def encode(values: NDArray[Any], format: str) -> NDArray[Any]:
    """Cast to float8."""
    return array(tensor(values).to(_DTYPES[format]))


def decode(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Cast from float8."""
    return array(tensor(codes).view(_DTYPES[format]).to(torch.float32))


def encode_scale(values: NDArray[Any]) -> NDArray[Any]:
    """Cast to float8_e8m0fnu."""
    return array(tensor(values).to(torch.float8_e8m0fnu))


def decode_scale(codes: NDArray[Any]) -> NDArray[Any]:
    """Cast from float8_e8m0fnu."""
    return array(tensor(codes).view(torch.float8_e8m0fnu).to(torch.float32))


E5M2 = SimpleNamespace(
    PROFILE="torch_e5m2",
    POLICY="ocp+overflow=nonsaturating+nan=signed+pre_rounding=float32",
    FORMATS=["e5m2"],
    encode=encode,
    decode=decode,
)
