"""Bugs planted in the Triton kernels: all, with those of scales, reading and packing."""

from __future__ import annotations

from collections.abc import Mapping

from triton_encoder_bugs import ENCODING
from triton_nvfp4_bugs import NVFP4
from triton_planting import INFINITE, LIMITED, Bugs, Planted, Rewrites, after, before, instead, part

__all__ = ["LEFT_OUT", "OF_MATRICES", "PLANTED"]

# Of `quantize_kernel`, and its scale rules.
AMAX = "        amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)"
PATTERN = "pattern = normalized(amax)"
SCALE = "scale = (pattern >> 23) - emax + ((pattern & 0x7FFFFF) >= LIMIT).to(tl.int32)"
FINITE = "        finite = amax < 0x7F800000"
CLAMPED = "return tl.minimum(tl.maximum(scale, 0), 254)"
CHOSEN = " " * 12 + "scale = tl.where(finite, scale_of(amax, LIMIT, FRACTION, EMIN, LARGEST), 0xFF)"
ELEMENTS = " " * 12 + "code = encoded(bits, scale, random, WIDTH, BITS, FRACTION, EMIN, TOP)"
STORED = "        tl.store(scales + place, scale.to(tl.uint8), mask)"
PLACE = "        place = scale_place(line, column, lines, blocks, TILED)"
LANE = "tl.arange(0, 32)[None, :]"
FLOOR = '"floor": lambda fraction, largest: 1 << 23'
RCEIL = "(largest % (1 << fraction) << (23 - fraction)) + 1"
EVEN = "(1 << 23) - (1 << (22 - fraction))"
# Of `decoded` and `dequantize_kernel`.
IS_NEGATIVE = "        negative = code >> BITS - 1 != 0"
READ = "        magnitude = code & (1 << BITS - 1) - 1"
READ_INT8 = "        magnitude = tl.where(negative, 256 - code, code)"
INTEGER = "integer, exponent = integer_of(magnitude, FRACTION)"
FIELD = (
    "        bits, _, _ = "
    "product(integer, tl.full((), 0x3F800000, tl.int32), exponent + scale - 127)"
)
PRODUCT = "    bits = tl.where(over, 0x7F800000, kept + (tl.maximum(field, 1) - 1 << 23))"
IS_NAN = "        bits = tl.where(magnitude > LARGEST, 0x7FC00000, bits)"
IS_INFINITE = "bits = tl.where(magnitude == LARGEST + 1, 0x7F800000, bits)"
EMAX = "(LARGEST >> FRACTION) + EMIN - 1"
NAN_SCALE = "bits = tl.where(scale == (0x7F if SIZE == 16 else 0xFF), 0x7FC00000, bits)"
SCALE_READ = "        scale = tl.load(scales + place, mask, 0).to(tl.int32)"
# Of tiles and random bits.
LOADED = "tl.load(x + r * x_row + c * x_column, (r < rows) & (c < columns), 0)"
DOWN = "quantize_lines(tl.trans(bits), column, row,"
PHILOX = "words = tl.join(tl.join(a, c), tl.join(b, d))"
DRAWN = "random = philox_words(seed, block) >> 32 - WIDTH"
WIDE = "philox_words(seed, block) & (1 << WIDTH) - 1"
PHILOX_CALL = "tl.philox(seed,"
WIDENED = "return x.to(tl.float32).to(tl.int32, bitcast=True)"
WRITTEN = "tl.store(x + r * x_row + c * x_column, values, (r < rows) & (c < columns))"
DOWN_SCALES = "columns, rows, scales_down, codes_down,"
EDGE = "return line, column, (line < lines) & (column < blocks)"
NARROW = "narrow: tl.constexpr = x.dtype.element_ty != tl.int32"
ALIGNED = "        line = line.clone()"
# Of packing.
NIBBLES = "            code = joined(code, 4)"
SIXES = "        fours = joined(joined(code, 6), 12)"
WORDS = "    words, blocks = _read(codes, unit=32), triton.cdiv(count, 32)"
BIT = "        bit = (tl.arange(0, 16) * 6)[None, None, :]"
READ_CODES = "    return tl.reshape(code, (block.shape[0], SIZE))"
SHIFT = "        shift = tl.arange(0, 32 // width) * width"
FIELD_READ = "        code = word[:, :, None] >> shift[None, None, :] & (1 << width) - 1"
PACKED = "    return packed.view(torch.uint8)[: _packed_size(count, bits)]"
UNPACKED = '    bits, blocks = FORMATS[format]["BITS"], triton.cdiv(count, 32)'
INSIDE = "place = tile * 512 + line % 32 * 16 + line % 128 // 32 * 4 + column % 4"
TILE = "tile = line // 128 * tl.cdiv(columns, 4) + column // 4"
FILLED = "-(-scales.shape[0] // 128) * 128, -(-scales.shape[1] // 4) * 4"
TILED = "    _launch(tiles_kernel, scales.shape, _read(scales), tiles, *scales.shape, UNDO=False)"
UNTILED = "    _launch(tiles_kernel, shape, scales, tiles, *shape, UNDO=True)"
TILES = "tiles = _bytes(scales, _tile_count(*scales.shape) * 512)"


