"""Blocks that implementations were asked for, and digests of what they answered."""

from __future__ import annotations

import hashlib

import numpy as np

from mxref.bits.floats import LAYOUTS
from mxref.operands.splitmix import splitmix64

__all__ = ["digest", "many"]


def many(source: str) -> np.ndarray:
    """3,008 blocks: all binades, spreads of 0 to 29 binades, few bits or many, some not finite."""
    layout, n = LAYOUTS[source], 3008
    word = splitmix64(7, n * 33).reshape(n, 33).astype(np.int64)
    row, each = word[:, :1], word[:, 1:]
    largest = (1 << layout.exponent_bits) - 2
    exponent = (row & 0xFFFF) % (largest + 1) - (each & 0xFFFF) % ((row >> 16 & 0xFF) % 30 + 1)
    fraction = each >> 16 & ((1 << layout.mantissa_bits) - 1)
    few = layout.mantissa_bits - (row >> 24 & 0xF) % 5
    fraction = np.where(row >> 28 & 1, fraction >> few << few, fraction)
    bits = (np.maximum(exponent, 0) << layout.mantissa_bits) + fraction
    some = (row >> 32 & 0xF) == 0
    quiet = layout.nan_bits | fraction >> 1
    special = np.where(each >> 40 & 1, layout.inf_bits, quiet)
    bits = np.where(some & ((each >> 41 & 0x1F) == 0), special, bits)
    bits = np.where((each >> 46 & 0x1F) == 0, 0, bits)
    bits |= (each >> 51 & 1) << (layout.width - 1)
    return bits.astype(layout.uint).view(layout.dtype)


def digest(scale_codes: np.ndarray, codes: np.ndarray) -> str:
    """Of all scale codes, then all codes, one to a byte."""
    return hashlib.sha256(scale_codes.tobytes() + codes.tobytes()).hexdigest()[:16]
