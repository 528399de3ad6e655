"""torchao 0.18.0: packed FP4 and the tiles of scales."""

from typing import Any

from _peer import array, peer, tensor
from numpy.typing import NDArray

_PIN = "torch==2.13.0 torchao==0.18.0"
kernels = peer("torchao.prototype.mx_formats.kernels", _PIN)
utils = peer("torchao.prototype.mx_formats.utils", _PIN)

POLICY = "ocp+scale_layout=tiles_128x4"
PROFILE = "torchao_0_18_floor"
FORMATS = ["e2m1"]


def pack(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """`pack_uint4`, which refuses odd numbers."""
    return array(kernels.pack_uint4(tensor(codes)))


def unpack(packed: NDArray[Any], format: str, n: int) -> NDArray[Any]:
    """`unpack_uint4`; it does not know the number."""
    return array(kernels.unpack_uint4(tensor(packed)))[:n]


def pack_scales(scale_codes: NDArray[Any]) -> NDArray[Any]:
    """`to_blocked`."""
    return array(utils.to_blocked(tensor(scale_codes)))


def unpack_scales(packed: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    """`from_blocked`."""
    return array(utils.from_blocked(tensor(packed), *shape))
