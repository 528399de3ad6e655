"""Class G on scales: scale matrices and stored blocks with scales in the wrong places."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8
from mxref.mutants.mutant import BLOCKS, E8M0, Function, Mutants, wrong
from mxref.packing.elements import pack_blocks, unpack_blocks
from mxref.packing.scales import pack_scales

__all__ = ["PLACES", "swizzled", "unswizzled"]

_TILES = "ocp+scale_layout=tiles_128x4"
_BEFORE = "ocp+scale_place=before"
_AFTER = "ocp+scale_place=after"
_SIGNED = "ocp+scale_place=before+scale_byte=signed"
_MXFP4 = ("mxfp4_e2m1",)
_MXFP6 = ("mxfp6_e3m2", "mxfp6_e2m3")


def _tiled(scale_codes: NDArray[Any], filler: int = 0, height: int = 128) -> NDArray[Any]:
    """A matrix padded to whole tiles, as (tiles down, bands, 32, tiles across, 4)."""
    rows, columns = scale_codes.shape
    widths = ((0, -rows % height), (0, -columns % 4))
    whole = np.pad(scale_codes, widths, constant_values=filler)
    return whole.reshape(-1, height // 32, 32, whole.shape[1] // 4, 4)


def swizzled(order: tuple[int, ...], filler: int = 0, height: int = 128) -> Function:
    """A packer that stores tiles with their axes in an order; (0, 3, 2, 1, 4) is right."""
    return lambda codes: _tiled(codes, filler, height).transpose(order).reshape(-1)


def swapped_tiles(scale_codes: NDArray[Any]) -> NDArray[Any]:
    """Tiles of 128 x 4 scales with both factors of the row number exchanged.

    Scale (r, c) should be at r % 32 * 16 + r // 32 * 4 + c.

    >>> tile = np.arange(512, dtype=np.uint16).reshape(128, 4) // 4  # each scale is its row
    >>> swapped_tiles(tile.astype(np.uint8))[[0, 4, 8, 16]].tolist()
    [0, 1, 2, 4]
    """
    rows, columns = scale_codes.shape
    whole = np.pad(scale_codes, ((0, -rows % 128), (0, -columns % 4)))
    tiles = whole.reshape(-1, 32, 4, whole.shape[1] // 4, 4)
    return tiles.transpose(0, 3, 1, 2, 4).reshape(-1)


def unswizzled(packer: Function) -> Function:
    """The inverse of a layout: reads each code from where `packer` would have put it."""

    def run(packed: U8, shape: tuple[int, int]) -> U8:
        numbers = np.arange(1, shape[0] * shape[1] + 1).reshape(shape)
        places = packer(numbers)
        codes = np.zeros(numbers.size, np.uint8)
        codes[places[places > 0] - 1] = packed[: len(places)][places > 0]
        return codes.reshape(shape)

    return run


def _columns_first(scale_codes: U8) -> U8:
    return scale_codes.T.reshape(-1)


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


def _with_scales(change: Callable[[U8], U8]) -> Function:
    """A packer of blocks that stores other scales."""
    return lambda scales, codes, format: _stored(scale_place="before")(
        change(scales), codes, format
    )


def _read_with(change: Callable[[U8], U8]) -> Function:
    """An unpacker of blocks that reads other scales."""

    def run(packed: U8, format: str) -> tuple[U8, U8]:
        scales, codes = _read(scale_place="before")(packed, format)
        return change(scales), codes

    return run


def _shifted(k: int) -> Callable[[U8], U8]:
    """Scale codes shifted by k, except NaN."""
    return lambda scales: np.where(
        scales == 0xFF, scales, np.clip(scales.astype(np.int64) + k, 0, 254)
    ).astype(np.uint8)


_swizzles = partial(wrong, op="pack_scales", formats=E8M0, floats=("bytes",), model="M11")
_unswizzles = partial(wrong, op="unpack_scales", formats=E8M0, model="M11")
_stores = partial(wrong, op="pack_blocks", formats=BLOCKS, floats=("bytes",), model="M11")
_loads = partial(wrong, op="unpack_blocks", formats=BLOCKS, floats=("bytes",), model="M11")

PLACES: Mutants = {
    "G9 tile_rows_exchanged: exchanges the factors of a row in a 128 x 4 tile": _swizzles(
        swapped_tiles, policy=_TILES
    ),
    "G9b tiles_filled_with_ff: fills tiles up with FF, which is NaN": _swizzles(
        swizzled((0, 3, 2, 1, 4), 0xFF), policy=_TILES
    ),
    "G9c tiles_columns_first: stores the tiles column by column": _swizzles(
        swizzled((3, 0, 2, 1, 4)), policy=_TILES
    ),
    "G9d rows_not_filled_up: fills rows up to 32, not to 128": _swizzles(
        swizzled((0, 3, 2, 1, 4), 0, 32), policy=_TILES
    ),
    "G9e columns_before_bands: walks a tile's columns before its bands of 32 rows": _swizzles(
        swizzled((0, 3, 2, 4, 1)), policy=_TILES
    ),
    "G9f tile_as_it_is: cuts the matrix into tiles but does not reorder them": _swizzles(
        swizzled((0, 3, 1, 2, 4)), policy=_TILES
    ),
    "G9g scales_column_by_column: stores scales column by column": _swizzles(_columns_first),
    "G9h tiles_not_made: means tiles but stores the matrix as it is": _swizzles(
        pack_scales, policy=_TILES
    ),
    "G9u tile_rows_exchanged_read: reads a tile with the factors of a row exchanged": _unswizzles(
        unswizzled(swapped_tiles), floats=("tiles_128x4",), policy=_TILES
    ),
    "G9v tiles_columns_first_read: reads the tiles column by column": _unswizzles(
        unswizzled(swizzled((3, 0, 2, 1, 4))), floats=("tiles_128x4",), policy=_TILES
    ),
    "G9w scales_column_by_column_read: reads scales column by column": _unswizzles(
        unswizzled(_columns_first), floats=("row_major",)
    ),
    "G8b scale_behind: means the scale before the elements but stores it behind them": _stores(
        _stored(scale_place="after"), policy=_BEFORE
    ),
    "G8c scale_in_front: means the scale behind the elements but stores it before them": _stores(
        _stored(scale_place="before"), policy=_AFTER
    ),
    "G8d scale_signed: stores the scale's exponent in two's complement": _stores(
        _stored(scale_place="before", scale_byte="signed"), policy=_BEFORE
    ),
    "G8e scale_biased: means the exponent but stores the E8M0 code": _stores(
        _stored(scale_place="before"), policy=_SIGNED
    ),
    "G8f signed_nan_clamped: clamps the exponent of a NaN scale to 127": _stores(
        _nan_clamped, policy=_SIGNED
    ),
    "G3d halves_not_stored: means GGUF but stores neighbours in a byte": _stores(
        _stored(scale_place="before"),
        formats=_MXFP4,
        policy="ocp+fp4_packing=halves+scale_place=before",
    ),
    "G2e quark_not_stored: means Quark's order of FP6 but stores a bit field": _stores(
        _stored(scale_place="before", scale_byte="signed"),
        formats=_MXFP6,
        policy="ocp+fp6_packing=quark+scale_place=before+scale_byte=signed",
    ),
    "G1f nibbles_exchanged_in_blocks: puts element 0 of FP4 into the high nibble": _stores(
        _stored(fp4_packing="high_nibble_first", scale_place="before"),
        formats=_MXFP4,
        policy=_BEFORE,
    ),
    "C6h packed_scale_small: stores the scale one code too small": _stores(
        _with_scales(_shifted(-1)), policy=_BEFORE
    ),
    "C6i packed_scale_large: stores the scale one code too large": _stores(
        _with_scales(_shifted(1)), policy=_BEFORE
    ),
    "G1z nibbles_exchanged_in_blocks_read: reads element 0 of FP4 from the high nibble": _loads(
        _read(fp4_packing="high_nibble_first", scale_place="before"),
        formats=_MXFP4,
        policy=_BEFORE,
    ),
    "C6u unpacked_scale_small: reads the scale one code too small": _loads(
        _read_with(_shifted(-1)), policy=_BEFORE
    ),
    "C6v unpacked_scale_large: reads the scale one code too large": _loads(
        _read_with(_shifted(1)), policy=_BEFORE
    ),
    "G8u scale_behind_read: reads the scale behind the elements": _loads(
        _read(scale_place="after"), policy=_BEFORE
    ),
    "G8v scale_in_front_read: reads the scale before the elements": _loads(
        _read(scale_place="before"), policy=_AFTER
    ),
    "G8w scale_signed_read: reads the scale as a signed exponent": _loads(
        _read(scale_place="before", scale_byte="signed"), policy=_BEFORE
    ),
    "G3w halves_not_read: means GGUF but reads neighbours from a byte": _loads(
        _read(scale_place="before"),
        formats=_MXFP4,
        policy="ocp+fp4_packing=halves+scale_place=before",
    ),
}
