"""Tiles of 16 x 16 elements under one scale, made of blocks of 16: midpoints, specials, noise.

One row of a tile has the block; the others have what is smaller in it, so that the row decides the
scale and an amax of other rows, of a half or of a neighbour is another one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.formats.catalog import E2M1
from mxref.golden.scaled_blocks import Block, Under, scale_ties, under_tensor
from mxref.operands.draws import Draws

__all__ = ["code_tiles", "tiles"]

_SIDE = 16
#: Codes behind which midpoints of scales are asked.
_SCALE_TIES = (0x01, 0x38, 0x7D)
#: Tiles of noise.
_NOISE = 8


def tiles(under: Under) -> Iterator[Block]:
    """Tiles under a tensor scale, the row and the columns of the block others in each."""
    blocks = [*under_tensor(under), *scale_ties(under, _SCALE_TIES)]
    whole = [block for block in blocks if not block[0].startswith("lane_")]
    for index, (name, words, flags) in enumerate(whole):
        yield f"tile_{name}", _tile(words, index, under.layout), flags
    for place in range(_SIDE):
        block = [under.product(6, 0), *[under.product(7 - i, -2) for i in range(6)], *[0] * 9]
        signed = [bits | under.layout.sign_bit * (i % 2) for i, bits in enumerate(block)]
        yield f"row_{place:02}", _tile(signed, place, under.layout), ("position",)
    for index in range(_NOISE):
        yield f"noise_{index:02}", _noise(index, under), ()


def _tile(block: list[int], index: int, layout: FloatLayout) -> list[int]:
    """The block in one row, turned; in the others its smaller finite numbers, turned further."""
    magnitudes = [bits & layout.sign_bit - 1 for bits in block]
    top = max(magnitudes)
    small = [
        0 if size in (top, layout.inf_bits) or size > layout.inf_bits else bits
        for bits, size in zip(block, magnitudes, strict=True)
    ]
    mine, turn = (5 * index + 3) % _SIDE, 7 * index
    rows = []
    for row in range(_SIDE):
        of_row = block if row == mine else small
        start = turn + 3 * row
        rows += [of_row[(start + column) % _SIDE] for column in range(_SIDE)]
    return rows


def _noise(index: int, under: Under) -> list[int]:
    """Numbers near the scale 1, with binades of their rows and of their columns."""
    draws = Draws(f"tile {under.layout.name} {index}")
    significands = draws.between(128, 255, (_SIDE, _SIDE))
    binades = draws.between(-3, 0, (_SIDE, 1)) + draws.between(-3, 0, (1, _SIDE))
    signs = draws.below((_SIDE, _SIDE), 2)
    return [
        under.product(int(n), int(e) - 5) | under.layout.sign_bit * int(sign)
        for n, e, sign in zip(significands.flat, binades.flat, signs.flat, strict=True)
    ]


def code_tiles(count: int) -> Iterator[list[int]]:
    """So many tiles of codes: each row, each column and each tile has them in another order."""
    row, column = np.ogrid[:_SIDE, :_SIDE]
    for index in range(count):
        codes = (row * (2 * index + 1) + column * (2 * index + 3) + row * column + 5 * index) % (
            E2M1.code_count
        )
        yield codes.reshape(-1).tolist()
