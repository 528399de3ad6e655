"""Codes to bytes and back: elements, blocks and matrices of scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

if TYPE_CHECKING:
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

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.packing.elements": (
            "pack",
            "pack_blocks",
            "packed_size",
            "unpack",
            "unpack_blocks",
        ),
        "mxref.packing.scales": (
            "pack_scales",
            "unpack_scales",
        ),
    }

    __getattr__ = lazy_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
