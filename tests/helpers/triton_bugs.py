"""Bugs planted in the Triton kernels: all, with those of scales, reading and packing."""

from __future__ import annotations

from collections.abc import Mapping

from triton_encoder_bugs import ENCODING
from triton_nvfp4_bugs import NVFP4
from triton_planting import INFINITE, LIMITED, Bugs, Planted, Rewrites, after, before, instead, part

__all__ = ["AMAX", "LEFT_OUT", "PLANTED"]

# Of scales and `quantize_lines`.
AMAX = "        amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)"
APART = "significand, field = apart(amax)"
SCALE = "scale += (significand >= limit).to(tl.int32)"
FINITE = "        finite = amax < 0x7F800000"
CLAMPED = "return tl.minimum(tl.maximum(scale, 0), 254)"
CHOSEN = " " * 12 + "scale = tl.where(finite, scale_of(amax, K), 0xFF)"
ELEMENTS = " " * 12 + "code = encoded(bits, scale, random, K)"
STORED = "        tl.store(scales + place, scale.to(tl.uint8), mask)"
LANE = "tl.arange(0, 32)[None, :]"
FLOOR = '"floor": lambda K: 1 << 24'
MAXIMUM = "((K.LARGEST | 1 << K.FRACTION) % (2 << K.FRACTION) << 23 - K.FRACTION)"
RCEIL = f"{MAXIMUM} + 1"
EVEN = "(1 << 24) - (1 << 22 - K.FRACTION)"
EMAX = "((K.LARGEST >> K.FRACTION) + K.EMIN - 1)"
# Of `decoded` and `dequantize_kernel`.
IS_NEGATIVE = "negative = code >> K.BITS - 1 != 0"
READ = "magnitude = code & (1 << K.BITS - 1) - 1"
READ_INT8 = "        magnitude = tl.where(negative, 256 - code, code)"
INTEGER = "integer, exponent = integer_of(magnitude, K.FRACTION)"
FIELD = "        field = (pattern >> 23) + exponent + scale - 127 + K.EMIN - K.FRACTION"
JOINED = "        bits = tl.where(field > 254, 0x7F800000, bits + (tl.maximum(field, 1) - 1 << 23))"
IS_NAN = "        bits = tl.where(magnitude > K.LARGEST, 0x7FC00000, bits)"
IS_INFINITE = "bits = tl.where(magnitude == K.LARGEST + 1, 0x7F800000, bits)"
NAN_SCALE = "bits = tl.where(scale == (0xFF if K.SCALE is None else 0x7F), 0x7FC00000, bits)"
SCALE_READ = "scale = tl.load(scales + of_scale, mask, 0).to(tl.int32)"
# Of packing.
PACKED = "return _regrouped(_checked(codes), FORMATS[format].BITS, 8)"
BITS = "bits = FORMATS[format].BITS"
UNPACKED = "return _regrouped(_checked(packed, size), 8, bits)[:count]"
PADDED = "filled = torch.nn.functional.pad(scales, (0, -columns % 4, 0, -rows % 128))"
SPLIT = "filled.unflatten(0, (-1, 4, 32)).unflatten(3, (-1, 4))"
TILED = f"return {SPLIT}.permute(0, 3, 2, 1, 4).reshape(-1)"
TILES = "line = _checked(tiles, rows * columns * 512).reshape(-1)[: rows * columns * 512]"
QUARTERS = "quarters = line.view(rows, columns, 32, 4, 4).permute(0, 3, 2, 1, 4)"
UNTILED = "return quarters.reshape(rows * 128, columns * 4)[: shape[0], : shape[1]].contiguous()"


def packed(values: str, more: str = "") -> Rewrites:
    """`pack` of other values, with more done to the bytes."""
    return instead(PACKED, f"return _regrouped({values}, FORMATS[format].BITS, 8){more}")


