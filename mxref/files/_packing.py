"""Codes of 4 and 6 bits in bytes, and back, along the last axis. To be replaced by mxref.packing.

Source: SPEC_NOTES N29; torch's float4_e2m1fn_x2: the first of two codes in the low nibble.
"""

from __future__ import annotations

import numpy as np

from mxref._bits import U8
from mxref.formats import CodeFormat


def packed_size(count: int, fmt: CodeFormat) -> int:
    """Bytes of so many codes: whole groups of 2 codes a byte, or of 4 codes in 3 bytes."""
    if fmt.bits == 4:
        return -(-count // 2)
    return -(-count // 4) * 3 if fmt.bits == 6 else count


def pack(codes: U8, fmt: CodeFormat) -> U8:
    """Codes as bytes, the first code in the lowest bits, filled up with code 0.

    >>> from mxref.formats import E2M1, E2M3
    >>> pack(np.uint8([1, 2, 3]), E2M1), pack(np.uint8([1, 2, 3, 4]), E2M3)
    (array([33,  3], dtype=uint8), array([129,  48,  16], dtype=uint8))
    """
    group = {4: 2, 6: 4}.get(fmt.bits, 1)
    if group == 1:
        return codes
    missing = -codes.shape[-1] % group
    if missing:
        codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, missing)])
    part = [codes[..., i::group] for i in range(group)]
    if group == 2:
        pairs: U8 = np.bitwise_or(part[0], part[1] << 4, dtype=np.uint8)
        return pairs
    result = np.empty((*part[0].shape, 3), np.uint8)
    result[..., 0] = part[0] | part[1] << 6
    result[..., 1] = part[1] >> 2 | part[2] << 4
    result[..., 2] = part[2] >> 4 | part[3] << 2
    return result.reshape(*codes.shape[:-1], part[0].shape[-1] * 3)


def unpack(packed: U8, fmt: CodeFormat, count: int) -> U8:
    """The codes that were packed; filler is not read."""
    if fmt.bits == 4:
        parts = [packed & 15, packed >> 4]
    elif fmt.bits == 6:
        a, b, c = (packed[..., i::3] for i in range(3))
        parts = [a & 63, (a >> 6 | b << 2) & 63, (b >> 4 | c << 4) & 63, c >> 2]
    else:
        return packed
    shape = (*packed.shape[:-1], parts[0].shape[-1] * len(parts))
    codes: U8 = np.stack(parts, axis=-1).reshape(shape)[..., :count]
    return codes
