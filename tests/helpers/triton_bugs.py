"""Bugs planted in the Triton kernels: all, with those of scales, reading and packing."""

from __future__ import annotations

from collections.abc import Mapping

from triton_encoder_bugs import ENCODING
from triton_planting import INFINITE, LIMITED, Bugs, Planted, Rewrites, after, before, instead, part

__all__ = ["LEFT_OUT", "PLANTED"]

# Of `quantize_kernel`, and its scale rules.
AMAX = "        amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)"
PATTERN = "        pattern = normalized(amax)"
SCALE = "        scale = (pattern >> 23) - emax + ((pattern & 0x7FFFFF) >= LIMIT).to(tl.int32)"
FINITE = "        finite = amax < 0x7F800000"
CLAMPED = "        scale = tl.where(finite, tl.minimum(tl.maximum(scale, 0), 254), 0xFF)"
ELEMENTS = "        code = tl.where(finite, encoded(bits, scale, BITS, FRACTION, EMIN, LARGEST), 0)"
STORED = "        tl.store(scales + row, scale.to(tl.uint8), row * 32 < count)"
FLOOR = '"floor": lambda fraction, largest: 1 << 23'
RCEIL = "(largest % (1 << fraction) << (23 - fraction)) + 1"
EVEN = "(1 << 23) - (1 << (22 - fraction))"
# Of `decoded` and `dequantize_kernel`.
IS_NEGATIVE = "        negative = code >> BITS - 1 != 0"
READ = "        magnitude = code & (1 << BITS - 1) - 1"
READ_INT8 = "        magnitude = tl.where(negative, 256 - code, code)"
INTEGER = "pattern = integer.to(tl.float32).to(tl.int32, bitcast=True)"
FIELD = "field = (pattern >> 23) + binade + EMIN - FRACTION + scale - 127"
PRODUCT = "bits = tl.where(field > 0, (field << 23) + (pattern & 0x7FFFFF), subnormal)"
OVERFLOW = "bits = tl.where(field > 254, 0x7F800000, bits)"
IS_NAN = "        bits = tl.where(magnitude > LARGEST, 0x7FC00000, bits)"
IS_INFINITE = "bits = tl.where(magnitude == LARGEST + 1, 0x7F800000, bits)"
EMAX = "(LARGEST >> FRACTION) + EMIN - 1"
NAN_SCALE = "bits = tl.where(scale == 0xFF, 0x7FC00000, bits)"
SCALE_READ = "        scale = tl.load(scales + row, row * 32 < count, 0).to(tl.int32)"
# Of packing.
NIBBLES = "(low | high << 4)"
FOURS = "tl.reshape(code, (ROWS, 16, 2))"
SIXES = "        even, odd = tl.split(tl.reshape(code, (ROWS, 8, 2, 2)))"
WORD = "word = low | high << 12"
BIT = "        bit = place * BITS"
SECOND_BYTE = "code |= tl.load(codes + bit // 8 + 1, both, 0).to(tl.int32) << 8"
FIELD_READ = "        code = code >> (bit % 8).to(tl.int32) & (1 << BITS) - 1"
BYTES_READ = "code = tl.load(codes + place, mask, 0).to(tl.int32)\n    return"
PACKED = "packed = _bytes(codes, _packed_size(count, bits))"
UNPACKED = 'bits, codes = FORMATS[format]["BITS"], _bytes(packed, count)'
INSIDE = "inside = tile * 512 + r % 32 * 16 + r // 32 * 4 + c"
ROW = "row, column = tile // across * 128 + r, tile % across * 4 + c"
FILLED = "-(-scales.shape[0] // 128) * 128, -(-scales.shape[1] // 4) * 4"
TILED = "    _launch_tiles(_read(scales), tiles, *scales.shape, undo=False)"
UNTILED = "    _launch_tiles(scales, _read(tiles, _tile_count(*shape) * 512), *shape, undo=True)"
TILES = "tiles = _bytes(scales, _tile_count(*scales.shape) * 512)"


