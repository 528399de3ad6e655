"""Bugs planted in the encoder of the Triton kernels: classes of rounding and range, and INT8."""

from __future__ import annotations

from triton_planting import INFINITE, LIMITED, SUM, Bugs, Rewrites, after, before, instead, part

__all__ = ["ENCODING"]

# Of `encoded`.
MAGNITUDE = "magnitude = bits & 0x7FFFFFFF"
DROP = "drop = 23 - K.FRACTION + tl.minimum(tl.maximum(-above, 0), K.FRACTION + 2)"
SIGNIFICAND = "significand, field = apart(magnitude)"
ODD = "odd = significand >> drop & 1"
ROUNDED = "code = (significand + (1 << drop - 1) - 1 + odd) >> drop"
UNLIMITED = "code += tl.maximum(above, 0) << K.FRACTION"
NAN = "code = tl.where(nan, 0x7F if K.BITS == 8 else K.LARGEST, code)"
NEGATIVE = "negative = (bits < 0) & ~nan"
COMPLEMENT = "        return tl.where(negative, -code, code) & 0xFF"
SIGN = "return tl.where(negative, code | 1 << K.BITS - 1, code)"
TOP = "top = K.LARGEST + (K.BITS == 8 and K.FRACTION < 6 and not K.SATURATE)"
INT8 = "FRACTION=6, EMIN=0"
NOT_NAN = "(bits & 0x7FFFFFFF) <= 0x7F800000"


def rounded(sum: str) -> Rewrites:
    return instead(ROUNDED, f"code = ({sum}) >> drop")


def last(condition: str, code: str) -> Rewrites:
    """What `encoded` does at its end."""
    rewrites: Rewrites = ()
    for old in (COMPLEMENT, SIGN):
        kept = f"return tl.where({condition}, {code}, code)"
        rewrites += instead(old, old.replace("return", "code ="), kept)
    return rewrites


