"""Class G on codes: FP4 and FP6 codes packed into the wrong bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mxref.bits.floats import U8
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.mutants.mutant import Function, Mutants, wrong
from mxref.packing.elements import pack, unpack

__all__ = ["PACKINGS", "filled"]


def filled(codes: U8, unit: int, value: int = 0) -> U8:
    """Codes padded along the last axis to a multiple of `unit`."""
    missing = -codes.shape[-1] % unit
    widths = [(0, 0)] * (codes.ndim - 1) + [(0, missing)]
    return np.pad(codes, widths, constant_values=value)


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
    """The right bytes, but an odd last code in the high half."""
    packed = pack(codes, format)
    if len(codes) % 2:
        packed[-1] <<= 4
    return packed


def _only_bytes_needed(codes: U8, format: str) -> U8:
    """The bytes that hold bits of codes, without padding to groups of four codes."""
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


#: The float type of these files is the name of a packing, or "bytes".
_packs = partial(wrong, op="pack", floats=("bytes",), model="M11")
_unpacks = partial(wrong, op="unpack", floats=("low_nibble_first",), model="M11")
_FP4, _FP6 = ("e2m1",), ("e3m2", "e2m3")

PACKINGS: Mutants = {
    "G1 nibbles_exchanged: puts element 0 of FP4 into the high nibble": _packs(
        high_nibble_first,
        formats=_FP4,
    ),
    "G1b last_nibble_exchanged: puts an odd last code into the high nibble": _packs(
        _last_byte, formats=_FP4
    ),
    "G1c odd_code_dropped: packs whole pairs only": _packs(
        lambda codes, format: pack(codes, format)[: len(codes) // 2], formats=_FP4
    ),
    "G1d filled_with_ones: fills the last byte up with ones": _packs(
        _filled_with_ones, formats=(*_FP6, *_FP4)
    ),
    "G1e not_packed: leaves each code in a byte of its own": _packs(
        _low_bits_of_bytes, formats=(*_FP6, *_FP4)
    ),
    "G2 fp6_from_the_top: packs four FP6 codes with the first one on top": _packs(
        most_significant_first, formats=_FP6
    ),
    "G2b codes_2_and_3_exchanged: exchanges the last two of four FP6 codes": _packs(
        lambda codes, format: pack(_exchanged(codes), format),
        formats=_FP6,
    ),
    "G2c bits_backwards: packs the bits of each FP6 code from the top down": _packs(
        lambda codes, format: pack(_backwards(codes), format), formats=_FP6
    ),
    "G2d bytes_not_filled_up: writes no byte more than the bits of FP6 codes need": _packs(
        _only_bytes_needed, formats=_FP6
    ),
    "G3 halves_of_block: packs element j with j + 16, not with j + 1": _packs(halves, formats=_FP4),
    "G3b halves_of_16: means halves but packs element j with j + 8": _packs(
        lambda codes, format: halves(codes, format, 16),
        formats=_FP4,
        policy="ocp+fp4_packing=halves",
    ),
    "G3c neighbours_for_halves: means halves but packs element j with j + 1": _packs(
        lambda codes, format: pack(filled(codes, 32), format),
        formats=_FP4,
        policy="ocp+fp4_packing=halves",
    ),
    "G1u nibbles_exchanged_read: reads element 0 of FP4 from the high nibble": _unpacks(
        _unpack_as(fp4_packing="high_nibble_first"), formats=_FP4
    ),
    "G1v sign_extended: repeats the sign bit of a code in the bits above it": _unpacks(
        _signed_codes, formats=_FP4
    ),
    "G1w filler_read: reads the filler of the last byte as codes": _unpacks(
        _whole_bytes, formats=_FP4
    ),
    "G1x whole_byte_read: reads the bits beside a code, too": _unpacks(
        lambda packed, format, count: packed >> 2,
        formats=_FP4,
        floats=("middle_bits",),
        policy="ocp+fp4_packing=middle_bits",
    ),
    "G1y unmasked_byte: takes a whole byte for a code": _unpacks(
        lambda packed, format, count: packed,
        formats=_FP4,
        floats=("byte_each",),
        policy="ocp+fp4_packing=byte_each",
    ),
    "G2u fp6_from_the_top_read: reads four FP6 codes with the first one on top": _unpacks(
        _from_the_top, formats=_FP6, floats=("lsb_first",)
    ),
    "G2v codes_2_and_3_exchanged_read: exchanges the last two of four FP6 codes read": _unpacks(
        _unpack_exchanged, formats=_FP6, floats=("lsb_first",)
    ),
    "G3u halves_read: reads element j + 16 beside element j": _unpacks(
        _unpack_as(fp4_packing="halves"), formats=_FP4
    ),
    "G3v neighbours_read_for_halves: means halves but reads element j + 1 beside j": _unpacks(
        _unpack_as(), formats=_FP4, floats=("halves",), policy="ocp+fp4_packing=halves"
    ),
}
