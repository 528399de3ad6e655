"""One number: encode, decode, E8M0 scales, shared scales and the lookup tables behind them."""

from __future__ import annotations

from mxref.numbers.element import decode, encode
from mxref.numbers.scale import decode_scale, encode_scale, shared_scale

__all__ = ["decode", "decode_scale", "encode", "encode_scale", "shared_scale"]
