"""The features that descriptions of failures speak of, worked out one unit at a time in fractions.

Nothing here is taken from `mxref.conformance` or the fast path: a unit is a dict of raw facts
(patterns, codes, places; see `facts_by_hand`), a feature a function of them. None where a feature
has no meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from helpers import ELEMENT, INFINITY, WIDTH

from mxref import exact

Facts = dict[str, Any]
INF = math.inf
MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
#: Format: fraction bits, exponent of the smallest normal number, code of the largest number.
GRID = {
    "e5m2": (2, -14, 0x7B),
    "e4m3": (3, -6, 0x7E),
    "e3m2": (2, -2, 0x1F),
    "e2m3": (3, 0, 0x1F),
    "e2m1": (1, 0, 0x07),
    "int8": (6, 0, 0x7F),
    "e8m0": (0, -127, 0xFE),
}
BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
PARITY, SIGNS = ("even", "odd"), ("positive", "negative")
FOURTHS = ("4n", "4n + 1", "4n + 2", "4n + 3")


def magnitude(bits: int, float: str) -> Fraction | float | None:
    """|x|; None for NaN."""
    bits &= (1 << WIDTH[float] - 1) - 1
    if bits >= INFINITY[float]:
        return INF if bits == INFINITY[float] else None
    m = MANTISSA[float]
    field, fraction = bits >> m, bits & ((1 << m) - 1)
    n = fraction + (1 << m if field else 0)
    return n * Fraction(2) ** (max(field, 1) - 1 + least_exponent(float) - m)


def least_exponent(float: str) -> int:
    """Of a normal number."""
    return 2 - (1 << (WIDTH[float] - 2 - MANTISSA[float]))


def negative(bits: int, float: str) -> bool:
    return bool(bits >> (WIDTH[float] - 1))


def binade(x: Fraction) -> int:
    """floor(log2 x)."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if Fraction(2) ** k <= x else k - 1


def signed(code: int, format: str) -> tuple[bool, int]:
    """Sign and magnitude of a code."""
    if format == "e8m0":
        return False, code
    if format == "int8":
        return code > 0x7F, 256 - code if code > 0x7F else code
    half = 1 << BITS[format] - 1
    return code >= half, code % half


def code_class(code: int, format: str) -> str:
    minus, size = signed(code, format)
    top = GRID[format][2]
    if size > top and format != "int8":  # 80 is -2 there
        return "an infinity" if format == "e5m2" and size == top + 1 else "NaN"
    if size == top:
        return "the largest number"
    if format == "e8m0":
        return "a normal number but the largest"
    if size == 0:
        return "-0" if minus else "+0"
    return (
        "a subnormal number" if size < 1 << GRID[format][0] else "a normal number but the largest"
    )


def step(format: str, x: Fraction) -> tuple[int, Fraction]:
    """The magnitude code below x, in a format without end, and the part of a step above it."""
    m, emin = GRID[format][:2] if format in GRID else (MANTISSA[format], least_exponent(format))
    k = max(binade(x), emin) if x and format != "int8" else emin  # whose steps are all the same
    whole, part = divmod(x / Fraction(2) ** (k - m), 1)
    return (k - emin) * (1 << m) + int(whole) - (format == "e8m0"), part


def scaled(f: Facts) -> Fraction | float | None:
    x = magnitude(f["x"], f["float"])
    return x * Fraction(2) ** (127 - f["scale"]) if "scale" in f and x is not None else x


def part_of_a_step(f: Facts) -> Fraction | None:
    x = scaled(f)
    return step(f["format"], x)[1] if isinstance(x, Fraction) else None


def remainder(f: Facts) -> str | None:
    x = scaled(f)
    if not isinstance(x, Fraction):
        return None
    return side(step(f["format"], x)[1])


def side(part: Fraction) -> str:
    names = ("below a tie", "a tie", "above a tie")
    return "exact" if not part else names[(part > Fraction(1, 2)) + (part >= Fraction(1, 2))]


def rounding(f: Facts) -> str | None:
    x = scaled(f)
    if not isinstance(x, Fraction):
        return None
    floor, part = step(f["format"], x)
    if floor + (part > 0) > GRID[f["format"]][2]:
        return "clamped"
    code = signed(f["want"], f["format"])[1]
    if code == floor:
        return "rounded toward zero" if part else "exact"
    return "rounded away from zero" if part and code == floor + 1 else "clamped"


def input_class(bits: int, float: str) -> str:
    x = magnitude(bits, float)
    if x is None:
        return "NaN"
    if x == INF:
        return "infinite"
    least = Fraction(2) ** least_exponent(float)
    return "a zero" if x == 0 else "a normal float" if x >= least else "a subnormal float"


def significand(x: Fraction | float | None) -> Fraction | None:
    return x / Fraction(2) ** binade(x) if isinstance(x, Fraction) and x else None


def amax(f: Facts) -> tuple[Fraction | float | None, int]:
    """The largest magnitude of a block, NaN aside, and where it first stands."""
    sizes = [magnitude(bits, f["float"]) for bits in f["block"]]
    known = [size for size in sizes if size is not None]
    return (max(known), sizes.index(max(known))) if known else (None, 0)


def amax_position(f: Facts) -> int | None:
    size, position = amax(f)
    return position if size else None


def amax_sign(f: Facts) -> str | None:
    place = amax_position(f)
    return None if place is None else SIGNS[negative(f["block"][place], f["float"])]


def only_nan(f: Facts) -> int | None:
    nans = [i for i, x in enumerate(f["block"]) if magnitude(x, f["float"]) is None]
    return nans[0] if len(nans) == 1 else None