def tiled(order: str, order_read: str, shape: str = "rows, columns, 32, 4, 4") -> Rewrites:
    """Scales in another order in tiles, and so read."""
    return part(TILED, "0, 3, 2, 1, 4", order) + instead(
        QUARTERS, f"quarters = line.view({shape}).permute({order_read})"
    )


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
        f"scale = log.to(tl.int32) + 127 - {EMAX}",
    ),
    "C2 C2q": after(
        SCALE,
        "scale += ((field < 127) & (significand > 0x800000)).to(tl.int32)",
    ),
    "C3 C3q": part(FLOOR, "1 << 24", "(1 << 23) + 1"),
    "C4 C4q": part(FLOOR, "1 << 24", "0xB504F4"),  # the fraction of the square root of 2
    "C5a C5aq": after(SCALE, "scale += 1"),
    "C5b C5bq": after(SCALE, "scale -= 1"),
    "C5c C5cq": after(SCALE, f"scale += {EMAX}"),
    "C5d C5dq": after(SCALE, f"scale += 2 * {EMAX}"),
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
    + after(LIMITED, f"code = tl.where({INFINITE}, top, code)")
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
        CHOSEN, "scale = tl.where(amax == 0, 128 - K.EMIN - (K.LARGEST >> K.FRACTION), scale)"
    ),
    "C17": part(RCEIL, " + 1", " + 0"),
    "C17b": part(RCEIL, " + 1", " + 65536"),
    "C18": part(EVEN, "22 - K.FRACTION", "21"),
    "C18b C18c": part(EVEN, "22", "21"),
    "C19 C19q": after(
        AMAX,
        "short = (amax + 0x7FFF + (amax >> 16 & 1)) >> 16 << 16",
        "amax = tl.where(amax < 0x7F800000, short, amax)",
    ),
    "C19b C19bq": before(
        APART,
        "half = amax.to(tl.float32, bitcast=True).to(tl.float16).to(tl.float32)",
        "amax = half.to(tl.int32, bitcast=True)",
    ),
    "C20 C20q": after(SCALE, f"scale -= (significand < {MAXIMUM}).to(tl.int32)"),
    "C20b": instead(RCEIL, "(1 << 23) + 1"),
    "C21 C21q": after(
        SCALE,
        "fraction = significand & 0x7FFFFF",  # of 1.414 and 1.422, rounded up
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
    "C5e": part(FIELD, "127", f"127 + {EMAX}"),
    "C5f": part(FIELD, "127", f"127 - {EMAX}"),
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
        "infinite = tl.where((integer == 0) | (magnitude > K.LARGEST), bits, 0x7F800000)",
        "infinite = tl.where(integer == 0, 0x7FC00000, infinite)",
        "bits = tl.where(scale == 0xFF, infinite, bits)",
    ),
    "E2bq": instead(NAN_SCALE, "bits += 0"),
    "E3": part(
        NAN_SCALE, "scale == (0xFF if K.SCALE is None else 0x7F)", "(scale == 0xFF) & (integer > 0)"
    ),
    "E4 E4q": after(READ, "negative = negative & (magnitude > 0)"),
    "E4b E4bq": instead(IS_NEGATIVE, "negative = code > 0x7F"),
    "E4c E4cq": after(READ, "magnitude = tl.where(negative, -code, code) & (1 << K.BITS - 1) - 1"),
    "E5 E5q": after(
        INTEGER,
        "low = (magnitude >> K.FRACTION == 0) & (magnitude > 0)",
        "integer += tl.where(low, 1 << K.FRACTION, 0)",
        "exponent -= low.to(tl.int32)",
    ),
    "E5b E5bq": before(FIELD, "exponent -= (magnitude >> K.FRACTION == 0).to(tl.int32)"),
    "E5c E5cq": part(FIELD, "127", "128"),
    "E6 E6q": part(IS_NAN, "magnitude", "(K.FRACTION == 2) & magnitude"),
    "E6b E6bq": part(IS_NAN, "> K.LARGEST", ">> K.FRACTION >= K.LARGEST >> K.FRACTION"),
    "E7 E7q": instead("if K.BITS == 8 and K.FRACTION < 6:", "if False:"),
    "E7b E7bq": instead(IS_INFINITE, "bits += 0"),
    "E8": part(
        JOINED, "(tl.maximum(field, 1) - 1 << 23)", "tl.where(field > 0, field - 1 << 23, -bits)"
    ),
    "E9a": part(JOINED, "0x7F800000", "0x7F7FFFFF"),
    "E9b": part(JOINED, "0x7F800000", "0x7FC00000"),
    "F1b F1bq": after(READ_INT8, "magnitude = tl.minimum(magnitude, 127)"),
    "F1c F1cq": after(READ_INT8, "magnitude = magnitude & 127"),
    "F4b F4bq": instead(READ_INT8, "magnitude = code & 0x7F"),
}
REVERSED = " | ".join(f"(codes >> {i} & 1) << {5 - i}" for i in range(6))
FOURS = "_filled(codes, 4).view(-1, 4)"
READ_FOURS = "fours = _regrouped(_checked(packed, size), 8, bits).view(-1, 4)"
PACKING: Bugs = {
    "G1": instead(
        PACKED, "packed = _regrouped(_checked(codes), 4, 8)", "return packed << 4 | packed >> 4"
    ),
    "G1b": instead(
        PACKED,
        "packed = _regrouped(_checked(codes), FORMATS[format].BITS, 8)",
        "packed[-1:] <<= 4 * (format == 'e2m1' and codes.numel() % 2)",
        "return packed",
    ),
    "G1c": packed("_checked(codes)", "[: codes.numel() // 2]"),
    "G1d": instead(
        PACKED,
        "bits = FORMATS[format].BITS",
        "fill = (0, -codes.numel() % (math.lcm(bits, 8) // bits))",
        "filled = torch.nn.functional.pad(codes, fill, value=(1 << bits) - 1)",
        "return _regrouped(filled, bits, 8)",
    ),
    "G1e": instead(PACKED, "return codes"),
    "G1u": part(UNPACKED, "_checked(packed, size)", "packed << 4 | packed >> 4"),
    "G1v": instead(
        UNPACKED,
        UNPACKED.replace("return", "codes ="),
        "return torch.where(codes & 8 > 0, codes | 0xF0, codes)",
    ),
    "G1w": before(UNPACKED, "count = packed.numel() * 8 // bits"),
    "G2": packed(f"{FOURS}.flip(1)", ".view(-1, 3).flip(1).reshape(-1)"),
    "G2b": packed(f"{FOURS}[:, [0, 1, 3, 2]]"),
    "G2c": packed(f"({REVERSED})"),
    "G2d": packed("codes", "[: -(-codes.numel() * 6 // 8)]"),
    "G2u": instead(
        UNPACKED,
        "big = _regrouped(packed[:size].view(-1, 3).flip(1), 8, bits)",
        "return big.view(-1, 4).flip(1).reshape(-1)[:count]",
    ),
    "G2v": instead(UNPACKED, READ_FOURS, "return fours[:, [0, 1, 3, 2]].reshape(-1)[:count]"),
    "G3": packed("_filled(codes, 32).view(-1, 2, 16).transpose(1, 2)"),
    "G7": instead(
        AMAX,
        f"every, first = bits & 0x7FFFFFFF, {LANE} < 16",
        "low = tl.max(tl.where(first, every, 0), axis=1, keep_dims=True)",
        "high = tl.max(tl.where(first, 0, every), axis=1, keep_dims=True)",
        "amax = tl.where(first, low, high)",
    )
    + instead(
        STORED,
        f"first = mask & ({LANE} == 0)",
        "tl.store(scales + place + 0 * scale, scale.to(tl.uint8), first)",
    ),
    "G8 G8m": before(STORED, "place = (place + rows - 1) % rows"),
    "G8h": before(STORED, "place = (place + 1) % rows"),
    "G8i G8n": part(SCALE_READ, "of_scale", "(of_scale + 1) % (rows * columns // K.SIZE)"),
    "G9 G9u": tiled("0, 3, 1, 2, 4", "0, 2, 3, 1, 4", "rows, columns, 4, 32, 4"),
    "G9b": part(PADDED, "% 128)", "% 128), value=0xFF"),
    "G9c G9v": tiled("3, 0, 2, 1, 4", "1, 3, 2, 0, 4", "columns, rows, 32, 4, 4"),
    "G9d": part(PADDED, "128", "32") + part(SPLIT, "(-1, 4, 32)", "(-1, 1, 32)"),
    "G9e": part(TILED, "0, 3, 2, 1, 4", "0, 3, 2, 4, 1"),
    "G9f": part(TILED, "0, 3, 2, 1, 4", "0, 3, 1, 2, 4"),
    "G11c": part(PADDED, "(scales", "(scales.roll(-1, 0)"),
    "G11d": part(PADDED, "(scales", "(scales.roll(-1, 1)"),
    "G11e": part(TILED, ".reshape(-1)", ".reshape(-1).roll(-512)"),
    "G11w": part(UNTILED, ".contiguous()", ".roll(1, 0)"),
    "G11x": part(UNTILED, ".contiguous()", ".roll(1, 1)"),
    "G11y": part(TILES, ".reshape(-1)", ".reshape(-1).roll(512)"),
    "G12": before(TILED, f"filled = {TILED.removeprefix('return ')}.reshape(filled.shape)"),
    "G12u": after(QUARTERS, QUARTERS.replace("line.view", "quarters.reshape")),
    "G12b G12v": instead(TILED, "return filled.reshape(-1)") + instead(QUARTERS, "quarters = line"),
    "G9h": instead(TILED, "return scales.reshape(-1)"),
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

#: Of the classes of rounding, range, scales and layouts: what the kernels cannot have, and why.
LEFT_OUT: Mapping[str, str] = {
    "G3u": "it would read behind the last byte",
    "G4": "blocks are rows of what the kernels are given; which axis that is the caller knows",
}
