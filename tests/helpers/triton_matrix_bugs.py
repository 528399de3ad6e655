"""Bugs planted in the Triton kernels that matrices show, and those of rceil_reciprocal."""

from __future__ import annotations

from triton_bugs import AMAX
from triton_planting import after, before, instead, part

__all__ = ["OF_MATRICES", "OF_RECIPROCALS"]

# Of tiles and random bits.
TILE_OF = "tile_of(x, rows, columns, x_row, x_column, ROWS, COLUMNS)\n"
LOADED = f"{TILE_OF}    bits"
WRITTEN = f"{TILE_OF}    block"
DOWN = "quantize_lines(tl.trans(bits), column, row,"
PHILOX = "words = tl.join(tl.join(a, c), tl.join(b, d))"
DRAWN = "return tl.reshape(words, (block.shape[0], 32)) >> 32 - K.WIDTH"
PHILOX_CALL = "tl.philox(seed,"
WIDENED = "return x.to(tl.float32).to(tl.int32, bitcast=True)"
DOWN_SCALES = "columns, rows, scales_down, codes_down,"
TILE = "tile = line // 128 * tl.cdiv(blocks, 4) + number // 4"
INSIDE = "line % 32 * 16 + line % 128 // 32 * 4 + number % 4"
EDGE = "return block, place, (line < rows) & (number < blocks)"
NARROW = "float != tl.float32, K)"
ALIGNED = "codes = codes.clone() if codes.data_ptr() % 4 else codes"
STORED_WORD = "(tl.arange(0, each) * width)[None, None, :]"
SHIFT = "shift = tl.arange(0, 8 if width == 4 else 4) * width"
STORED_SIXES = "(a, c), (b, d) = tl.split(evens), tl.split(odds)"
READ_SIXES = "tl.join(tl.join(a, c), tl.join(b, d)), (block.shape[0], 8)"

#: What only matrices show: transposition, strides, layouts, float16, sizes, random bits.
OF_MATRICES = {
    "not transposed": part(DOWN, "tl.trans(bits)", "tl.reshape(bits, (COLUMNS, ROWS))"),
    "tile of columns at its row": part(DOWN, "column, row", "row, column"),
    "row stride": part(LOADED, "x_row", "columns"),
    "column stride": part(LOADED, "x_column", "1"),
    "tiles not cleared": instead("x.new_zeros if", "x.new_ones if"),
    "tiles across": part(TILE, "tl.cdiv(blocks, 4)", "(blocks // 4)"),
    "order in tiles": instead(INSIDE, "line % 128 * 4 + number % 4"),
    "order of words": part(PHILOX, "tl.join(a, c), tl.join(b, d)", "tl.join(a, b), tl.join(c, d)"),
    "lower bits": part(DRAWN, ">> 32 - K.WIDTH", "& (1 << K.WIDTH) - 1"),
    "lost high word of the seed": part(PHILOX_CALL, "seed,", "seed & 0xFFFFFFFF,"),
    "row stride of results": part(WRITTEN, "x_row", "x_row // 2"),
    "column stride of results": part(WRITTEN, "x_column", "1"),
    "lane swap": part(STORED_WORD, "tl.arange(0, each)", "(tl.arange(0, each) ^ 1)"),
    "lane swap where codes are read": part(
        SHIFT, "tl.arange(0, 8 if width == 4 else 4)", "(tl.arange(0, 8 if width == 4 else 4) ^ 1)"
    ),
    "packing order of FP6": instead(
        STORED_SIXES, "(a, c), (b, d) = tl.split(odds), tl.split(evens)"
    ),
    "order in which FP6 is read": part(
        READ_SIXES, "tl.join(a, c), tl.join(b, d)", "tl.join(b, d), tl.join(a, c)"
    ),
    "division": instead("tile // across * ROWS,", "tile // (across + 1) * ROWS,"),
    "alignment": instead(
        ALIGNED,
        "at = codes.storage_offset() // 4 * 4",
        "codes = codes.as_strided(codes.shape, codes.stride(), at)",
    ),
    "scales of rows for columns": part(DOWN_SCALES, "scales_down", "scales"),
    "reused scale": after(AMAX, "amax = tl.broadcast_to(tl.max(amax), amax.shape)"),
    "tile of rows cut off": part(EDGE, "(line < rows)", "(line < rows - rows % 64)"),
    "rounded twice to float16": part(NARROW, "!= tl.float32", "== tl.bfloat16"),
    "float16 by bfloat16": before(WIDENED, "x = x.to(tl.bfloat16) if x.dtype == tl.float16 else x"),
}
#: Bugs of rceil_reciprocal, which is wrong at few thresholds then.
OF_RECIPROCALS = {
    "the same limit at scale 00": instead('rule == "rceil_reciprocal"', "False"),
    "INT8 as the others": instead(" + (K.FRACTION == 6)", " + 0"),
    "a later limit at scale 01, too": instead("(scale == 0).to", "(scale <= 1).to"),
    "rceil": instead(
        '"rceil_reciprocal": lambda K: LIMITS["rceil"](K) + (K.FRACTION == 6)',
        '"rceil_reciprocal": lambda K: LIMITS["rceil"](K) - 1',
    ),
}
