"""Class G on scales: matrices and blocks whose scales lie elsewhere than they should."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.mutants.mutant import BLOCKS, E8M0, Function
from mxref.mutants.packing_mutants import layout
from mxref.packing.elements import pack_blocks, unpack_blocks
from mxref.packing.scales import pack_scales

__all__ = ["PLACES", "swizzled"]

_TILES = "ocp+scale_layout=tiles_128x4"
_BEFORE = "ocp+scale_place=before"
_AFTER = "ocp+scale_place=after"
_SIGNED = "ocp+scale_place=before+scale_byte=signed"
_MXFP4 = ("mxfp4_e2m1",)
_MXFP6 = ("mxfp6_e3m2", "mxfp6_e2m3")


# Matrices of scales.


def _tiled(scale_codes: NDArray[Any], filler: int = 0, height: int = 128) -> NDArray[Any]:
    """A matrix filled up to whole tiles, as (tiles down, bands, 32, tiles across, 4)."""
    rows, columns = scale_codes.shape
    widths = ((0, -rows % height), (0, -columns % 4))
    whole = np.pad(scale_codes, widths, constant_values=filler)
    return whole.reshape(-1, height // 32, 32, whole.shape[1] // 4, 4)


def swizzled(order: tuple[int, ...], filler: int = 0, height: int = 128) -> Function:
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
    packed: U8 = _stored(scale_place="before", scale_byte="signed")(scales, codes, format)
    packed[scales == 0xFF, 0] = 0x7F
    return packed


_SCALES = (
    layout(
        *("G9", "tile_rows_exchanged", "exchanges the factors of a row in a 128 x 4 tile"),
        *("pack_scales", swapped_tiles, E8M0),
        policy=_TILES,
    ),
    layout(
        *("G9b", "tiles_filled_with_ff", "fills tiles up with FF, which is NaN"),
        *("pack_scales", swizzled((0, 3, 2, 1, 4), 0xFF), E8M0),
        policy=_TILES,
    ),
    layout(
        *("G9c", "tiles_columns_first", "stores the tiles column by column"),
        *("pack_scales", swizzled((3, 0, 2, 1, 4)), E8M0),
        policy=_TILES,
    ),
    layout(
        *("G9d", "rows_not_filled_up", "fills rows up to 32, not to 128"),
        *("pack_scales", swizzled((0, 3, 2, 1, 4), 0, 32), E8M0),
        policy=_TILES,
    ),
    layout(
        *("G9e", "columns_before_bands", "walks a tile's columns before its bands of 32 rows"),
        *("pack_scales", swizzled((0, 3, 2, 4, 1)), E8M0),
        policy=_TILES,
    ),
    layout(
        *("G9f", "tile_as_it_is", "cuts the matrix into tiles but does not reorder them"),
        *("pack_scales", swizzled((0, 3, 1, 2, 4)), E8M0),
        policy=_TILES,
    ),
    layout(
        *("G9g", "scales_column_by_column", "stores scales column by column"),
        *("pack_scales", _columns_first, E8M0),
    ),
    layout(
        *("G9h", "tiles_not_made", "means tiles but stores the matrix as it is"),
        *("pack_scales", pack_scales, E8M0),
        policy=_TILES,
    ),
    layout(
        *("G9u", "tile_rows_exchanged_read", "reads a tile with the factors of a row exchanged"),
        *("unpack_scales", _unswizzled(swapped_tiles), E8M0),
        slot="tiles_128x4",
        policy=_TILES,
    ),
    layout(
        *("G9v", "tiles_columns_first_read", "reads the tiles column by column"),
        *("unpack_scales", _unswizzled(swizzled((3, 0, 2, 1, 4))), E8M0),
        slot="tiles_128x4",
        policy=_TILES,
    ),
    layout(
        *("G9w", "scales_column_by_column_read", "reads scales column by column"),
        *("unpack_scales", _unswizzled(_columns_first), E8M0),
        slot="row_major",
    ),
)


_BLOCKS = (
    layout(
        *("G8b", "scale_behind", "means the scale before the elements but stores it behind them"),
        *("pack_blocks", _stored(scale_place="after"), BLOCKS),
        policy=_BEFORE,
    ),
    layout(
        *("G8c", "scale_in_front", "means the scale behind the elements but stores it before them"),
        *("pack_blocks", _stored(scale_place="before"), BLOCKS),
        policy=_AFTER,
    ),
    layout(
        *("G8d", "scale_signed", "stores the scale's exponent in two's complement"),
        *("pack_blocks", _stored(scale_place="before", scale_byte="signed"), BLOCKS),
        *("Quark",),
        policy=_BEFORE,
    ),
    layout(
        *("G8e", "scale_biased", "means the exponent but stores the E8M0 code"),
        *("pack_blocks", _stored(scale_place="before"), BLOCKS),
        policy=_SIGNED,
    ),
    layout(
        *("G8f", "signed_nan_clamped", "clamps the exponent of a NaN scale to 127"),
        *("pack_blocks", _nan_clamped, BLOCKS),
        policy=_SIGNED,
    ),
    layout(
        *("G3d", "halves_not_stored", "means GGUF but stores neighbours in a byte"),
        *("pack_blocks", _stored(scale_place="before"), _MXFP4),
        policy="ocp+fp4_packing=halves+scale_place=before",
    ),
    layout(
        *("G2e", "quark_not_stored", "means Quark's order of FP6 but stores a bit field"),
        *("pack_blocks", _stored(scale_place="before", scale_byte="signed"), _MXFP6),
        policy="ocp+fp6_packing=quark+scale_place=before+scale_byte=signed",
    ),
    layout(
        *("G8u", "scale_behind_read", "reads the scale behind the elements"),
        *("unpack_blocks", _read(scale_place="after"), BLOCKS),
        policy=_BEFORE,
    ),
    layout(
        *("G8v", "scale_in_front_read", "reads the scale before the elements"),
        *("unpack_blocks", _read(scale_place="before"), BLOCKS),
        policy=_AFTER,
    ),
    layout(
        *("G8w", "scale_signed_read", "reads the scale as a signed exponent"),
        *("unpack_blocks", _read(scale_place="before", scale_byte="signed"), BLOCKS),
        policy=_BEFORE,
    ),
    layout(
        *("G3w", "halves_not_read", "means GGUF but reads neighbours from a byte"),
        *("unpack_blocks", _read(scale_place="before"), _MXFP4),
        *("ggml, gguf",),
        policy="ocp+fp4_packing=halves+scale_place=before",
    ),
)

#: Every mutant of scale layouts and stored blocks.
PLACES = (*_SCALES, *_BLOCKS)