def sized(six: str = "triton.cdiv(count, 4) * 3", four: str = "triton.cdiv(count, 2)") -> Rewrites:
    """As many bytes of `pack`."""
    size = f"{{8: count, 6: {six}, 4: {four}}}[bits]"
    return part(PACKED, "_packed_size(count, bits)", size)


def seen(condition: str) -> Rewrites:
    """The largest magnitude of those of which this is true."""
    return instead(
        AMAX,
        "every = bits & 0x7FFFFFFF",
        f"amax = tl.max(tl.where({condition}, every, 0), axis=1, keep_dims=True)",
    )


def stored(scale: str) -> Rewrites:
    """Another scale stored than the one of the elements; NaN stays."""
    return part(STORED, "scale.to", f"tl.where(finite, tl.clamp({scale}, 0, 254), scale).to")


SCALES: Bugs = {
    "C1 C1q": after(
        SCALE,
        "positive = tl.maximum(amax, 1).to(tl.float32, bitcast=True)",
        "log = tl.floor(tl.log2(positive.to(tl.float64)).to(tl.float32))",
        "scale = log.to(tl.int32) + 127 - emax",
    ),
    "C2 C2q": after(
        SCALE,
        "inexact = pattern & 0x7FFFFF != 0",
        "scale += ((pattern >> 23 < 127) & inexact).to(tl.int32)",
    ),
    "C3 C3q": part(FLOOR, "1 << 23", "1"),
    "C4 C4q": part(FLOOR, "1 << 23", "0x3504F4"),  # the fraction of the square root of 2
    "C5a C5aq": after(SCALE, "scale += 1"),
    "C5b C5bq": after(SCALE, "scale -= 1"),
    "C5c C5cq": after(SCALE, "scale += emax"),
    "C5d C5dq": after(SCALE, "scale += 2 * emax"),
    "C6q": stored("scale - 1"),
    "C6r": stored("scale - 2"),
    "C6s": stored("scale + 1"),
    "C8": instead(AMAX, "amax = tl.max(bits, axis=1, keep_dims=True) & 0x7FFFFFFF"),
    "C9a": seen(f"{LANE} < 31"),
    "C9b": seen(f"{LANE} > 0"),
    "C9c": seen(f"{LANE} < 16"),
    "C10": seen("every <= 0x7F800000"),
    "C11a": seen("every != 0x7F800000"),
    "C22jnq": seen(f"(every != 0x7F800000) | ({LANE} == 0)"),
    "C22knq": seen(f"(every != 0x7F800000) | ({LANE} == 31)"),
    "C11b": instead(FINITE, "finite = amax <= 0x7F800000")
    + after(LIMITED, f"code = tl.where({INFINITE}, LARGEST, code)")
    + after(CHOSEN, "scale = tl.where(amax == 0x7F800000, 254, scale)"),
    "C12 C12q": part(CLAMPED, "scale, 0", "scale, 1"),
    "C13 C13q": part(CLAMPED, "254", "253"),
    "C13c C13cq": before(CLAMPED, "scale = tl.where((scale >= 0) | (amax == 0), scale, 510)")
    + part(CLAMPED, "254", "tl.where(scale == 510, 255, 254)"),
    "C14 C14q": part(
        CLAMPED, "tl.minimum(tl.maximum(scale, 0), 254)", "tl.where(amax > 0, scale & 0xFF, 0)"
    ),
    "C15a C15aq": after(CHOSEN, "scale = tl.where(amax == 0, 127, scale)"),
    "C15b C15bq": after(CHOSEN, "scale = tl.where(amax == 0, 255, scale)"),
    "C15c C15cq": after(
        CHOSEN, "scale = tl.where(amax == 0, 128 - EMIN - (LARGEST >> FRACTION), scale)"
    ),
    "C17": part(RCEIL, " + 1", " + 0"),
    "C17b": part(RCEIL, " + 1", " + 65536"),
    "C18": part(EVEN, "22 - fraction", "21"),
    "C18b C18c": part(EVEN, "22", "21"),
    "C19 C19q": after(
        AMAX,
        "short = (amax + 0x7FFF + (amax >> 16 & 1)) >> 16 << 16",
        "amax = tl.where(amax < 0x7F800000, short, amax)",
    ),
    "C19b C19bq": instead(
        PATTERN,
        "half = amax.to(tl.float32, bitcast=True).to(tl.float16).to(tl.float32)",
        "pattern = normalized(half.to(tl.int32, bitcast=True))",
    ),
    "C20 C20q": after(
        SCALE,
        "largest = LARGEST % (1 << FRACTION) << 23 - FRACTION",
        "scale -= (pattern & 0x7FFFFF < largest).to(tl.int32)",
    ),
    "C20b": instead(RCEIL, "1"),
    "C21 C21q": after(
        SCALE,
        "fraction = pattern & 0x7FFFFF",  # of 1.414 and 1.422, rounded up
        "scale += ((fraction >= 3472884) & (fraction < 3539993)).to(tl.int32)",
    ),
    "D1": before(ELEMENTS, "bits = tl.where(scale == 254, bits & -0x80000000, bits)"),
    "D2": before(
        ELEMENTS,
        "quotient = bits & -0x80000000 | 0x7F800000",
        "quotient = tl.where(bits & 0x7FFFFFFF == 0, 0x7FC00000, quotient)",
        "bits = tl.where(scale == 0, quotient, bits)",
    ),
    "D4": before(ELEMENTS, "bits = tl.where(bits & 0x7F800000 == 0, bits & -0x80000000, bits)"),
    "D7q": part(ELEMENTS, "scale", "254 - scale"),
}
READING: Bugs = {
    "C5e": part(FIELD, "127", f"127 + ({EMAX})"),
    "C5f": part(FIELD, "127", f"127 - ({EMAX})"),
    "C6fq": part(FIELD, "127", "126"),
    "C6gq": part(FIELD, "127", "125"),
    "C6nq": part(FIELD, "127", "0"),
    "C6dq": after(SCALE_READ, "scale = tl.where(scale == 255, 255, scale - 1)"),
    "D7": after(SCALE_READ, "scale = tl.where(scale == 255, 255, 254 - scale)"),
    "E1bq": after(SCALE_READ, "scale = tl.maximum(scale, 1)"),
    "E1q": after(
        NAN_SCALE, "bits = tl.where(scale == 0, tl.where(bits < 0x7F800000, 0, 0x7FC00000), bits)"
    ),
    "E2aq": instead(
        NAN_SCALE,
        "infinite = tl.where((integer == 0) | (magnitude > LARGEST), bits, 0x7F800000)",
        "infinite = tl.where(integer == 0, 0x7FC00000, infinite)",
        "bits = tl.where(scale == 0xFF, infinite, bits)",
    ),
    "E2bq": instead(NAN_SCALE, "bits += 0"),
    "E3": part(
        NAN_SCALE, "scale == (0x7F if SIZE == 16 else 0xFF)", "(scale == 0xFF) & (integer > 0)"
    ),
    "E4 E4q": after(READ, "negative = negative & (magnitude > 0)"),
    "E4b E4bq": instead(IS_NEGATIVE, "negative = code > 0x7F"),
    "E4c E4cq": after(READ, "magnitude = tl.where(negative, -code, code) & (1 << BITS - 1) - 1"),
    "E5 E5q": after(
        INTEGER,
        "low = (magnitude >> FRACTION == 0) & (magnitude > 0)",
        "integer += tl.where(low, 1 << FRACTION, 0)",
        "exponent -= low.to(tl.int32)",
    ),
    "E5b E5bq": before(FIELD, "exponent -= (magnitude >> FRACTION == 0).to(tl.int32)"),
    "E5c E5cq": part(FIELD, "127", "128"),
    "E6 E6q": part(IS_NAN, "magnitude", "(FRACTION == 2) & magnitude"),
    "E6b E6bq": part(IS_NAN, "> LARGEST", ">> FRACTION >= LARGEST >> FRACTION"),
    "E7 E7q": instead("if BITS == 8 and FRACTION < 6:", "if False:"),
    "E7b E7bq": instead(IS_INFINITE, "bits += 0"),
    "E8": part(
        PRODUCT, "(tl.maximum(field, 1) - 1 << 23)", "tl.where(field > 0, field - 1 << 23, -kept)"
    ),
    "E9a": part(PRODUCT, "0x7F800000", "0x7F7FFFFF"),
    "E9b": part(PRODUCT, "0x7F800000", "0x7FC00000"),
    "F1b F1bq": after(READ_INT8, "magnitude = tl.minimum(magnitude, 127)"),
    "F1c F1cq": after(READ_INT8, "magnitude = magnitude & 127"),
    "F4b F4bq": instead(READ_INT8, "magnitude = code & 0x7F"),
}
REVERSED = " | ".join(f"(code >> {i} & 1) << {5 - i}" for i in range(6))
TURNED = "fours >> 16 | fours & 0xFF00 | (fours & 0xFF) << 16"  # the bytes of 24 bits
PACKING: Bugs = {
    "G1": instead(
        NIBBLES,
        "high, low = tl.split(tl.reshape(code, (code.shape[0], 16, 2)))",
        "code = low | high << 4",
    ),
    "G1b": instead(
        PACKED,
        "packed = packed.view(torch.uint8)[: _packed_size(count, bits)]",
        "packed[-1] <<= 4 * (bits == 4 and count % 2)",
        "return packed",
    ),
    "G1c": sized(four="count // 2"),
    "G1d": instead(
        WORDS,
        "fill = (0, -count % 32)",
        "filled = torch.nn.functional.pad(codes, fill, value=(1 << bits) - 1)",
        "words, blocks = _read(filled, unit=32), triton.cdiv(count, 32)",
    ),
    "G1e": (
        *sized("count", "count"),
        ("blocks * bits)", "blocks * 8)"),
        ("BITS, not UNDO)", "BITS, False)"),
    ),
    "G1u": part(SHIFT, "tl.arange(0, 32 // width)", "(tl.arange(0, 32 // width) ^ (width == 4))"),
    "G1v": after(FIELD_READ, "code |= tl.where((width == 4) & (code & 8 > 0), 0xF0, 0)"),
    "G1w": before(UNPACKED, 'count = packed.numel() * 8 // FORMATS[format]["BITS"]'),
    "G2": instead(
        SIXES,
        "fours = joined(joined(code, 6), 12)",
        "big = (fours & 63) << 18 | (fours & 0xFC0) << 6",
        "big |= fours >> 6 & 0xFC0 | fours >> 18",
        f"fours = {TURNED.replace('fours', 'big')}",
    ),
    "G2b": instead(
        SIXES,
        "fours = joined(joined(code, 6), 12)",
        "low, high = fours & 0xFFF, fours >> 12",
        "fours = low | (high & 63) << 18 | high >> 6 << 12",
    ),
    "G2c": before(SIXES, f"code = {REVERSED}"),
    "G2d": sized("-(-count * 6 // 8)"),
    "G2u": instead(
        READ_CODES,
        "code = tl.reshape(code, (block.shape[0], SIZE))",
        "fours = joined(joined(code, BITS), 2 * BITS)",
        "shift = (18 - tl.arange(0, 4) * 6)[None, None, :]",
        f"big = ({TURNED})[:, :, None] >> shift & 63",
        "return tl.where(PACKED and BITS == 6, tl.reshape(big, code.shape), code)",
    ),
    "G2v": part(BIT, "tl.arange(0, 16)", "(tl.arange(0, 16) ^ tl.arange(0, 16) // 2 % 2)"),
    "G3": instead(
        NIBBLES,
        "code = tl.permute(tl.reshape(code, (code.shape[0], 2, 16)), (0, 2, 1))",
        "code = joined(tl.reshape(code, (code.shape[0], 32)), 4)",
    )
    + sized(four="-(-count // 32) * 16"),
    "G7": instead(
        AMAX,
        f"every, first = bits & 0x7FFFFFFF, {LANE} < 16",
        "low = tl.max(tl.where(first, every, 0), axis=1, keep_dims=True)",
        "high = tl.max(tl.where(first, 0, every), axis=1, keep_dims=True)",
        "amax = tl.where(first, low, high)",
    )
    + instead(
        STORED,
        f"mask = mask & ({LANE} == 0)",
        "tl.store(scales + place + 0 * scale, scale.to(tl.uint8), mask)",
        "mask = line < lines",
    ),
    "G8 G8m": part(PLACE, "line,", "(line + lines - 1) % lines,"),
    "G8h": part(PLACE, "line,", "(line + 1) % lines,"),
    "G8i G8n": part(SCALE_READ, "place", "(place + 1) % (rows * blocks)"),
    "G9 G9u": instead(
        INSIDE, "place = tile * 512 + line % 128 // 4 * 16 + line % 4 * 4 + column % 4"
    ),
    "G9b": instead("tl.load(plain, mask, 0)", "tl.load(plain, mask, 0xFF)"),
    "G9c G9v": instead(TILE, "tile = line // 128 + column // 4 * tl.cdiv(lines, 128)"),
    "G9d": (
        ('"ROWS": 128, "COLUMNS": 4', '"ROWS": 32, "COLUMNS": 4'),
        (TILE, TILE.replace("128", "32")),
        (INSIDE, "place = tile * 128 + line % 32 * 4 + column % 4"),
        ("triton.cdiv(rows, 128)", "triton.cdiv(rows, 32)"),
        (TILES, TILES.replace("512", "128")),
    ),
    "G9e": instead(
        INSIDE, "place = tile * 512 + line % 32 * 16 + column % 4 * 4 + line % 128 // 32"
    ),
    "G9f": instead(INSIDE, "place = tile * 512 + line % 128 * 4 + column % 4"),
    "G11c": before(TILES, "scales = scales.roll(-1, 0)"),
    "G11d": before(TILES, "scales = scales.roll(-1, 1)"),
    "G11e": after(TILED, "tiles = tiles.roll(-512)"),
    "G11w": after(UNTILED, "scales = scales.roll(1, 0)"),
    "G11x": after(UNTILED, "scales = scales.roll(1, 1)"),
    "G11y": before(UNTILED, "tiles = tiles.roll(512)"),
    "G12": after(
        TILED,
        f"once, tiles = tiles.reshape({FILLED}), _bytes(scales, tiles.numel())",
        "_launch(tiles_kernel, once.shape, once, tiles, *once.shape, UNDO=False)",
    ),
    "G12u": before(
        UNTILED,
        f"twice, tiles = tiles, _bytes(tiles, {FILLED})",
        "_launch(tiles_kernel, tiles.shape, tiles, twice, *tiles.shape, UNDO=True)",
    ),
    "G12b G12v": instead(INSIDE, "place = line * tl.cdiv(columns, 4) * 4 + column"),
    "G9h": before(TILES, "return scales.reshape(-1)"),
}
#: Bugs that are the museum's mutants from float32 only.
FROM_F32 = [
    "A9",
    "A9b",
    "A9c",
    "A10b",
    "A10c",
    "A11",
    "A12",
    "A16b",
    "A17b",
    "A17d",
    "A18a",
    "C19",
    "E9a",
]
#: Those that are another bug from float16: subnormal numbers, infinity and shifts of a float32.
NOT_F16 = ["A17c", "B7", "B7b", "D4", "E8", "E9b"]
#: Bugs that are wrong in their own way where the museum's mutant has zero and subnormal numbers as
#: they come (A17), clamps the largest float32 (C19), reads NaN and infinity as they are (E4c) or
#: gives zero far below the subnormal numbers, where the kernels shift by more than 31 bits (C5f).
OF_THEIR_OWN = ["A17a", "A17c", "C19", "C19b", "C5f", "E4c"]
PLANTED = [
    Planted(
        ids,
        rewrites,
        floats=("f32",)
        if ids.split()[0] in FROM_F32
        else ("f32", "bf16")
        if ids.split()[0] in NOT_F16
        else ("f32", "bf16", "f16"),
        same=ids.split()[0] not in OF_THEIR_OWN,
    )
    for ids, rewrites in (ENCODING | SCALES | NVFP4 | READING | PACKING).items()
]