ROUNDING: Bugs = {
    "A1 A1q F5": rounded("significand + (1 << drop - 1)"),
    "A1b": after(ODD, "odd = tl.where(above < 0, odd, 1)"),
    "A1c": rounded("significand + (1 << drop - 1) - (bits < 0).to(tl.int32)"),
    "A2 A2q": rounded("significand"),
    "A3": rounded("significand + (1 << drop - 1) - odd"),
    "A3b": instead(
        ROUNDED,
        "rest = (significand & (1 << drop) - 1 > 0) & (magnitude > 0)",
        "code = significand >> drop | rest.to(tl.int32)",
    ),
    "A4": rounded("significand + (1 << drop - 1) - 1"),
    "A5": rounded("significand + tl.where(magnitude > 0, (1 << drop) - 1, 0)"),
    "A6": rounded("significand + tl.where(bits & magnitude * -1 < 0, (1 << drop) - 1, 0)"),
    "A6b": rounded("significand + tl.where(bits > 0, (1 << drop) - 1, 0)"),
    "A7": after(ODD, "odd = tl.where(above < 0, 1, odd)"),
    "A7b": after(ODD, "odd = tl.where(above < 0, 0, odd)"),
    "A8": rounded("significand + (odd << drop - 1)"),
    "A9": after(SIGNIFICAND, "significand &= 0xFFFF00"),
    "A9b": after(SIGNIFICAND, "significand &= 0xFFFFFE"),
    "A9c": after(SIGNIFICAND, "significand &= 0xFF0000"),
    "A10": instead(
        ROUNDED,
        "guard = significand >> drop - 1",
        "code = (significand >> drop) + (guard & (odd | significand >> drop - 2) & 1)",
    ),
    "A10b": instead(
        ROUNDED,
        "guard, low = significand >> drop - 1, significand & (1 << drop - 1) - 1",
        "sticky = (low >> drop // 2 > 0).to(tl.int32)",
        "code = (significand >> drop) + (guard & (odd | sticky) & 1)",
    ),
    "A10c": after(SIGNIFICAND, "significand &= 0xFFFFDF"),
    "A11": before(
        MAGNITUDE,
        "short = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16",
        f"bits = tl.where({NOT_NAN}, short, bits)",
    ),
    "A11b": after(
        MAGNITUDE,
        "low: tl.constexpr = 23 - K.FRACTION",
        "short = (magnitude + (1 << low - 1) - 1 + (magnitude >> low & 1)) >> low << low",
        "magnitude = tl.where(magnitude > 0x7F800000, magnitude, short)",
    ),
    "A12": before(MAGNITUDE, "bits = bits & -0x10000"),
    "A13": before(
        MAGNITUDE,
        "half = bits.to(tl.float32, bitcast=True).to(tl.float16)",
        "bits = half.to(tl.float32).to(tl.int32, bitcast=True)",
    ),
    "A15": before(
        LIMITED,
        "carry = code >> K.FRACTION > tl.where(above < 0, 0, 1)",
        "code = tl.where(carry, code - (1 << K.FRACTION), code)",
    ),
    "A15b": instead(
        LIMITED,
        "code -= tl.where(above < 0, 0, 1 << K.FRACTION)",
        "code = tl.minimum(tl.maximum(above + 1, 0) << K.FRACTION | code, top)",
    ),
    "A16": instead(LIMITED, UNLIMITED, "code = tl.minimum(code & -2, top)"),
    "A16b": before(MAGNITUDE, f"bits = tl.where({NOT_NAN}, bits & -0x300001, bits)"),
    "A17a": instead(DROP, "drop = 23 - K.FRACTION + tl.maximum(-above, 0) & 31"),
    "A17b": instead(DROP, "drop = (23 - K.FRACTION + tl.maximum(-above, 0)).to(tl.int64) & 63"),
    "A17d": part(DROP, "tl.maximum(-above, 0)", "tl.maximum(-above, 0) & 63"),
    "A17c": part(DROP, "K.FRACTION + 2", "K.FRACTION + 1"),
    "A18a": rounded("significand + (1 << drop - 1) + odd"),
    "A18b": rounded("significand + (1 << drop - 2)"),
}
RANGES: Bugs = {
    "B1": before(LIMITED, "code = tl.where(above < 0, 0, code)"),
    "B1b": after(LIMITED, "code = tl.where(code < 1 << K.FRACTION, 0, code)"),
    "B2": before(LIMITED, "code = tl.where(above < -K.FRACTION, 0, code)"),
    "B3": after(ROUNDED, "code |= ((drop == 24) & (significand == 0x800000)).to(tl.int32)"),
    "B4a": after(DROP, "drop += ((above < 0) & (drop < 25)).to(tl.int32)"),
    "B4b": instead(DROP, DROP.replace("2)", "3)"), "drop -= (above < 0).to(tl.int32)"),
    "B4c": before(
        LIMITED,
        "one = tl.where((above < 0) & (above >= -K.FRACTION), K.FRACTION + above, 31)",
        "code -= tl.where(one < 31, 1 << one, 0)",
    ),
    "B5a": instead(LIMITED, UNLIMITED, "code = tl.where(code > top, 0x7F, code)"),
    "B5b B13b": last(f"({INFINITE}) & (top > 0x7A)", "0x7F"),
    "B6a": instead(LIMITED, UNLIMITED, "code = tl.minimum(code, top + 1)"),
    "B6b": after(LIMITED, f"code = tl.where({INFINITE}, 0x7C, code)"),
    "B7": instead(LIMITED, UNLIMITED, "code &= (1 << K.BITS - 1) - 1"),
    "B7b": instead(LIMITED, UNLIMITED)
    + instead(
        SIGN,
        "code += tl.where(negative, 1 << K.BITS - 1, 0)",
        "return code & (1 << K.BITS) - 1",
    ),
    "B8a": after(LIMITED, "code = tl.where(code >> K.FRACTION == top >> K.FRACTION, top, code)"),
    "B8b": after(LIMITED, "code = tl.where(code >> K.FRACTION == 15, 0x7F, code)"),
    "B9a": after(LIMITED, "code = tl.minimum(code, (top >> K.FRACTION << K.FRACTION) - 1)"),
    "B9b": part(LIMITED, "top", "top - 1"),
    "B5c B6c B5cq B6cq": instead(TOP, "top = K.LARGEST"),
    "B10": before(
        LIMITED,
        "cut = (significand >> drop) + (tl.maximum(above, 0) << K.FRACTION)",
        "past = (cut == top - 1) & (significand & (1 << drop) - 1 > 0)",
        "code = tl.where(past, top, code)",
    ),
    "B11": instead(LIMITED, UNLIMITED, "code = tl.where(above < top >> K.FRACTION, code, top)"),
    "B12": before(LIMITED, f"bits = tl.where({SUM} > top, magnitude, bits)"),
    "B12b": after(NEGATIVE, "negative = negative & False"),
    "B12c": instead(SIGN, "return tl.where(negative, -code, code) & (1 << K.BITS) - 1"),
    "B13a": last(INFINITE, "0"),
    "B13c": last(INFINITE, "1"),
    "B13d": last(INFINITE, "code ^ 1 << K.BITS - 1"),
    "B14": part(NAN, "0x7F if K.BITS == 8 else K.LARGEST", "K.LARGEST"),
    "B15": part(NAN, "0x7F if K.BITS == 8 else K.LARGEST", "0"),
    "B16": last("nan", "tl.where(bits < 0, 0, 1 << K.BITS - 1)"),
    "B17": after(NEGATIVE, "negative = negative & (magnitude > 0)"),
    "B17b": last("(bits < 0) & (magnitude == 0)", "0x7F"),
    "B18": after(NEGATIVE, "negative = negative & ((code > 0) | (magnitude == 0))"),
    "B18b B18bq": after(NEGATIVE, "negative = negative & (code > 0)"),
    "F1": part(LIMITED, "top", "top + (bits < 0).to(tl.int32)"),
    "F2 F2c F2cq": part(INT8, "0", "6"),
    "F2b F2d F2dq": part(INT8, "0", "-1"),
    "F3": instead(
        LIMITED,
        UNLIMITED,
        "over = (code == top + 1) & (bits > 0)",
        "code = tl.where(over, code, tl.minimum(code, top))",
    ),
    "F3b": instead(LIMITED, UNLIMITED),
    "F4": instead(COMPLEMENT, "return tl.where(negative, code | 0x80, code)"),
}
ENCODING = ROUNDING | RANGES
