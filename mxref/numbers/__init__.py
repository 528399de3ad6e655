"""One number: encode, decode, E8M0 scales, shared scales and the lookup tables behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from mxref.numbers.element import decode, encode
    from mxref.numbers.scale import decode_scale, encode_scale, shared_scale

__all__ = [
    "decode",
    "decode_scale",
    "encode",
    "encode_scale",
    "shared_scale",
]

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.numbers.element": (
            "decode",
            "encode",
        ),
        "mxref.numbers.scale": (
            "decode_scale",
            "encode_scale",
            "shared_scale",
        ),
    }

    __getattr__ = lazy_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
