"""The operations on layouts and tensors by a policy, as a target's functions are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from mxref.blocks.quantization import quantize
from mxref.packing.elements import pack, pack_blocks, unpack, unpack_blocks
from mxref.packing.scales import pack_scales, unpack_scales
from mxref.policy.policy import Policy

__all__ = ["BY_POLICY"]

Array = NDArray[Any]
Function = Callable[..., Any]


def _unpacked(packed: Array, name: str, policy: Policy) -> tuple[Array, Array]:
    scales, codes = unpack_blocks(packed, name, policy)
    return scales, codes.reshape(len(scales), -1)


#: The operations with a policy put in.
BY_POLICY: dict[str, Callable[[Policy], Function]] = {
    "pack": lambda p: lambda codes, name: pack(codes, name, p),
    "unpack": lambda p: lambda packed, name, count: unpack(packed, name, count, p),
    "pack_scales": lambda p: lambda scales: pack_scales(scales, p),
    "unpack_scales": lambda p: lambda packed, shape: unpack_scales(packed, shape, p),
    "pack_blocks": lambda p: (
        lambda scales, codes, name: pack_blocks(scales, codes.reshape(-1), name, p)
    ),
    "unpack_blocks": lambda p: lambda packed, name: _unpacked(packed, name, p),
    "quantize_tensor": lambda p: lambda values, name, axis: quantize(values, name, p, axis=axis),
}