def infinities(f: Facts) -> str | None:
    infinite = [x for x in f["block"] if magnitude(x, f["float"]) == INF]
    signs = {SIGNS[negative(x, f["float"])] for x in infinite}
    return None if not signs else "of both signs" if len(signs) == 2 else signs.pop()


def block_class(f: Facts) -> str:
    kinds = [input_class(bits, f["float"]) for bits in f["block"]]
    if "NaN" in kinds:
        return "a NaN"
    if "infinite" in kinds:
        return "an infinity and no NaN"
    return "only zeros" if set(kinds) == {"a zero"} else "only numbers, not all zero"


def product(f: Facts) -> int:
    """The float that is |scale * element|, by the slow twin."""
    return exact.dequantize(f["scale"], f["code"], f["format"], f["float"])


def place(f: Facts, name: str) -> int | None:
    """Row or column; None in padding."""
    return f[name] if f.get("position", 0) < f["length"] else None


def behind(f: Facts, name: str) -> int | None:
    index = place(f, name)
    return None if index is None else f[f"{name}s"] - 1 - index


def number_code(f: Facts, which: str) -> int | None:
    return None if code_class(f[which], f["format"]) == "NaN" else f[which]


def magnitude_code(f: Facts, which: str) -> int | None:
    """The code of a number, without sign."""
    code = number_code(f, which)
    return None if code is None else signed(code, f["format"])[1]


def parity(value: int | None) -> str | None:
    return None if value is None else PARITY[value % 2]


def fourth(value: int | None) -> str | None:
    return None if value is None else FOURTHS[value % 4]


VALUES: dict[str, Callable[[Facts], Any]] = {
    "float type": lambda f: f["float"],
    "sign": lambda f: SIGNS[negative(f["x"], f["float"])],
    "input": lambda f: input_class(f["x"], f["float"]),
    "magnitude": lambda f: magnitude(f["x"], f["float"]),
    "scaled magnitude": scaled,
    "significand": lambda f: significand(magnitude(f["x"], f["float"])),
    "remainder": remainder,
    "part of a step": part_of_a_step,
    "rounding": rounding,
    "wanted": lambda f: number_code(f, "want"),
    "wanted sign": lambda f: SIGNS[signed(f["want"], f["format"])[0]],
    "wanted class": lambda f: code_class(f["want"], f["format"]),
    "wanted magnitude": lambda f: magnitude_code(f, "want"),
    "wanted parity": lambda f: parity(magnitude_code(f, "want")),
    "random width": lambda f: f["width"],
    "random bits": lambda f: f["draw"],
    "code": lambda f: number_code(f, "code"),
    "code sign": lambda f: SIGNS[signed(f["code"], f["format"])[0]],
    "code class": lambda f: code_class(f["code"], f["format"]),
    "code magnitude": lambda f: magnitude_code(f, "code"),
    "code parity": lambda f: parity(magnitude_code(f, "code")),
    "product": lambda f: magnitude(product(f), f["float"]),
    "product class": lambda f: input_class(product(f), f["float"]),
    "scale code": lambda f: f["scale"],
    "position": lambda f: f["position"],
    "block": block_class,
    "amax": lambda f: amax(f)[0],
    "amax significand": lambda f: significand(amax(f)[0]),
    "amax position": amax_position,
    "amax sign": amax_sign,
    "nan position": only_nan,
    "infinities": infinities,
    "axis": lambda f: f["axis"],
    "rows": lambda f: f["rows"],
    "columns": lambda f: f["columns"],
    "row": lambda f: place(f, "row"),
    "column": lambda f: place(f, "column"),
    "rows behind": lambda f: behind(f, "row"),
    "columns behind": lambda f: behind(f, "column"),
    "block length": lambda f: f["length"],
    "inside": lambda f: "inside the tensor" if f["position"] < f["length"] else "padding",
    "length": lambda f: f["length"],
    "word": lambda f: f["word"],
    "words behind": lambda f: f["count"] - 1 - f["word"],
    "wanted word": lambda f: f["want"],
}

for name in ("position", "amax position", "nan position", "word", "length"):
    VALUES[f"{name} parity"] = lambda f, name=name: parity(VALUES[name](f))  # type: ignore[misc]
    VALUES[f"{name} of four"] = lambda f, name=name: fourth(VALUES[name](f))  # type: ignore[misc]


def holds(literal: dict[str, Any], facts: Facts) -> bool:
    """Whether one of a description's literals is true of a unit."""
    return true_of(literal, VALUES[literal["feature"]](facts))


def true_of(literal: dict[str, Any], value: Any) -> bool:
    """Whether a literal is true of a value of its feature."""
    if value is None:
        return False
    if "values" in literal:
        found = literal["values"]
        return value in (found if isinstance(value, (str, int)) else [real(v) for v in found])
    low, high = (real(end) if isinstance(end := literal[n], str) else end for n in ("low", "high"))
    above = low is None or value > low or (value == low and literal["low_included"])
    below = high is None or value < high or (value == high and literal["high_included"])
    return above and below


def real(text: str) -> float | Fraction:
    """A number in hexadecimal, of any exponent."""
    if text == "inf":
        return INF
    digits, _, exponent = text.removeprefix("0x").partition("p")
    whole, _, fraction = digits.partition(".")
    return int(whole + fraction, 16) * Fraction(2) ** (int(exponent) - 4 * len(fraction))


def same(op: str, format: str, float: str, want: int, got: int) -> bool:
    """Whether a word is right: the same bits, or both NaN."""
    if want == got:
        return True
    if op in ("decode", "decode_scale", "dequantize"):
        return magnitude(want, float) is None and magnitude(got, float) is None
    element = ELEMENT.get(format, format)
    if op not in ("encode", "encode_stochastic", "quantize") or element not in BITS:
        return False
    return code_class(want, element) == "NaN" == code_class(got, element)
