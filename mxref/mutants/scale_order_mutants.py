"""Class G on scale layouts: neighbours' scales, layouts applied twice or not, words, AMD tiles."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants.layout_mutants import unswizzled
from mxref.mutants.mutant import E8M0, Function, Mutants, wrong
from mxref.packing.scale_orders import SCALE_ORDERS, ScaleOrder
from mxref.policy.choices import ScaleLayout

__all__ = ["SCALE_ORDER_MUTANTS", "stored", "twice"]

_ROWS = SCALE_ORDERS[ScaleLayout.ROW_MAJOR]
_TILES = SCALE_ORDERS[ScaleLayout.TILES_128X4]
_WORDS = SCALE_ORDERS[ScaleLayout.MN_MAJOR_WORDS]
_GFX950 = SCALE_ORDERS[ScaleLayout.TILES_GFX950]


def stored(order: ScaleOrder, filler: int = 0, **wrongly: Any) -> Function:
    """A packer of a matrix in an order of which some fields are wrong."""
    order = dataclasses.replace(order, **wrongly)

    def run(scale_codes: NDArray[Any]) -> NDArray[Any]:
        rows, columns = scale_codes.shape
        height, width = order.filled(rows, columns)
        whole = np.full((height, width), filler, scale_codes.dtype)
        whole[:rows, :columns] = scale_codes
        first, second = height // math.prod(order.down), width // math.prod(order.across)
        parts = whole.reshape(first, *order.down, second, *order.across)
        return parts.transpose(order.axes).reshape(-1)

    return run


def twice(order: ScaleOrder) -> Function:
    """A layout applied a second time to its own bytes.

    >>> twice(_WORDS)(np.arange(16, dtype=np.uint8).reshape(4, 4)).tolist()[:4]
    [0, 1, 2, 3]
    """
    once = stored(order)
    return lambda codes: once(once(codes).reshape(order.filled(*codes.shape)))


def _next(axis: int, order: ScaleOrder) -> Function:
    """Each scale in the place of its neighbour, the first in the place of the last."""
    once = stored(order)
    return lambda codes: once(np.roll(codes, -1, axis))


def _next_tile(size: int, order: ScaleOrder) -> Function:
    """The bytes of the next tile in the place of each."""
    once = stored(order)
    return lambda codes: np.roll(once(codes), -size)


def _as_it_is(order: ScaleOrder) -> Function:
    """A packer that pads a matrix and moves nothing."""
    return stored(order, down=(), across=(), axes=(0, 1))


def _top_byte_first(codes: NDArray[Any]) -> NDArray[Any]:
    """Words with the first of their four columns in the top byte."""
    words = stored(_WORDS)(codes).reshape(-1, 4)
    return np.ascontiguousarray(words[:, ::-1]).reshape(-1)


_packs = partial(wrong, op="pack_scales", formats=E8M0, floats=("bytes",), model="M11")
_TILED, _WORDED, _SHUFFLED = (
    f"ocp+scale_layout={name}" for name in ("tiles_128x4", "mn_major_words", "tiles_gfx950")
)
_tiled = partial(_packs, policy=_TILED)
_worded = partial(_packs, policy=_WORDED)
_shuffled = partial(_packs, policy=_SHUFFLED)
_HALVES = (0, 3, 5, 2, 1, 4)  # of rows and of columns exchanged
_DOWN = (3, 0, 5, 2, 4, 1)  # tiles column by column


def _reads(packer: Function, layout: str) -> Any:
    policy = "ocp" if layout == "row_major" else f"ocp+scale_layout={layout}"
    run = unswizzled(packer)
    return wrong(
        run, op="unpack_scales", formats=E8M0, floats=(layout,), model="M11", policy=policy
    )


SCALE_ORDER_MUTANTS: Mutants = {
    "G11 scale_of_row_below: stores the scale of the next row": _packs(_next(0, _ROWS)),
    "G11b scale_of_column_beside: stores the scale of the next column": _packs(_next(1, _ROWS)),
    "G11c tiled_scale_of_next_row: stores the scale of the next row in tiles": _tiled(
        _next(0, _TILES)
    ),
    "G11d tiled_scale_of_next_column: stores the scale of the next column in tiles": _tiled(
        _next(1, _TILES)
    ),
    "G11e scales_of_next_tile: stores the next tile of 128 x 4": _tiled(_next_tile(512, _TILES)),
    "G11f word_of_next_row: stores the word of the next row": _worded(_next(0, _WORDS)),
    "G11g word_of_next_column: stores words that begin a column late": _worded(_next(1, _WORDS)),
    "G11h shuffled_scale_of_next_row: stores the scale of the next row for gfx950": _shuffled(
        _next(0, _GFX950)
    ),
    "G11i shuffled_scale_of_next_column: stores the scale of the next column for gfx950": _shuffled(
        _next(1, _GFX950)
    ),
    "G11j scales_of_next_gfx950_tile: stores the next tile of 32 x 8": _shuffled(
        _next_tile(256, _GFX950)
    ),
    "G11u scale_of_row_below_read: reads the scale of the next row": _reads(
        _next(0, _ROWS), "row_major"
    ),
    "G11v scale_of_column_beside_read: reads the scale of the next column": _reads(
        _next(1, _ROWS), "row_major"
    ),
    "G11w tiled_scale_of_next_row_read: reads the scale of the next row from tiles": _reads(
        _next(0, _TILES), "tiles_128x4"
    ),
    "G11x tiled_scale_of_next_column_read: reads the scale of the next column from tiles": _reads(
        _next(1, _TILES), "tiles_128x4"
    ),
    "G11y scales_of_next_tile_read: reads the next tile of 128 x 4": _reads(
        _next_tile(512, _TILES), "tiles_128x4"
    ),
    "G12 tiles_made_twice: makes tiles of 128 x 4 of the bytes of tiles": _tiled(twice(_TILES)),
    "G12b tiles_filled_up_only: fills up to whole tiles of 128 x 4 but stores row by row": _tiled(
        _as_it_is(_TILES)
    ),
    "G12c shuffled_twice: shuffles for gfx950 what is shuffled": _shuffled(twice(_GFX950)),
    "G12d not_shuffled: fills up for gfx950 but stores row by row": _shuffled(_as_it_is(_GFX950)),
    "G12e words_made_twice: makes words of four columns of the bytes of words": _worded(
        twice(_WORDS)
    ),
    "G12f words_not_made: fills up to whole words but stores row by row": _worded(
        _as_it_is(_WORDS)
    ),
    "G12y words_made_twice_read: reads words of four columns made of the bytes of words": _reads(
        twice(_WORDS), "mn_major_words"
    ),
    "G12z words_not_made_read: reads words of four columns row by row": _reads(
        _as_it_is(_WORDS), "mn_major_words"
    ),
    "G12u tiles_made_twice_read: reads tiles of 128 x 4 made of the bytes of tiles": _reads(
        twice(_TILES), "tiles_128x4"
    ),
    "G12v tiles_not_made_read: reads whole tiles of 128 x 4 row by row": _reads(
        _as_it_is(_TILES), "tiles_128x4"
    ),
    "G12w shuffled_twice_read: reads what is shuffled twice for gfx950": _reads(
        twice(_GFX950), "tiles_gfx950"
    ),
    "G12x not_shuffled_read: reads what is shuffled for gfx950 row by row": _reads(
        _as_it_is(_GFX950), "tiles_gfx950"
    ),
    "G13 word_top_byte_first: puts the first of four columns into the top byte": _worded(
        _top_byte_first
    ),
    "G13b words_row_by_row: stores the words of four columns row by row": _worded(
        stored(_WORDS, axes=(0, 1, 2))
    ),
    "G13c words_not_filled_up: does not fill rows up to 16 bytes of words": _worded(
        stored(_WORDS, rows=1)
    ),
    "G13d columns_not_in_words: stores columns one by one, not four in a word": _worded(
        stored(_WORDS, axes=(1, 2, 0))
    ),
    "G13u word_top_byte_first_read: reads the first of four columns from the top byte": _reads(
        _top_byte_first, "mn_major_words"
    ),
    "G13v words_row_by_row_read: reads the words of four columns row by row": _reads(
        stored(_WORDS, axes=(0, 1, 2)), "mn_major_words"
    ),
    "G14 gfx950_halves_exchanged: exchanges the halves of rows and columns of a tile": _shuffled(
        stored(_GFX950, axes=_HALVES)
    ),
    "G14b gfx950_tiles_columns_first: stores the tiles of 32 x 8 column by column": _shuffled(
        stored(_GFX950, axes=_DOWN)
    ),
    "G14c gfx950_filled_with_7f: fills up with 7F, which is 1": _shuffled(stored(_GFX950, 0x7F)),
    "G14u gfx950_halves_exchanged_read: reads the halves of rows and columns exchanged": _reads(
        stored(_GFX950, axes=_HALVES), "tiles_gfx950"
    ),
    "G14v gfx950_tiles_columns_first_read: reads the tiles of 32 x 8 column by column": _reads(
        stored(_GFX950, axes=_DOWN), "tiles_gfx950"
    ),
}