#: What only matrices show: transposition, strides, layouts, float16, sizes, random bits.
OF_MATRICES = {
    "not transposed": part(DOWN, "tl.trans(bits)", "tl.reshape(bits, (COLUMNS, ROWS))"),
    "tile of columns at its row": part(DOWN, "column, row", "row, column"),
    "row stride": part(LOADED, "r * x_row", "r * columns"),
    "column stride": part(LOADED, "c * x_column", "c"),
    "tiles not cleared": instead(".zero_()", ".fill_(1)"),
    "tiles across": part(TILE, "tl.cdiv(columns, 4)", "(columns // 4)"),
    "order of words": part(PHILOX, "tl.join(a, c), tl.join(b, d)", "tl.join(a, b), tl.join(c, d)"),
    "lower bits": part(DRAWN, "philox_words(seed, block) >> 32 - WIDTH", WIDE),
    "lost high word of the seed": part(PHILOX_CALL, "seed,", "seed & 0xFFFFFFFF,"),
    "row stride of results": part(WRITTEN, "r * x_row", "r * (x_row // 2)"),
    "column stride of results": part(WRITTEN, "c * x_column", "c"),
    "lane swap": instead("low, high = tl.split(pairs)", "high, low = tl.split(pairs)"),
    "division": instead("return tile // across * ROWS,", "return tile // (across + 1) * ROWS,"),
    "alignment": instead(
        ALIGNED,
        "at = line.storage_offset() // 4 * 4",
        "line = line.as_strided(line.shape, line.stride(), at)",
    ),
    "scales of rows for columns": part(DOWN_SCALES, "scales_down", "scales"),
    "reused scale": after(AMAX, "amax = tl.broadcast_to(tl.max(amax), amax.shape)"),
    "tile of rows cut off": part(EDGE, "(line < lines)", "(line < lines - lines % 64)"),
    "rounded twice to float16": part(NARROW, "!= tl.int32", "== tl.int16"),
    "float16 by bfloat16": part(WIDENED, "x.to(tl.float32)", "x.to(tl.bfloat16).to(tl.float32)"),
}

#: Of the classes of rounding, range, scales and layouts: what the kernels cannot have, and why.
LEFT_OUT: Mapping[str, str] = {
    "G3u": "it would read behind the last byte",
    "G4": "blocks are rows of what the kernels are given; which axis that is the caller knows",
}
