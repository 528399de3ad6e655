"""Codes to bytes and back: elements, blocks and matrices of scales."""

from __future__ import annotations

from mxref.packing.elements import pack, pack_blocks, packed_size, unpack, unpack_blocks
from mxref.packing.scales import pack_scales, unpack_scales

__all__ = [
    "pack",
    "pack_blocks",
    "pack_scales",
    "packed_size",
    "unpack",
    "unpack_blocks",
    "unpack_scales",
]
