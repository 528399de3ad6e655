"""Bugs of the museum planted in the Triton kernels, by rewriting their text.

Each old text stands once in `mx_kernels.py`. With the new text in its place the kernels are that
mutant of the museum: they give its answers on every case of level 1, the wrong ones included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LEFT_OUT", "PLANTED", "Planted"]

Rewrites = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug in the kernels.

    Args:
        ids: the museum's names of it, one for each operation that it spoils.
        rewrites: old and new texts.
        floats: the float types from which the kernels are then the mutant.
        same: whether all answers are the museum's; else the kernels are wrong in their own way.
    """

    ids: str
    rewrites: Rewrites
    floats: tuple[str, ...] = ("f32", "bf16")
    same: bool = True


def instead(old: str, *new: str) -> Rewrites:
    """The lines instead of the text."""
    indent = "        " if old in BLOCK_LEVEL else "    "
    return ((old, f"\n{indent}".join(new)),)


def before(old: str, *new: str) -> Rewrites:
    return instead(old, *new, old)


def after(old: str, *new: str) -> Rewrites:
    return instead(old, old, *new)


def part(old: str, piece: str, new: str) -> Rewrites:
    """A piece of the text replaced."""
    assert piece in old
    return instead(old, old.replace(piece, new))


F32 = ("f32",)
# Of `encoded`.
MAGNITUDE = "magnitude = bits & 0x7FFFFFFF"
DROP = "drop = 23 - FRACTION + tl.minimum(tl.maximum(-above, 0), FRACTION + 2)"
SIGNIFICAND = "significand = pattern & 0x7FFFFF | 0x800000\n    odd"
ODD = "odd = significand >> drop & 1"
ROUNDED = "code = (significand + (1 << drop - 1) - 1 + odd) >> drop"
LIMITED = "code = tl.minimum(code + (tl.maximum(above, 0) << FRACTION), LARGEST)"
UNLIMITED = "code += tl.maximum(above, 0) << FRACTION"
NAN = "code = tl.where(nan, 0x7F if BITS == 8 else LARGEST, code)"
NEGATIVE = "negative = (bits < 0) & ~nan"
COMPLEMENT = "code = tl.where(negative, -code, code) & 0xFF"
SIGN = "code = tl.where(negative, code | 1 << BITS - 1, code)"
CODE = "    return code\n\n\n@triton.jit\ndef decoded"
INT8 = '"FRACTION": 6, "EMIN": 0'
INFINITE = "magnitude == 0x7F800000"
NOT_NAN = "(bits & 0x7FFFFFFF) <= 0x7F800000"
# Of `quantize_kernel`, and its scale rules.
AMAX = "amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)"
PATTERN = "pattern = normalized(amax)"
SCALE = "scale = (pattern >> 23) - emax + ((pattern & 0x7FFFFF) >= LIMIT).to(tl.int32)"
FINITE = "finite = amax < 0x7F800000"
CLAMPED = "scale = tl.where(finite, tl.minimum(tl.maximum(scale, 0), 254), 0xFF)"
ELEMENTS = "code = tl.where(finite, encoded(bits, scale, BITS, FRACTION, EMIN, LARGEST), 0)"
STORED = "tl.store(scales + row, scale.to(tl.uint8), row * 32 < count)"
FLOOR = '"floor": lambda fraction, largest: 1 << 23'
RCEIL = "(largest % (1 << fraction) << (23 - fraction)) + 1"
EVEN = "(1 << 23) - (1 << (22 - fraction))"
# Of `decoded` and `dequantize_kernel`.
IS_NEGATIVE = "negative = code >> BITS - 1 != 0"
READ = "magnitude = code & (1 << BITS - 1) - 1"
READ_INT8 = "magnitude = tl.where(negative, 256 - code, code)"
INTEGER = "pattern = integer.to(tl.float32).to(tl.int32, bitcast=True)"
FIELD = "field = (pattern >> 23) + binade + EMIN - FRACTION + scale - 127"
PRODUCT = "bits = tl.where(field > 0, (field << 23) + (pattern & 0x7FFFFF), subnormal)"
OVERFLOW = "bits = tl.where(field > 254, 0x7F800000, bits)"
IS_NAN = "bits = tl.where(magnitude > LARGEST, 0x7FC00000, bits)"
IS_INFINITE = "bits = tl.where(magnitude == LARGEST + 1, 0x7F800000, bits)"
NAN_SCALE = "bits = tl.where(scale == 0xFF, 0x7FC00000, bits)"
SCALE_READ = "scale = tl.load(scales + row, row * 32 < count, 0).to(tl.int32)"
# Of packing.
NIBBLES = "(low | high << 4)"
FOURS = "tl.reshape(code, (ROWS, 16, 2))"
SIXES = "even, odd = tl.split(tl.reshape(code, (ROWS, 8, 2, 2)))"
WORD = "word = low | high << 12"
BIT = "bit = place * BITS"
SECOND_BYTE = "code |= tl.load(codes + bit // 8 + 1, both, 0).to(tl.int32) << 8"
FIELD_READ = "code = code >> (bit % 8).to(tl.int32) & (1 << BITS) - 1"
BYTES_READ = "code = tl.load(codes + place, mask, 0).to(tl.int32)\n    return"
SIX_BYTES, FOUR_BYTES = "6: -(-count // 4) * 3", "4: -(-count // 2)"
UNPACKED = "codes = _bytes(packed, count)"
INSIDE = "inside = tile * 512 + r % 32 * 16 + r // 32 * 4 + c"
ROW = "row, column = tile // across * 128 + r, tile % across * 4 + c"
TILES = "tiles = _bytes(scales, _tile_count(*scales.shape) * 512)"
#: What stands one level deeper than the body of its function.
BLOCK_LEVEL = (
    *(AMAX, PATTERN, SCALE, FINITE, CLAMPED, ELEMENTS, STORED, SCALE_READ, IS_NAN, IS_NEGATIVE),
    *(READ, READ_INT8, COMPLEMENT, SIGN, SIXES, BIT, FIELD_READ),
)


