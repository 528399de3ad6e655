"""N33: what becomes of a block that is quantized, decoded and quantized again, for every rule.

X is 2**k with the smallest k for which amax / X is within the rule's limit, as N1 has it. So the
largest element is one of few numbers, and which one decides: X stays, is halved, or is doubled.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from helpers import ROOT

import mxref
from mxref import exact
from mxref.formats.catalog import BLOCK_FORMATS

NOTES = (ROOT / "SPEC_NOTES.md").read_text("utf-8")
BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
MANTISSA = {"e5m2": 2, "e4m3": 3, "e3m2": 2, "e2m3": 3, "e2m1": 1, "int8": 6}
#: The largest numbers, and the largest powers of two below them.
LARGEST = {"e5m2": 57344, "e4m3": 448, "e3m2": 28, "e2m3": 7.5, "e2m1": 6, "int8": 127 / 64}
POWER = {"e5m2": 2**15, "e4m3": 2**8, "e3m2": 2**4, "e2m3": 4, "e2m1": 4, "int8": 1}
RULES = ("floor", "even", "tosa", "ceil", "rceil", "nearest", "nearest_log2", "nearest_log2_power")
#: Rules that compute in float32 what another one is exactly.
QUIRKS = {
    "floor_log2_float32": "floor",
    "floor_exponent_field": "floor",
    "rceil_reciprocal": "rceil",
}


@functools.cache
def numbers(format: str) -> list[Fraction]:
    """Zero and the positive numbers, in order: that of code c is at c."""
    codes = range(1 << (BITS[format] - 1))
    largest = next(c for c in codes if exact.value(c, format) == Fraction(LARGEST[format]))
    return [exact.value(code, format) for code in range(largest + 1)]


@functools.cache
def limit(rule: str, format: str) -> tuple[Fraction, bool]:
    """The square of the limit, and whether amax / X may be equal to it: the table of N1."""
    power, largest = Fraction(POWER[format]), Fraction(LARGEST[format])
    step = largest - numbers(format)[-2]
    rooted = {"nearest_log2": 2 * largest**2, "nearest_log2_power": 2 * power**2}
    if rule in rooted:
        return rooted[rule], False
    limit = {
        "floor": 2 * power,
        "even": (2 - Fraction(1, 2 << MANTISSA[format])) * power,
        "tosa": largest + step / 2,  # a tie, to the even code: down only from that of E4M3
        "ceil": power,
        "rceil": largest,
        "nearest": largest * 3 / 2,
    }[rule]
    return limit**2, rule in ("ceil", "rceil") or (rule, format) == ("tosa", "e4m3")


def fits(amax: Fraction, rule: str, format: str) -> bool:
    square, closed = limit(rule, format)
    return amax**2 <= square if closed else amax**2 < square


@functools.cache
def reached(rule: str, format: str) -> dict[Fraction, list[Fraction]]:
    """What the largest element can become, and some amax / X of it: the least and the largest, too.

    Rounded to the nearest number, ties to the even code; beyond the largest one, to that.
    """
    known = numbers(format)
    middles = [(a + b) / 2 for a, b in itertools.pairwise(known)]
    place = 45 - POWER[format].bit_length()  # all that is asked is a float64
    root = math.isqrt(int(limit(rule, format)[0] * 4**place))
    edges = [Fraction(root + more, 2**half) for half in (place, place + 1) for more in (0, 1)]
    found: dict[Fraction, list[Fraction]] = {}
    for code, number in enumerate(known):
        low = middles[code - 1] if code else Fraction(0)
        high = middles[code] if number != known[-1] else 2 * number
        tiny = (high - low) / 2**40
        asked = sorted({low, low + tiny, number, high - tiny, high, *edges})
        own = [
            x
            for x in asked
            if (low < x < high or (x in (low, high) and code % 2 == 0))
            and fits(x, rule, format)
            and not fits(2 * x, rule, format)
        ]
        if own:
            found[number] = own
    return found


def again(number: Fraction, rule: str, format: str) -> int:
    """The exponent of the scale of a block whose largest element is a number, for X = 1."""
    for k in (-1, 0, 1):
        if fits(number / Fraction(2) ** k, rule, format):
            return k
    raise AssertionError(number)


def cell(rule: str, format: str) -> str:
    """What the table of N33 says, for blocks whose amax is spread evenly over the binades."""
    parts = []
    for number, amaxes in reached(rule, format).items():
        k = again(number, rule, format)
        if k == 0:
            continue
        percent = 100 * math.log2(amaxes[-1] / amaxes[0])
        size = f"{percent:.0f} %" if percent >= 1 else f"{percent:.1g} %" if percent else "one amax"
        halved = "X/2" if 2 * number <= numbers(format)[-1] else "X/2, clamped"
        parts.append(f"{'2X' if k == 1 else halved} ({size})")
    return "; ".join(parts) or "same"


def test_n33_the_table() -> None:
    (text,) = re.findall(r"\n### N33 · .+?(?=\n### )", NOTES, re.DOTALL)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert {row[0].strip("`"): row[1:] for row in rows} == {
        rule: [cell(rule, format) for format in BITS] for rule in RULES
    }


@pytest.mark.parametrize("format", BITS)
@pytest.mark.parametrize("rule", [*RULES, *QUIRKS])
def test_n33_blocks(rule: str, format: str) -> None:
    """Blocks of the least and the largest amax that becomes a number, with all smaller numbers."""
    limited = QUIRKS.get(rule, rule)
    name = next(name for name in BLOCK_FORMATS if name.endswith(format))
    known = numbers(format)
    for number, amaxes in reached(limited, format).items():
        k = again(number, limited, format)
        ends = [amaxes[0], amaxes[-1]] if rule == limited else [amaxes[len(amaxes) // 2]]
        for amax in ends:
            block = np.array([amax, *(n for n in known if n <= min(number, amax))], np.float64)
            assert Fraction(float(block[0])) == amax
            once, codes, values = quantized(block, name, rule)
            assert (once, values[0]) == (127, number)
            twice, codes_again, values_again = quantized(values, name, rule)
            assert twice == 127 + k
            assert (codes == codes_again) == (k == 0)
            kept = k == 0 or (k == -1 and 2 * number <= known[-1])
            assert (values == values_again) == kept, (number, amax)


def quantized(block: object, name: str, rule: str) -> tuple[int, list[int], list[float]]:
    made = mxref.quantize(np.array(block), name, block_size=len(block), scale_rule=rule)
    return int(made.scale_codes[0]), made.codes.tolist(), made.dequantize(np.float64).tolist()


def test_n33_normal_numbers() -> None:
    numbers = np.random.default_rng(0).standard_normal((20_000, 32)).astype(np.float32)
    once = mxref.quantize(numbers, "mxfp4_e2m1", scale_rule="nearest").dequantize()
    twice = mxref.quantize(once, "mxfp4_e2m1", scale_rule="nearest").dequantize()
    changed = int((once != twice).any(axis=1).sum())
    assert f"of 20,000 MXFP4 blocks of 32 normal numbers, {changed:,} have other values" in NOTES
