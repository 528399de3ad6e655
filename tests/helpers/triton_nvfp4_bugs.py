"""Bugs planted in what the Triton kernels do for NVFP4: scales, elements and reading."""

from __future__ import annotations

from triton_planting import Bugs, Rewrites, after, before, instead, part

__all__ = ["NVFP4"]

ONE = "tl.full((), 0x3F800000, tl.int32)"
# Of `scale_of_nvfp4`.
QUOTIENT = "quotient = (top << 7) // (3 * below)"
STICKY = "odd = quotient * 2 + (quotient * (3 * below) != top << 7).to(tl.int32)"
RESULT = "return encoded(float_bits(odd), 136 + low - field, 0, K.SCALE)"
# Of `encoded_nvfp4`.
MIDDLE = "        middle, up = integer_of(2 * i + 1, 2)"
IS_UP = "        if i % 2:"
CODE = "return tl.where(scale > 0, code, 0) | bits >> 28 & 8"
SIGN = "bits >> 28 & 8"
# Of the kernels.
LOADED = "            unit = float_bits(tl.load(tensor))"
SCALE = "            scale = tl.where(finite, scale_of_nvfp4(amax, unit, K), 0x7F)"
ELEMENTS = "            code = encoded_nvfp4(bits, scale, unit)"
READ = "    unit = 0 if K.SCALE is None else float_bits(tl.load(tensor))"
FACTOR = "        factor, binade = integer_of(scale, 3)"
PRODUCT = "        bits, rest, half = product(integer, unit, exponent + binade - 10)"
OF_SCALES = 'SCALE=FORMATS["e4m3"]'
IS_NAN = "scale == (0xFF if K.SCALE is None else 0x7F)"


def scale(*lines: str) -> Rewrites:
    """What is done with the code of the scale."""
    return instead(RESULT, RESULT.replace("return", "code ="), *lines)


#: The largest magnitude of a block with this scale is 6 * scale * unit.
LIMIT = (
    "factor, binade = integer_of(code, 3)",
    "limit, rest, _ = product(3 * factor, unit, binade - 8)",
)
NVFP4: Bugs = {
    "C17c": scale(*LIMIT, "return code - ((amax < limit + (rest > 0)) & (code > 0))"),
    "C17d": scale(
        *LIMIT,
        "up = (amax > limit) & (code > 0) | (code == 0) & (amax > 0)",
        "return tl.minimum(code + up, 0x7E)",
    ),
    "C17e": instead(STICKY, "odd = quotient * 2 + 1"),
    "C20c": part(QUOTIENT, "3 *", "2 *") + part(STICKY, "3 *", "2 *"),
    "C20d": scale("return tl.where(code < 8, code, tl.minimum(code + (-code & 7), 0x78))"),
    "C12b": scale("return tl.where(code < 8, 0, code)"),
    "C12c": scale("return tl.maximum(code, 8)"),
    "C13d": (
        (OF_SCALES, f"{OF_SCALES}._replace(SATURATE=False)"),
        *after(ELEMENTS, "code = tl.where(scale < 0x7F, code, 0)"),
    ),
    "A1n A1v": part(IS_UP, "i % 2", "True"),
    "A2n A2v": part(MIDDLE, "+ 1", "+ 2") + part(IS_UP, "i % 2", "True"),
    "A3n A3v": part(IS_UP, "i % 2", "i % 2 == 0"),
    "A4n A4v": part(IS_UP, "i % 2", "False"),
    "B1bn B1bv": before(CODE, "code = tl.where(code < 2, 0, code)"),
    "B8an B8av": before(CODE, "code = tl.where(code == 6, 7, code)"),
    "B9an B9av": before(CODE, "code = tl.minimum(code, 5)"),
    "B9bn B9bv": before(CODE, "code = tl.minimum(code, 6)"),
    "B12bn B12bv": part(CODE, f" | {SIGN}", ""),
    "B17n B17v": part(CODE, SIGN, f"tl.where((magnitude > 0) & (scale > 0), {SIGN}, 0)"),
    "B18n B18v": part(
        CODE, SIGN, f"tl.where((scale == 0) | (magnitude == 0) | (code > 0), {SIGN}, 0)"
    ),
    "B18bn B18bv": part(CODE, SIGN, f"tl.where((scale > 0) & (code > 0), {SIGN}, 0)"),
    "D7b": instead(LOADED, f"unit = {ONE}"),
    "D7e": part(ELEMENTS, "unit", ONE),
    "D7f": part(SCALE, "unit", ONE),
    "D7c": instead(READ, f"unit = {ONE}"),
    "E1c": after(FACTOR, "factor = tl.where(scale < 8, 0, factor)"),
    "E5d": after(
        FACTOR,
        "factor += tl.where((scale < 8) & (scale > 0), 8, 0)",
        "binade -= (scale < 8).to(tl.int32)",
    ),
    "E5e": after(FACTOR, "binade -= (scale < 8).to(tl.int32)"),
    "E5f": part(PRODUCT, "- 10", "- 11"),
    "E6c": ((IS_NAN, "(K.SIZE == 32) & (scale == 0xFF)"),),
    "E10b": instead(FACTOR, "factor, binade = 0 * scale + 1, scale - 118"),
}