def rounded(sum: str) -> Rewrites:
    return instead(ROUNDED, f"code = ({sum}) >> drop")


def last(condition: str, code: str) -> Rewrites:
    """What `encoded` does at its end."""
    return ((CODE, f"    code = tl.where({condition}, {code}, code)\n{CODE}"),)


def seen(condition: str) -> Rewrites:
    """The largest magnitude of those of which this is true."""
    return instead(
        AMAX,
        "every = bits & 0x7FFFFFFF",
        f"amax = tl.max(tl.where({condition}, every, 0), axis=1, keep_dims=True)",
    )


ROUNDING = (
    Planted("A1 A1q F5", rounded("significand + (1 << drop - 1)")),
    Planted("A1b", after(ODD, "odd = tl.where(above < 0, odd, 1)")),
    Planted("A1c", rounded("significand + (1 << drop - 1) - (bits < 0).to(tl.int32)")),
    Planted("A2 A2q", rounded("significand")),
    Planted("A3", rounded("significand + (1 << drop - 1) - odd")),
    Planted(
        "A3b",
        instead(
            ROUNDED,
            "rest = (significand & (1 << drop) - 1 > 0) & (magnitude > 0)",
            "code = significand >> drop | rest.to(tl.int32)",
        ),
    ),
    Planted("A4", rounded("significand + (1 << drop - 1) - 1")),
    Planted("A5", rounded("significand + tl.where(magnitude > 0, (1 << drop) - 1, 0)")),
    Planted("A6", rounded("significand + tl.where(bits & magnitude * -1 < 0, (1 << drop) - 1, 0)")),
    Planted("A6b", rounded("significand + tl.where(bits > 0, (1 << drop) - 1, 0)")),
    Planted("A7", after(ODD, "odd = tl.where(above < 0, 1, odd)")),
    Planted("A7b", after(ODD, "odd = tl.where(above < 0, 0, odd)")),
    Planted("A8", rounded("significand + (odd << drop - 1)")),
    Planted("A9", part(SIGNIFICAND, "7FFFFF", "7FFF00"), F32),
    Planted("A9b", part(SIGNIFICAND, "7FFFFF", "7FFFFE"), F32),
    Planted("A9c", part(SIGNIFICAND, "7FFFFF", "7F0000"), F32),
    Planted(
        "A10",
        instead(
            ROUNDED,
            "guard = significand >> drop - 1",
            "code = (significand >> drop) + (guard & (odd | significand >> drop - 2) & 1)",
        ),
    ),
    Planted(
        "A10b",
        instead(
            ROUNDED,
            "guard, low = significand >> drop - 1, significand & (1 << drop - 1) - 1",
            "sticky = (low >> drop // 2 > 0).to(tl.int32)",
            "code = (significand >> drop) + (guard & (odd | sticky) & 1)",
        ),
        F32,
    ),
    Planted("A10c", part(SIGNIFICAND, "7FFFFF", "7FFFDF"), F32),
    Planted(
        "A11",
        before(
            MAGNITUDE,
            "short = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16",
            f"bits = tl.where({NOT_NAN}, short, bits)",
        ),
        F32,
    ),
    Planted(
        "A11b",
        after(
            MAGNITUDE,
            "low: tl.constexpr = 23 - FRACTION",
            "short = (magnitude + (1 << low - 1) - 1 + (magnitude >> low & 1)) >> low << low",
            "magnitude = tl.where(magnitude > 0x7F800000, magnitude, short)",
        ),
    ),
    Planted("A12", before(MAGNITUDE, "bits = bits & -0x10000"), F32),
    Planted(
        "A13",
        before(
            MAGNITUDE,
            "half = bits.to(tl.float32, bitcast=True).to(tl.float16)",
            "bits = half.to(tl.float32).to(tl.int32, bitcast=True)",
        ),
    ),
    Planted(
        "A15",
        before(
            LIMITED,
            "carry = code >> FRACTION > tl.where(above < 0, 0, 1)",
            "code = tl.where(carry, code - (1 << FRACTION), code)",
        ),
    ),
    Planted(
        "A15b",
        instead(
            LIMITED,
            "code -= tl.where(above < 0, 0, 1 << FRACTION)",
            "code = tl.minimum(tl.maximum(above + 1, 0) << FRACTION | code, LARGEST)",
        ),
    ),
    Planted("A16", instead(LIMITED, UNLIMITED, "code = tl.minimum(code & -2, LARGEST)")),
    Planted("A16b", before(MAGNITUDE, f"bits = tl.where({NOT_NAN}, bits & -0x300001, bits)"), F32),
    Planted(
        "A17a",
        instead(DROP, "drop = 23 - FRACTION + tl.maximum(-above, 0) & 31"),
        same=False,  # the museum's has zero and subnormal numbers as they come
    ),
    Planted(
        "A17b",
        instead(DROP, "drop = (23 - FRACTION + tl.maximum(-above, 0)).to(tl.int64) & 63"),
        F32,
    ),
    Planted("A17c", part(DROP, "FRACTION + 2", "FRACTION + 1"), same=False),
    Planted("A18a", rounded("significand + (1 << drop - 1) + odd"), F32),
    Planted("A18b", rounded("significand + (1 << drop - 2)")),
)
RANGES = (
    Planted("B1", before(LIMITED, "code = tl.where(above < 0, 0, code)")),
    Planted("B1b", after(LIMITED, "code = tl.where(code < 1 << FRACTION, 0, code)")),
    Planted("B2", before(LIMITED, "code = tl.where(above < -FRACTION, 0, code)")),
    Planted(
        "B3",
        after(ROUNDED, "code |= ((drop == 24) & (significand == 0x800000)).to(tl.int32)"),
    ),
    Planted("B4a", after(DROP, "drop += ((above < 0) & (drop < 25)).to(tl.int32)")),
    Planted(
        "B4b",
        instead(DROP, DROP.replace("2)", "3)"), "drop -= (above < 0).to(tl.int32)"),
    ),
    Planted(
        "B4c",
        before(
            LIMITED,
            "one = tl.where((above < 0) & (above >= -FRACTION), FRACTION + above, 31)",
            "code -= tl.where(one < 31, 1 << one, 0)",
        ),
    ),
    Planted("B5a", instead(LIMITED, UNLIMITED, "code = tl.where(code > LARGEST, 0x7F, code)")),
    Planted("B5b B13b", last(f"({INFINITE}) & (LARGEST > 0x7A)", "0x7F")),
    Planted("B6a", instead(LIMITED, UNLIMITED, "code = tl.minimum(code, LARGEST + 1)")),
    Planted("B6b", after(LIMITED, f"code = tl.where({INFINITE}, 0x7C, code)")),
    Planted("B7", instead(LIMITED, UNLIMITED, "code &= (1 << BITS - 1) - 1")),
    Planted(
        "B7b",
        instead(LIMITED, UNLIMITED)
        + instead(SIGN, "code += tl.where(negative, 1 << BITS - 1, 0)", "code &= (1 << BITS) - 1"),
    ),
    Planted(
        "B8a",
        after(LIMITED, "code = tl.where(code >> FRACTION == LARGEST >> FRACTION, LARGEST, code)"),
    ),
    Planted("B8b", after(LIMITED, "code = tl.where(code >> FRACTION == 15, 0x7F, code)")),
    Planted(
        "B9a", after(LIMITED, "code = tl.minimum(code, (LARGEST >> FRACTION << FRACTION) - 1)")
    ),
    Planted("B9b", part(LIMITED, "LARGEST", "LARGEST - 1")),
    Planted(
        "B11",
        instead(LIMITED, UNLIMITED, "code = tl.where(above < LARGEST >> FRACTION, code, LARGEST)"),
    ),
    Planted(
        "B12",
        before(LIMITED, f"bits = tl.where({LIMITED[18:-10]} > LARGEST, magnitude, bits)"),
    ),
    Planted("B12b", after(NEGATIVE, "negative = negative & False")),
    Planted("B12c", instead(SIGN, "code = tl.where(negative, -code, code) & (1 << BITS) - 1")),
    Planted("B13a", last(INFINITE, "0")),
    Planted("B13c", last(INFINITE, "1")),
    Planted("B13d", last(INFINITE, "code ^ 1 << BITS - 1")),
    Planted("B14", part(NAN, "0x7F if BITS == 8 else LARGEST", "LARGEST")),
    Planted("B15", part(NAN, "0x7F if BITS == 8 else LARGEST", "0")),
    Planted("B16", last("nan", "tl.where(bits < 0, 0, 1 << BITS - 1)")),
    Planted("B17", after(NEGATIVE, "negative = negative & (magnitude > 0)")),
    Planted("B17b", last("(bits < 0) & (magnitude == 0)", "0x7F")),
    Planted("B18", after(NEGATIVE, "negative = negative & ((code > 0) | (magnitude == 0))")),
    Planted("B18q", after(NEGATIVE, "negative = negative & (code > 0)")),
    Planted("F1", part(LIMITED, "LARGEST", "LARGEST + (bits < 0).to(tl.int32)")),
    Planted("F2 F2c F2cq", part(INT8, "0", "6")),
    Planted("F2b F2d F2dq", part(INT8, "0", "-1")),
    Planted(
        "F3",
        instead(
            LIMITED,
            UNLIMITED,
            "over = (code == LARGEST + 1) & (bits > 0)",
            "code = tl.where(over, code, tl.minimum(code, LARGEST))",
        ),
    ),
    Planted("F3b", instead(LIMITED, UNLIMITED)),
    Planted("F4", instead(COMPLEMENT, "code = tl.where(negative, code | 0x80, code)")),
)
SCALES = (
    Planted(
        "C1 C1q",
        after(
            SCALE,
            "positive = tl.maximum(amax, 1).to(tl.float32, bitcast=True)",
            "log = tl.floor(tl.log2(positive.to(tl.float64)).to(tl.float32))",
            "scale = log.to(tl.int32) + 127 - emax",
        ),
    ),
    Planted(
        "C2 C2q",
        after(
            SCALE,
            "inexact = pattern & 0x7FFFFF != 0",
            "scale += ((pattern >> 23 < 127) & inexact).to(tl.int32)",
        ),
    ),
    Planted("C3 C3q", part(FLOOR, "1 << 23", "1")),
    Planted("C4 C4q", part(FLOOR, "1 << 23", "0x3504F4")),  # the fraction of the square root of 2
    Planted("C5a C5aq", after(SCALE, "scale += 1")),
    Planted("C5b C5bq", after(SCALE, "scale -= 1")),
    Planted(
        "C6q", part(STORED, "scale.to", "tl.where(finite, tl.maximum(scale - 1, 0), scale).to")
    ),
    Planted("C8", instead(AMAX, "amax = tl.max(bits, axis=1, keep_dims=True) & 0x7FFFFFFF")),
    Planted("C9a", seen("place % 32 < 31")),
    Planted("C9b", seen("place % 32 > 0")),
    Planted("C9c", seen("place % 32 < 16")),
    Planted("C10", seen("every <= 0x7F800000")),
    Planted("C11a", seen("every != 0x7F800000")),
    Planted(
        "C11b",
        instead(FINITE, "finite = amax <= 0x7F800000")
        + after(LIMITED, f"code = tl.where({INFINITE}, LARGEST, code)")
        + after(CLAMPED, "scale = tl.where(amax == 0x7F800000, 254, scale)"),
    ),
    Planted("C12 C12q", part(CLAMPED, "scale, 0", "scale, 1")),
    Planted("C13 C13q", part(CLAMPED, "254", "253")),
    Planted("C13c C13cq", part(CLAMPED, "(finite,", "(finite & ((scale >= 0) | (amax == 0)),")),
    Planted(
        "C14 C14q",
        part(
            CLAMPED, "tl.minimum(tl.maximum(scale, 0), 254)", "tl.where(amax > 0, scale & 0xFF, 0)"
        ),
    ),
    Planted("C15a C15aq", after(CLAMPED, "scale = tl.where(amax == 0, 127, scale)")),
    Planted("C15b C15bq", after(CLAMPED, "scale = tl.where(amax == 0, 255, scale)")),
    Planted("C15c C15cq", after(CLAMPED, "scale = tl.where(amax == 0, 127 - emax, scale)")),
    Planted("C17", part(RCEIL, " + 1", " + 0")),
    Planted("C17b", part(RCEIL, " + 1", " + 65536")),
    Planted("C18", part(EVEN, "22 - fraction", "21")),
    Planted("C18b C18c", part(EVEN, "22", "21")),
    Planted(
        "C19 C19q",
        after(
            AMAX,
            "short = (amax + 0x7FFF + (amax >> 16 & 1)) >> 16 << 16",
            "amax = tl.where(amax < 0x7F800000, short, amax)",
        ),
        F32,
        same=False,  # the museum's clamps the largest float32, this one makes it NaN
    ),
    Planted(
        "C19b C19bq",
        instead(
            PATTERN,
            "half = amax.to(tl.float32, bitcast=True).to(tl.float16).to(tl.float32)",
            "pattern = normalized(half.to(tl.int32, bitcast=True))",
        ),
        same=False,
    ),
    Planted(
        "C20 C20q",
        after(
            SCALE,
            "largest = LARGEST % (1 << FRACTION) << 23 - FRACTION",
            "scale -= (pattern & 0x7FFFFF < largest).to(tl.int32)",
        ),
    ),
    Planted("C20b", instead(RCEIL, "1")),
    Planted("D1", before(ELEMENTS, "bits = tl.where(scale == 254, bits & -0x80000000, bits)")),
    Planted(
        "D2",
        before(
            ELEMENTS,
            "quotient = bits & -0x80000000 | 0x7F800000",
            "quotient = tl.where(bits & 0x7FFFFFFF == 0, 0x7FC00000, quotient)",
            "bits = tl.where(scale == 0, quotient, bits)",
        ),
    ),
    Planted(
        "D4", before(ELEMENTS, "bits = tl.where(bits & 0x7F800000 == 0, bits & -0x80000000, bits)")
    ),
    Planted("D7q", part(ELEMENTS, "scale", "254 - scale")),
)
READING = (
    Planted("C6dq", after(SCALE_READ, "scale = tl.where(scale == 255, 255, scale - 1)")),
    Planted("D7", after(SCALE_READ, "scale = tl.where(scale == 255, 255, 254 - scale)")),
    Planted("E1bq", after(SCALE_READ, "scale = tl.maximum(scale, 1)")),
    Planted(
        "E1q",
        after(
            NAN_SCALE,
            "bits = tl.where(scale == 0, tl.where(bits < 0x7F800000, 0, 0x7FC00000), bits)",
        ),
    ),
    Planted(
        "E2aq",
        instead(
            NAN_SCALE,
            "infinite = tl.where((integer == 0) | (magnitude > LARGEST), bits, 0x7F800000)",
            "infinite = tl.where(integer == 0, 0x7FC00000, infinite)",
            "bits = tl.where(scale == 0xFF, infinite, bits)",
        ),
    ),
    Planted("E2bq", instead(NAN_SCALE, "bits += 0")),
    Planted("E3", part(NAN_SCALE, "scale == 0xFF", "(scale == 0xFF) & (integer > 0)")),
    Planted("E4 E4q", after(READ, "negative = negative & (magnitude > 0)")),
    Planted("E4b E4bq", instead(IS_NEGATIVE, "negative = code > 0x7F")),
    Planted(
        "E4c E4cq",
        after(READ, "magnitude = tl.where(negative, -code, code) & (1 << BITS - 1) - 1"),
        same=False,  # the museum's reads NaN and infinity as they are
    ),
    Planted(
        "E5 E5q",
        before(
            INTEGER,
            "low = (magnitude >> FRACTION == 0) & (magnitude > 0)",
            "integer += tl.where(low, 1 << FRACTION, 0)",
            "binade -= low.to(tl.int32)",
        ),
    ),
    Planted("E5b E5bq", after(FIELD, "field -= (magnitude >> FRACTION == 0).to(tl.int32)")),
    Planted("E5c E5cq", part(FIELD, "127", "128")),
    Planted("E6 E6q", part(IS_NAN, "magnitude", "(FRACTION == 2) & magnitude")),
    Planted("E6b E6bq", part(IS_NAN, "> LARGEST", ">> FRACTION >= LARGEST >> FRACTION")),
    Planted("E7 E7q", instead("if BITS == 8 and FRACTION < 6:", "if False:")),
    Planted("E7b E7bq", instead(IS_INFINITE, "bits += 0")),
    Planted("E8", part(PRODUCT, "subnormal", "0")),
    Planted("E9a", part(OVERFLOW, "0x7F800000", "0x7F7FFFFF"), F32),
    Planted("E9b", part(OVERFLOW, "0x7F800000", "0x7FC00000")),
    Planted("F1b F1bq", after(READ_INT8, "magnitude = tl.minimum(magnitude, 127)")),
    Planted("F1c F1cq", after(READ_INT8, "magnitude = magnitude & 127")),
    Planted("F4b F4bq", instead(READ_INT8, "magnitude = code & 0x7F")),
)
REVERSED = " | ".join(f"(code >> {i} & 1) << {5 - i}" for i in range(6))
PACKING = (
    Planted("G1", instead(NIBBLES, "(high | low << 4)")),
    Planted(
        "G1b",
        (
            (
                "    return packed\n",
                "    packed[-1] <<= 4 * (bits == 4 and count % 2)\n    return packed\n",
            ),
        ),
    ),
    Planted("G1c", instead(FOUR_BYTES, "4: count // 2")),
    Planted("G1d", part(BYTES_READ, "mask, 0", "mask, (1 << BITS) - 1")),
    Planted(
        "G1e",
        instead(SIX_BYTES, "6: count")
        + instead(FOUR_BYTES, "4: count")
        + instead("BITS, not UNDO)", "BITS, False)"),
    ),
    Planted("G1u", instead(FIELD_READ, "code = code >> (4 - bit % 8).to(tl.int32) & 15")),
    Planted("G1v", after(FIELD_READ, "code |= tl.where(code & 8 > 0, 0xF0, 0)")),
    Planted("G1w", before(UNPACKED, 'count = packed.numel() * 8 // FORMATS[format]["BITS"]')),
    Planted(
        "G2",
        (
            (WORD, "word = (low & 63) << 18 | low >> 6 << 12 | (high & 63) << 6 | high >> 6"),
            ("word >> 8 * i & 0xFF", "word >> 16 - 8 * i & 0xFF"),
        ),
    ),
    Planted("G2b", instead(WORD, "word = low | (high & 63) << 18 | high >> 6 << 12")),
    Planted("G2c", before(SIXES, f"code = {REVERSED}")),
    Planted("G2d", instead(SIX_BYTES, "6: -(-count * 6 // 8)")),
    Planted(
        "G2u",
        instead(SECOND_BYTE, SECOND_BYTE.replace("|= ", "= code << 8 | ")[:-5])
        + instead(FIELD_READ, "code = code >> (10 - bit % 8).to(tl.int32) & 63"),
    ),
    Planted("G2v", instead(BIT, "bit = (place ^ place // 2 % 2) * BITS")),
    Planted(
        "G3",
        instead(FOURS, "tl.permute(tl.reshape(code, (ROWS, 2, 16)), (0, 2, 1))")
        + instead(FOUR_BYTES, "4: -(-count // 32) * 16"),
    ),
    Planted(
        "G7",
        instead(
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
    ),
    Planted(
        "G8",
        part(
            STORED, "scales + row", "scales + (row + tl.cdiv(count, 32) - 1) % tl.cdiv(count, 32)"
        ),
    ),
    Planted("G9 G9u", instead(INSIDE, "inside = tile * 512 + r // 4 * 16 + r % 4 * 4 + c")),
    Planted(
        "G9b", instead("tl.load(scales + place, mask, 0)", "tl.load(scales + place, mask, 0xFF)")
    ),
    Planted(
        "G9c G9v",
        instead(
            ROW,
            "down = tl.cdiv(rows, 128)",
            "row, column = tile % down * 128 + r, tile // down * 4 + c",
        ),
    ),
    Planted(
        "G9d",
        (
            ("tl.arange(0, 128)", "tl.arange(0, 32)"),
            (INSIDE, "inside = tile * 128 + r * 4 + c"),
            ("tile // across * 128", "tile // across * 32"),
            ("triton.cdiv(rows, 128)", "triton.cdiv(rows, 32)"),
            (TILES, TILES.replace("512", "128")),
        ),
    ),
    Planted("G9e", instead(INSIDE, "inside = tile * 512 + r % 32 * 16 + c * 4 + r // 32")),
    Planted("G9f", instead(INSIDE, "inside = tile * 512 + r * 4 + c")),
    Planted("G9h", before(TILES, "return scales.reshape(-1)")),
)
PLANTED = (*ROUNDING, *RANGES, *SCALES, *READING, *PACKING)

#: Of the classes of rounding, range, scales and layouts: what the kernels cannot have, and why.
LEFT_OUT: Mapping[str, str] = {
    **dict.fromkeys(("B5c", "B6c", "B10"), "the kernels saturate; they have no other mode"),
    "G3u": "it would read behind the last byte",
    "G4": "blocks are rows of what the kernels are given; which axis that is the caller knows",
}
