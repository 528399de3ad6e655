"""Class G on codes: FP4 and FP6 in other bits than they should be in."""

from __future__ import annotations

from typing import Any

import numpy as np

from mxref.bits.floats import U8
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.mutants.mutant import Function, Mutant
from mxref.packing.elements import pack, unpack

__all__ = ["PACKINGS", "filled", "layout"]


def filled(codes: U8, unit: int, value: int = 0) -> U8:
    """Codes along the last axis, filled up to a multiple."""
    missing = -codes.shape[-1] % unit
    widths = [(0, 0)] * (codes.ndim - 1) + [(0, missing)]
    return np.pad(codes, widths, constant_values=value)


# FP4 and FP6.


def high_nibble_first(codes: U8, format: str) -> U8:
    """FP4 with element 0 in the high nibble.

    >>> [f"{byte:02x}" for byte in high_nibble_first(np.uint8([1, 2, 3]), "e2m1")]
    ['12', '30']
    """
    codes = filled(codes, 2)
    return (codes[..., ::2] << 4 | codes[..., 1::2]).astype(np.uint8)


def halves(codes: U8, format: str, size: int = 32) -> U8:
    """FP4 with element j beside element j + 16, as GGUF has it.

    >>> [f"{byte:02x}" for byte in halves(np.arange(32, dtype=np.uint8) % 16, "e2m1")[:3]]
    ['00', '11', '22']
    """
    codes = filled(codes, 32)
    blocks = codes.reshape(*codes.shape[:-1], -1, 2, size // 2)
    packed = (blocks[..., 0, :] | blocks[..., 1, :] << 4).astype(np.uint8)
    return packed.reshape(*codes.shape[:-1], codes.shape[-1] // 2)


def most_significant_first(codes: U8, format: str) -> U8:
    """FP6 as one number of 24 bits with element 0 on top.

    >>> [f"{byte:02x}" for byte in most_significant_first(np.uint8([1, 18, 35, 52]), "e2m3")]
    ['05', '28', 'f4']
    """
    codes = filled(codes, 4)
    quads = codes.reshape(*codes.shape[:-1], -1, 4).astype(np.uint32)
    word = quads[..., 0] << 18 | quads[..., 1] << 12 | quads[..., 2] << 6 | quads[..., 3]
    packed = np.stack([word >> 16, word >> 8, word], -1).astype(np.uint8)
    return packed.reshape(*codes.shape[:-1], -1)


def _from_the_top(packed: U8, format: str, count: int) -> U8:
    triples = packed.reshape(-1, 3).astype(np.uint32)
    word = triples[:, 0] << 16 | triples[:, 1] << 8 | triples[:, 2]
    codes = np.stack([word >> shift & 63 for shift in (18, 12, 6, 0)], -1)
    return codes.astype(np.uint8).reshape(-1)[:count]


def _last_byte(codes: U8, format: str) -> U8:
    """Right, but for the half of the last byte that an odd code takes."""
    packed = pack(codes, format)
    if len(codes) % 2:
        packed[-1] <<= 4
    return packed


def _only_bytes_needed(codes: U8, format: str) -> U8:
    """Bytes of the bit stream, without those that fill up the last four codes."""
    return pack(codes, format)[: -(-6 * len(codes) // 8)]


def _filled_with_ones(codes: U8, format: str) -> U8:
    fmt = ELEMENT_FORMATS[format]
    return pack(filled(codes, 8 // np.gcd(8, fmt.bits), fmt.code_count - 1), format)


def _low_bits_of_bytes(codes: U8, format: str) -> U8:
    return codes.copy()


def _exchanged(codes: U8) -> U8:
    """Every four codes with the last two of them exchanged."""
    return filled(codes, 4).reshape(-1, 4)[:, [0, 1, 3, 2]].reshape(-1)


def _backwards(codes: U8) -> U8:
    """Each code of six bits with its bits in the other order."""
    bits = np.unpackbits(codes[:, np.newaxis], axis=1)[:, :1:-1]
    return np.right_shift(np.packbits(bits, axis=1)[:, 0], np.uint8(2))


def _unpack_exchanged(packed: U8, format: str, count: int) -> U8:
    whole = unpack(packed, format, len(packed) // 3 * 4)
    return _exchanged(whole)[:count]


def _signed_codes(packed: U8, format: str, count: int) -> U8:
    """Codes with the sign bit in bits 4 to 7, too, as an arithmetic shift leaves it."""
    codes = unpack(packed, format, count)
    fmt = ELEMENT_FORMATS[format]
    return np.where(codes & fmt.sign_bit, codes | 0x100 - fmt.code_count, codes).astype(np.uint8)


def _whole_bytes(packed: U8, format: str, count: int) -> U8:
    """All codes of all bytes, filler included."""
    return unpack(packed, format, len(packed) * 8 // ELEMENT_FORMATS[format].bits)


def _unpack_as(**choices: Any) -> Function:
    def run(packed: U8, format: str, count: int) -> U8:
        whole = filled(packed, 16)
        return unpack(whole, format, 2 * len(whole), **choices)[:count]

    return run


def layout(
    id: str,
    name: str,
    text: str,
    op: str,
    run: Function,
    formats: tuple[str, ...],
    *seen: str,
    slot: str = "bytes",
    policy: str = "ocp",
) -> Mutant:
    """A mutant of an operation on layouts; `slot` stands where others have a float type."""
    return Mutant(id, name, text, op, run, formats, (slot,), "M11", seen, policy)


_FP4, _FP6 = ("e2m1",), ("e3m2", "e2m3")

_PACKED = (
    layout(
        *("G1", "nibbles_exchanged", "puts element 0 of FP4 into the high nibble"),
        *("pack", high_nibble_first, _FP4),
        "triton-lang/triton#5197",
    ),
    layout(
        *("G1b", "last_nibble_exchanged", "puts an odd last code into the high nibble"),
        *("pack", _last_byte, _FP4),
    ),
    layout(
        *("G1c", "odd_code_dropped", "packs whole pairs only"),
        *("pack", lambda codes, format: pack(codes, format)[: len(codes) // 2], _FP4),
    ),
    layout(
        *("G1d", "filled_with_ones", "fills the last byte up with ones"),
        *("pack", _filled_with_ones, (*_FP6, *_FP4)),
    ),
    layout(
        *("G1e", "not_packed", "leaves each code in a byte of its own"),
        *("pack", _low_bits_of_bytes, (*_FP6, *_FP4)),
    ),
    layout(
        *("G2", "fp6_from_the_top", "packs four FP6 codes with the first one on top"),
        *("pack", most_significant_first, _FP6),
    ),
    layout(
        *("G2b", "codes_2_and_3_exchanged", "exchanges the last two of four FP6 codes"),
        *("pack", lambda codes, format: pack(_exchanged(codes), format), _FP6),
        "pytorch/ao#3382",
    ),
    layout(
        *("G2c", "bits_backwards", "packs the bits of each FP6 code from the top down"),
        *("pack", lambda codes, format: pack(_backwards(codes), format), _FP6),
    ),
    layout(
        *("G2d", "bytes_not_filled_up", "writes no byte more than the bits of FP6 codes need"),
        *("pack", _only_bytes_needed, _FP6),
    ),
    layout(
        *("G3", "halves_of_block", "packs element j with j + 16, not with j + 1"),
        *("pack", halves, _FP4),
        "ggml, gguf",
    ),
    layout(
        *("G3b", "halves_of_16", "means halves but packs element j with j + 8"),
        *("pack", lambda codes, format: halves(codes, format, 16), _FP4),
        policy="ocp+fp4_packing=halves",
    ),
    layout(
        *("G3c", "neighbours_for_halves", "means halves but packs element j with j + 1"),
        *("pack", lambda codes, format: pack(filled(codes, 32), format), _FP4),
        policy="ocp+fp4_packing=halves",
    ),
)

_UNPACKED = (
    layout(
        *("G1u", "nibbles_exchanged_read", "reads element 0 of FP4 from the high nibble"),
        *("unpack", _unpack_as(fp4_packing="high_nibble_first"), _FP4),
        slot="low_nibble_first",
    ),
    layout(
        *("G1v", "sign_extended", "repeats the sign bit of a code in the bits above it"),
        *("unpack", _signed_codes, _FP4),
        slot="low_nibble_first",
    ),
    layout(
        *("G1w", "filler_read", "reads the filler of the last byte as codes"),
        *("unpack", _whole_bytes, _FP4),
        slot="low_nibble_first",
    ),
    layout(
        *("G1x", "whole_byte_read", "reads the bits beside a code, too"),
        *("unpack", lambda packed, format, count: packed >> 2, _FP4),
        slot="middle_bits",
        policy="ocp+fp4_packing=middle_bits",
    ),
    layout(
        *("G1y", "unmasked_byte", "takes a whole byte for a code"),
        *("unpack", lambda packed, format, count: packed, _FP4),
        slot="byte_each",
        policy="ocp+fp4_packing=byte_each",
    ),
    layout(
        *("G2u", "fp6_from_the_top_read", "reads four FP6 codes with the first one on top"),
        *("unpack", _from_the_top, _FP6),
        slot="lsb_first",
    ),
    layout(
        *("G2v", "codes_2_and_3_exchanged_read", "exchanges the last two of four FP6 codes read"),
        *("unpack", _unpack_exchanged, _FP6),
        slot="lsb_first",
    ),
    layout(
        *("G3u", "halves_read", "reads element j + 16 beside element j"),
        *("unpack", _unpack_as(fp4_packing="halves"), _FP4),
        slot="low_nibble_first",
    ),
    layout(
        *("G3v", "neighbours_read_for_halves", "means halves but reads element j + 1 beside j"),
        *("unpack", _unpack_as(), _FP4),
        slot="halves",
        policy="ocp+fp4_packing=halves",
    ),
)

#: Every mutant of packed codes.
PACKINGS = (*_PACKED, *_UNPACKED)