def sized(six: str = "triton.cdiv(count, 4) * 3", four: str = "triton.cdiv(count, 2)") -> Rewrites:
    """As many bytes of `pack`."""
    return instead(PACKED, f"packed = _bytes(codes, {{8: count, 6: {six}, 4: {four}}}[bits])")


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
    "C9a": seen("place % 32 < 31"),
    "C9b": seen("place % 32 > 0"),
    "C9c": seen("place % 32 < 16"),
    "C10": seen("every <= 0x7F800000"),
    "C11a": seen("every != 0x7F800000"),
    "C11b": instead(FINITE, "finite = amax <= 0x7F800000")
    + after(LIMITED, f"code = tl.where({INFINITE}, LARGEST, code)")
    + after(CLAMPED, "scale = tl.where(amax == 0x7F800000, 254, scale)"),
    "C12 C12q": part(CLAMPED, "scale, 0", "scale, 1"),
    "C13 C13q": part(CLAMPED, "254", "253"),
    "C13c C13cq": part(CLAMPED, "(finite,", "(finite & ((scale >= 0) | (amax == 0)),"),
    "C14 C14q": part(
        CLAMPED, "tl.minimum(tl.maximum(scale, 0), 254)", "tl.where(amax > 0, scale & 0xFF, 0)"
    ),
    "C15a C15aq": after(CLAMPED, "scale = tl.where(amax == 0, 127, scale)"),
    "C15b C15bq": after(CLAMPED, "scale = tl.where(amax == 0, 255, scale)"),
    "C15c C15cq": after(CLAMPED, "scale = tl.where(amax == 0, 127 - emax, scale)"),
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
    "E3": part(NAN_SCALE, "scale == 0xFF", "(scale == 0xFF) & (integer > 0)"),
    "E4 E4q": after(READ, "negative = negative & (magnitude > 0)"),
    "E4b E4bq": instead(IS_NEGATIVE, "negative = code > 0x7F"),
    "E4c E4cq": after(READ, "magnitude = tl.where(negative, -code, code) & (1 << BITS - 1) - 1"),
    "E5 E5q": before(
        INTEGER,
        "low = (magnitude >> FRACTION == 0) & (magnitude > 0)",
        "integer += tl.where(low, 1 << FRACTION, 0)",
        "binade -= low.to(tl.int32)",
    ),
    "E5b E5bq": after(FIELD, "field -= (magnitude >> FRACTION == 0).to(tl.int32)"),
    "E5c E5cq": part(FIELD, "127", "128"),
    "E6 E6q": part(IS_NAN, "magnitude", "(FRACTION == 2) & magnitude"),
    "E6b E6bq": part(IS_NAN, "> LARGEST", ">> FRACTION >= LARGEST >> FRACTION"),
    "E7 E7q": instead("if BITS == 8 and FRACTION < 6:", "if False:"),
    "E7b E7bq": instead(IS_INFINITE, "bits += 0"),
    "E8": part(PRODUCT, "subnormal", "0"),
    "E9a": part(OVERFLOW, "0x7F800000", "0x7F7FFFFF"),
    "E9b": part(OVERFLOW, "0x7F800000", "0x7FC00000"),
    "F1b F1bq": after(READ_INT8, "magnitude = tl.minimum(magnitude, 127)"),
    "F1c F1cq": after(READ_INT8, "magnitude = magnitude & 127"),
    "F4b F4bq": instead(READ_INT8, "magnitude = code & 0x7F"),
}
REVERSED = " | ".join(f"(code >> {i} & 1) << {5 - i}" for i in range(6))
PACKING: Bugs = {
    "G1": instead(NIBBLES, "(high | low << 4)"),
    "G1b": (
        (
            "    return packed\n",
            "    packed[-1] <<= 4 * (bits == 4 and count % 2)\n    return packed\n",
        ),
    ),
    "G1c": sized(four="count // 2"),
    "G1d": part(BYTES_READ, "mask, 0", "mask, (1 << BITS) - 1"),
    "G1e": sized("count", "count") + instead("BITS, not UNDO)", "BITS, False)"),
    "G1u": instead(FIELD_READ, "code = code >> (4 - bit % 8).to(tl.int32) & 15"),
    "G1v": after(FIELD_READ, "code |= tl.where(code & 8 > 0, 0xF0, 0)"),
    "G1w": before(UNPACKED, 'count = packed.numel() * 8 // FORMATS[format]["BITS"]'),
    "G2": (
        (WORD, "word = (low & 63) << 18 | low >> 6 << 12 | (high & 63) << 6 | high >> 6"),
        ("word >> 8 * i & 0xFF", "word >> 16 - 8 * i & 0xFF"),
    ),
    "G2b": instead(WORD, "word = low | (high & 63) << 18 | high >> 6 << 12"),
    "G2c": before(SIXES, f"code = {REVERSED}"),
    "G2d": sized("-(-count * 6 // 8)"),
    "G2u": instead(SECOND_BYTE, SECOND_BYTE.replace("|= ", "= code << 8 | ")[:-5])
    + instead(FIELD_READ, "code = code >> (10 - bit % 8).to(tl.int32) & 63"),
    "G2v": instead(BIT, "bit = (place ^ place // 2 % 2) * BITS"),
    "G3": instead(FOURS, "tl.permute(tl.reshape(code, (ROWS, 2, 16)), (0, 2, 1))")
    + sized(four="-(-count // 32) * 16"),
    "G7": instead(
        AMAX,
        "every, first = bits & 0x7FFFFFFF, place % 32 < 16",
        "low = tl.max(tl.where(first, every, 0), axis=1, keep_dims=True)",
        "high = tl.max(tl.where(first, 0, every), axis=1, keep_dims=True)",
        "amax = tl.where(first, low, high)",
    )
    + instead(
        STORED,
        "mask = (place < count) & (place % 32 == 0)",
        "tl.store(scales + row + 0 * place, scale.to(tl.uint8), mask)",
    ),
    "G8": part(
        STORED, "scales + row", "scales + (row + tl.cdiv(count, 32) - 1) % tl.cdiv(count, 32)"
    ),
    "G8h": part(STORED, "scales + row", "scales + (row + 1) % tl.cdiv(count, 32)"),
    "G8i": part(SCALE_READ, "scales + row", "scales + (row + 1) % tl.cdiv(count, 32)"),
    "G9 G9u": instead(INSIDE, "inside = tile * 512 + r // 4 * 16 + r % 4 * 4 + c"),
    "G9b": instead("tl.load(scales + place, mask, 0)", "tl.load(scales + place, mask, 0xFF)"),
    "G9c G9v": instead(
        ROW,
        "down = tl.cdiv(rows, 128)",
        "row, column = tile % down * 128 + r, tile // down * 4 + c",
    ),
    "G9d": (
        ("tl.arange(0, 128)", "tl.arange(0, 32)"),
        (INSIDE, "inside = tile * 128 + r * 4 + c"),
        ("tile // across * 128", "tile // across * 32"),
        ("triton.cdiv(rows, 128)", "triton.cdiv(rows, 32)"),
        (TILES, TILES.replace("512", "128")),
    ),
    "G9e": instead(INSIDE, "inside = tile * 512 + r % 32 * 16 + c * 4 + r // 32"),
    "G9f": instead(INSIDE, "inside = tile * 512 + r * 4 + c"),
    "G11c": before(TILES, "scales = scales.roll(-1, 0)"),
    "G11d": before(TILES, "scales = scales.roll(-1, 1)"),
    "G11e": after(TILED, "tiles = tiles.roll(-512)"),
    "G11w": after(UNTILED, "scales = scales.roll(1, 0)"),
    "G11x": after(UNTILED, "scales = scales.roll(1, 1)"),
    "G11y": before(UNTILED, "tiles = tiles.roll(512)"),
    "G12": after(
        TILED,
        f"once, tiles = tiles.reshape({FILLED}), _bytes(scales, tiles.numel())",
        "_launch_tiles(once, tiles, *once.shape, undo=False)",
    ),
    "G12u": before(
        UNTILED,
        f"twice, tiles = tiles, _bytes(tiles, {FILLED})",
        "_launch_tiles(tiles, twice, *tiles.shape, undo=True)",
    ),
    "G12b G12v": instead(
        INSIDE,
        "row, column = tile // across * 128 + r, tile % across * 4 + c",
        "inside = row * across * 4 + column",
    ),
    "G9h": before(TILES, "return scales.reshape(-1)"),
}
#: Bugs that are the museum's mutants from float32 only.
FROM_F32 = ["A9", "A9b", "A9c", "A10b", "A10c", "A11", "A12", "A16b", "A17b", "A18a", "C19", "E9a"]
#: Bugs that are wrong in their own way where the museum's mutant has zero and subnormal numbers as
#: they come (A17), clamps the largest float32 (C19), reads NaN and infinity as they are (E4c) or
#: gives zero far below the subnormal numbers, where the kernels shift by more than 31 bits (C5f).
OF_THEIR_OWN = ["A17a", "A17c", "C19", "C19b", "C5f", "E4c"]
PLANTED = [
    Planted(
        ids,
        rewrites,
        floats=("f32",) if ids.split()[0] in FROM_F32 else ("f32", "bf16"),
        same=ids.split()[0] not in OF_THEIR_OWN,
    )
    for ids, rewrites in (ENCODING | SCALES | READING | PACKING).items()
]

#: Of the classes of rounding, range, scales and layouts: what the kernels cannot have, and why.
LEFT_OUT: Mapping[str, str] = {
    **dict.fromkeys(("B5c", "B6c", "B10"), "the kernels saturate; they have no other mode"),
    "G3u": "it would read behind the last byte",
    "G4": "blocks are rows of what the kernels are given; which axis that is the caller knows",
}
