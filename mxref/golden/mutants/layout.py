"""Class G on bytes: codes, scales and blocks that lie elsewhere than they should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._bits import U8
from mxref.formats import ELEMENT_FORMATS
from mxref.golden.mutants.mutant import BLOCKS, E8M0, Function, Mutant
from mxref.packing import pack, pack_blocks, unpack, unpack_blocks
from mxref.scale_layout import pack_scales

__all__ = ["BYTES"]

_TILES = "ocp+scale_layout=tiles_128x4"
_BEFORE = "ocp+scale_place=before"
_AFTER = "ocp+scale_place=after"
_SIGNED = "ocp+scale_place=before+scale_byte=signed"


def _filled(codes: U8, unit: int, value: int = 0) -> U8:
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
    codes = _filled(codes, 2)
    return (codes[..., ::2] << 4 | codes[..., 1::2]).astype(np.uint8)


def halves(codes: U8, format: str, size: int = 32) -> U8:
    """FP4 with element j beside element j + 16, as GGUF has it.

    >>> [f"{byte:02x}" for byte in halves(np.arange(32, dtype=np.uint8) % 16, "e2m1")[:3]]
    ['00', '11', '22']
    """
    codes = _filled(codes, 32)
    blocks = codes.reshape(*codes.shape[:-1], -1, 2, size // 2)
    packed = (blocks[..., 0, :] | blocks[..., 1, :] << 4).astype(np.uint8)
    return packed.reshape(*codes.shape[:-1], codes.shape[-1] // 2)


def most_significant_first(codes: U8, format: str) -> U8:
    """FP6 as one number of 24 bits with element 0 on top.

    >>> [f"{byte:02x}" for byte in most_significant_first(np.uint8([1, 18, 35, 52]), "e2m3")]
    ['05', '28', 'f4']
    """
    codes = _filled(codes, 4)
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
    return pack(_filled(codes, 8 // np.gcd(8, fmt.bits), fmt.code_count - 1), format)


def _low_bits_of_bytes(codes: U8, format: str) -> U8:
    return codes.copy()


def _exchanged(first: int, second: int) -> Callable[[U8], U8]:
    """Every four codes with two of them exchanged."""
    order = [0, 1, 2, 3]
    order[first], order[second] = second, first
    return lambda codes: _filled(codes, 4).reshape(-1, 4)[:, order].reshape(-1)


def _backwards(codes: U8) -> U8:
    """Each code of six bits with its bits in the other order."""
    return np.packbits(np.unpackbits(codes[:, np.newaxis], axis=1)[:, :1:-1], axis=1)[:, 0] >> 2


_CODES_2_AND_3 = _exchanged(2, 3)


def _unpack_exchanged(packed: U8, format: str, count: int) -> U8:
    whole = unpack(packed, format, len(packed) // 3 * 4)
    return _CODES_2_AND_3(whole)[:count]


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
        whole = _filled(packed, 16)
        return unpack(whole, format, 2 * len(whole), **choices)[:count]

    return run


# Matrices of scales.


def _tiled(scale_codes: NDArray[Any], filler: int = 0, height: int = 128) -> NDArray[Any]:
    """A matrix filled up to whole tiles, as (tiles down, bands, 32, tiles across, 4)."""
    rows, columns = scale_codes.shape
    widths = ((0, -rows % height), (0, -columns % 4))
    whole = np.pad(scale_codes, widths, constant_values=filler)
    return whole.reshape(-1, height // 32, 32, whole.shape[1] // 4, 4)


def _swizzled(order: tuple[int, ...], filler: int = 0, height: int = 128) -> Function:
    """Tiles with their axes in this order; (0, 3, 2, 1, 4) is right."""
    return lambda codes: _tiled(codes, filler, height).transpose(order).reshape(-1)


def swapped_tiles(scale_codes: NDArray[Any]) -> NDArray[Any]:
    """Tiles of 128 x 4 scales with the two factors of the row exchanged.

    Scale (r, c) should be at r % 32 * 16 + r // 32 * 4 + c.

    >>> tile = np.arange(512, dtype=np.uint16).reshape(128, 4) // 4  # each scale is its row
    >>> swapped_tiles(tile.astype(np.uint8))[[0, 4, 8, 16]].tolist()
    [0, 1, 2, 4]
    """
    rows, columns = scale_codes.shape
    whole = np.pad(scale_codes, ((0, -rows % 128), (0, -columns % 4)))
    tiles = whole.reshape(-1, 32, 4, whole.shape[1] // 4, 4)
    return tiles.transpose(0, 3, 1, 2, 4).reshape(-1)


def _unswizzled(packer: Function) -> Function:
    """The way back of a layout: its bytes read from where it would have put them."""

    def run(packed: U8, shape: tuple[int, int]) -> U8:
        numbers = np.arange(1, shape[0] * shape[1] + 1).reshape(shape)
        places = packer(numbers)
        codes = np.zeros(numbers.size, np.uint8)
        codes[places[places > 0] - 1] = packed[: len(places)][places > 0]
        return codes.reshape(shape)

    return run


def _columns_first(scale_codes: U8) -> U8:
    return scale_codes.T.reshape(-1)


# Stored blocks.


def _stored(**choices: Any) -> Function:
    return lambda scales, codes, format: pack_blocks(scales, codes.reshape(-1), format, **choices)


def _read(**choices: Any) -> Function:
    def run(packed: U8, format: str) -> tuple[U8, U8]:
        scales, codes = unpack_blocks(packed, format, **choices)
        return scales, codes.reshape(len(packed), -1)

    return run


def _nan_clamped(scales: U8, codes: U8, format: str) -> U8:
    """The signed byte of the NaN scale as 7F, since 128 is too large for it."""
    packed = _stored(scale_place="before", scale_byte="signed")(scales, codes, format)
    packed[scales == 0xFF, 0] = 0x7F
    return packed


def _layout(
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
    return Mutant(id, name, text, op, run, formats, (slot,), "M11", seen, policy)


_FP4, _FP6 = ("e2m1",), ("e3m2", "e2m3")
_MXFP4 = ("mxfp4_e2m1",)
_MXFP6 = ("mxfp6_e3m2", "mxfp6_e2m3")

_PACKED = (
    _layout(
        *("G1", "nibbles_exchanged", "puts element 0 of FP4 into the high nibble"),
        *("pack", high_nibble_first, _FP4, "triton-lang/triton#5197"),
    ),
    _layout(
        *("G1b", "last_nibble_exchanged", "puts an odd last code into the high nibble"),
        *("pack", _last_byte, _FP4),
    ),
    _layout(
        *("G1c", "odd_code_dropped", "packs whole pairs only"),
        *("pack", lambda codes, format: pack(codes, format)[: len(codes) // 2], _FP4),
    ),
    _layout(
        *("G1d", "filled_with_ones", "fills the last byte up with ones"),
        *("pack", _filled_with_ones, (*_FP6, *_FP4)),
    ),
    _layout(
        *("G1e", "not_packed", "leaves each code in a byte of its own"),
        *("pack", _low_bits_of_bytes, (*_FP6, *_FP4)),
    ),
    _layout(
        *("G2", "fp6_from_the_top", "packs four FP6 codes with the first one on top"),
        *("pack", most_significant_first, _FP6),
    ),
    _layout(
        *("G2b", "codes_2_and_3_exchanged", "exchanges the last two of four FP6 codes"),
        *("pack", lambda codes, format: pack(_CODES_2_AND_3(codes), format), _FP6),
        "pytorch/ao#3382",
    ),
    _layout(
        *("G2c", "bits_backwards", "packs the bits of each FP6 code from the top down"),
        *("pack", lambda codes, format: pack(_backwards(codes), format), _FP6),
    ),
    _layout(
        *("G2d", "bytes_not_filled_up", "writes no byte more than the bits of FP6 codes need"),
        *("pack", _only_bytes_needed, _FP6),
    ),
    _layout(
        *("G3", "halves_of_block", "packs element j with j + 16, not with j + 1"),
        *("pack", halves, _FP4, "ggml, gguf"),
    ),
    _layout(
        *("G3b", "halves_of_16", "means halves but packs element j with j + 8"),
        *("pack", lambda codes, format: halves(codes, format, 16), _FP4),
        policy="ocp+fp4_packing=halves",
    ),
    _layout(
        *("G3c", "neighbours_for_halves", "means halves but packs element j with j + 1"),
        *("pack", lambda codes, format: pack(_filled(codes, 32), format), _FP4),
        policy="ocp+fp4_packing=halves",
    ),
)

_UNPACKED = (
    _layout(
        *("G1u", "nibbles_exchanged_read", "reads element 0 of FP4 from the high nibble"),
        *("unpack", _unpack_as(fp4_packing="high_nibble_first"), _FP4),
        slot="low_nibble_first",
    ),
    _layout(
        *("G1v", "sign_extended", "repeats the sign bit of a code in the bits above it"),
        *("unpack", _signed_codes, _FP4),
        slot="low_nibble_first",
    ),
    _layout(
        *("G1w", "filler_read", "reads the filler of the last byte as codes"),
        *("unpack", _whole_bytes, _FP4),
        slot="low_nibble_first",
    ),
    _layout(
        *("G1x", "whole_byte_read", "reads the bits beside a code, too"),
        *("unpack", lambda packed, format, count: packed >> 2, _FP4),
        slot="middle_bits",
        policy="ocp+fp4_packing=middle_bits",
    ),
    _layout(
        *("G1y", "unmasked_byte", "takes a whole byte for a code"),
        *("unpack", lambda packed, format, count: packed, _FP4),
        slot="byte_each",
        policy="ocp+fp4_packing=byte_each",
    ),
    _layout(
        *("G2u", "fp6_from_the_top_read", "reads four FP6 codes with the first one on top"),
        *("unpack", _from_the_top, _FP6),
        slot="lsb_first",
    ),
    _layout(
        *("G2v", "codes_2_and_3_exchanged_read", "exchanges the last two of four FP6 codes read"),
        *("unpack", _unpack_exchanged, _FP6),
        slot="lsb_first",
    ),
    _layout(
        *("G3u", "halves_read", "reads element j + 16 beside element j"),
        *("unpack", _unpack_as(fp4_packing="halves"), _FP4),
        slot="low_nibble_first",
    ),
    _layout(
        *("G3v", "neighbours_read_for_halves", "means halves but reads element j + 1 beside j"),
        *("unpack", _unpack_as(), _FP4),
        slot="halves",
        policy="ocp+fp4_packing=halves",
    ),
)

_SCALES = (
    _layout(
        *("G9", "tile_rows_exchanged", "exchanges the factors of a row in a 128 x 4 tile"),
        *("pack_scales", swapped_tiles, E8M0),
        policy=_TILES,
    ),
    _layout(
        *("G9b", "tiles_filled_with_ff", "fills tiles up with FF, which is NaN"),
        *("pack_scales", _swizzled((0, 3, 2, 1, 4), 0xFF), E8M0),
        policy=_TILES,
    ),
    _layout(
        *("G9c", "tiles_columns_first", "stores the tiles column by column"),
        *("pack_scales", _swizzled((3, 0, 2, 1, 4)), E8M0),
        policy=_TILES,
    ),
    _layout(
        *("G9d", "rows_not_filled_up", "fills rows up to 32, not to 128"),
        *("pack_scales", _swizzled((0, 3, 2, 1, 4), 0, 32), E8M0),
        policy=_TILES,
    ),
    _layout(
        *("G9e", "columns_before_bands", "walks a tile's columns before its bands of 32 rows"),
        *("pack_scales", _swizzled((0, 3, 2, 4, 1)), E8M0),
        policy=_TILES,
    ),
    _layout(
        *("G9f", "tile_as_it_is", "cuts the matrix into tiles but does not reorder them"),
        *("pack_scales", _swizzled((0, 3, 1, 2, 4)), E8M0),
        policy=_TILES,
    ),
    _layout(
        *("G9g", "scales_column_by_column", "stores scales column by column"),
        *("pack_scales", _columns_first, E8M0),
    ),
    _layout(
        *("G9h", "tiles_not_made", "means tiles but stores the matrix as it is"),
        *("pack_scales", pack_scales, E8M0),
        policy=_TILES,
    ),
    _layout(
        *("G9u", "tile_rows_exchanged_read", "reads a tile with the factors of a row exchanged"),
        *("unpack_scales", _unswizzled(swapped_tiles), E8M0),
        slot="tiles_128x4",
        policy=_TILES,
    ),
    _layout(
        *("G9v", "tiles_columns_first_read", "reads the tiles column by column"),
        *("unpack_scales", _unswizzled(_swizzled((3, 0, 2, 1, 4))), E8M0),
        slot="tiles_128x4",
        policy=_TILES,
    ),
    _layout(
        *("G9w", "scales_column_by_column_read", "reads scales column by column"),
        *("unpack_scales", _unswizzled(_columns_first), E8M0),
        slot="row_major",
    ),
)


_BLOCKS = (
    _layout(
        *("G8b", "scale_behind", "means the scale before the elements but stores it behind them"),
        *("pack_blocks", _stored(scale_place="after"), BLOCKS),
        policy=_BEFORE,
    ),
    _layout(
        *("G8c", "scale_in_front", "means the scale behind the elements but stores it before them"),
        *("pack_blocks", _stored(scale_place="before"), BLOCKS),
        policy=_AFTER,
    ),
    _layout(
        *("G8d", "scale_signed", "stores the scale's exponent in two's complement"),
        *("pack_blocks", _stored(scale_place="before", scale_byte="signed"), BLOCKS),
        *("Quark",),
        policy=_BEFORE,
    ),
    _layout(
        *("G8e", "scale_biased", "means the exponent but stores the E8M0 code"),
        *("pack_blocks", _stored(scale_place="before"), BLOCKS),
        policy=_SIGNED,
    ),
    _layout(
        *("G8f", "signed_nan_clamped", "clamps the exponent of a NaN scale to 127"),
        *("pack_blocks", _nan_clamped, BLOCKS),
        policy=_SIGNED,
    ),
    _layout(
        *("G3d", "halves_not_stored", "means GGUF but stores neighbours in a byte"),
        *("pack_blocks", _stored(scale_place="before"), _MXFP4),
        policy="ocp+fp4_packing=halves+scale_place=before",
    ),
    _layout(
        *("G2e", "quark_not_stored", "means Quark's order of FP6 but stores a bit field"),
        *("pack_blocks", _stored(scale_place="before", scale_byte="signed"), _MXFP6),
        policy="ocp+fp6_packing=quark+scale_place=before+scale_byte=signed",
    ),
    _layout(
        *("G8u", "scale_behind_read", "reads the scale behind the elements"),
        *("unpack_blocks", _read(scale_place="after"), BLOCKS),
        policy=_BEFORE,
    ),
    _layout(
        *("G8v", "scale_in_front_read", "reads the scale before the elements"),
        *("unpack_blocks", _read(scale_place="before"), BLOCKS),
        policy=_AFTER,
    ),
    _layout(
        *("G8w", "scale_signed_read", "reads the scale as a signed exponent"),
        *("unpack_blocks", _read(scale_place="before", scale_byte="signed"), BLOCKS),
        policy=_BEFORE,
    ),
    _layout(
        *("G3w", "halves_not_read", "means GGUF but reads neighbours from a byte"),
        *("unpack_blocks", _read(scale_place="before"), _MXFP4),
        *("ggml, gguf",),
        policy="ocp+fp4_packing=halves+scale_place=before",
    ),
)

#: Every mutant of operations on bytes.
BYTES = (*_PACKED, *_UNPACKED, *_SCALES, *_BLOCKS)
