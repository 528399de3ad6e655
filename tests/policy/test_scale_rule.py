"""Scale rules: the limits, against direct definitions and against the slow twin's own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.policy.scale_rule import ScaleLimit, ScaleRule

RULES = tuple(rule.value for rule in ScaleRule if not rule.is_quirk)
FORMATS = tuple(ELEMENT_FORMATS)


def edges(rule: ScaleRule, format: str, layout: FloatLayout) -> list[int]:
    """Every binade edge and the rule's limit in every binade, 2 ulp to both sides; subnormals."""
    m = layout.mantissa_bits
    _, too_large = rule.limit(ELEMENT_FORMATS[format]).threshold(m)
    low = {0, too_large - (1 << m), 1 << m - 1}
    fields = range(1, (1 << layout.exponent_bits) - 1)
    points = [field << m | fraction for field in fields for fraction in low if fraction < 1 << m]
    points += [1 << bit for bit in range(m)] + [3 << bit for bit in range(m - 1)]
    near = {point + step for point in points for step in (-2, -1, 0, 1, 2)}
    return sorted(bits for bits in near if 0 < bits < layout.inf_bits)


def quirk_inputs(layout: FloatLayout) -> list[int]:
    """The last 50 floats of every binade and of some float32 steps before it, and subnormals."""
    m = layout.mantissa_bits
    step = 1 << max(m - 23, 0)
    fields = range((1 << layout.exponent_bits) - 1)
    if layout.width == 64:
        fields = range(1023 - 155, 1023 + 132)
    bits = [(field + 1 << m) - j * step + d for field in fields for j in range(50) for d in (0, 1)]
    bits += [1 << bit for bit in range(m)] + [3 << bit for bit in range(m - 1)]
    return [b for b in bits if 0 < b < layout.inf_bits][::3]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("rule", ScaleRule, ids=lambda rule: rule.value)
@pytest.mark.parametrize("format", FORMATS)
def test_the_references_agree(format: str, rule: ScaleRule) -> None:
    """On every 16-bit amax, at every edge of others."""
    for source, layout in LAYOUTS.items():
        if layout.width == 16:
            bits = list(range(layout.inf_bits + 2))
        else:
            bits = quirk_inputs(layout) if rule.is_quirk else edges(rule, format, layout)
        amax = np.array(bits, layout.uint).view(layout.dtype)
        got = mxref.shared_scale(amax, format, rule).tolist()
        assert got == [exact.shared_scale(b, source, format, rule.value) for b in bits], source


# Published probes (SPEC_NOTES N1): these amaxes tell every two rules apart that differ.
PROBES = {
    "e5m2": (1.0, 1.25, 1.5, 1.75, 1.875),
    "e4m3": (1.0, 1.25, 1.5, 1.75, 1.8125, 1.8125 + 2**-20, 1.9375),
    "e3m2": (1.0, 1.25, 1.5, 1.75, 1.875),
    "e2m3": (1.0, 1.375, 1.5, 1.875, 1.9375),
    "e2m1": (1.0, 1.0625, 1.25, 1.5, 1.75),
    "int8": (1.0, 1.4140625, 1.46875, 1.984375, 1.9921875),
}


@pytest.mark.parametrize("format", FORMATS)
def test_the_probes_separate_the_rules(format: str) -> None:
    probes = np.array([p * s for p in PROBES[format] for s in (1 - 2**-20, 1, 1 + 2**-20)])
    answers = {rule: mxref.shared_scale(probes, format, rule).tobytes() for rule in RULES}
    same = {(a, b) for a in RULES for b in RULES if a < b and answers[a] == answers[b]}
    # TOSA and EVEN are one function but for E4M3, and for no other reason.
    assert same == (set() if format == "e4m3" else {("even", "tosa")})


@pytest.mark.parametrize("bits", [2, 7, 10, 23, 52])
@pytest.mark.parametrize("square", [2, 3, 2 * 448**2, 2 * 6**2, 4])
@pytest.mark.parametrize("closed", [False, True])
def test_threshold_of_a_root(square: int, bits: int, closed: bool) -> None:
    binade, first = ScaleLimit(Fraction(square), closed=closed, root=True).threshold(bits)

    def too_large(n: int) -> bool:
        value = (Fraction(n, 1 << bits) * Fraction(2) ** binade) ** 2
        return value > square or (value == square and not closed)

    assert too_large(first)
    assert not too_large(first - 1) or first == 1 << bits
    assert Fraction(4) ** binade <= square < Fraction(4) ** (binade + 1)


@pytest.mark.parametrize(
    ("limit", "binade", "first"),
    # In eighths of the binade: 14 is 1.75, 12 is 1.5, 8 is 1; 13.6 is between 13 and 14.
    [(448, 8, 14), (Fraction(3, 4), -1, 12), (Fraction(1, 8), -3, 8), (Fraction(17, 80), -3, 13.6)],
)
def test_threshold_of_a_limit(limit: int | Fraction, binade: int, first: float) -> None:
    open_end = ScaleLimit(Fraction(limit), closed=False).threshold(3)
    closed_end = ScaleLimit(Fraction(limit), closed=True).threshold(3)
    assert open_end == (binade, math.ceil(first))
    assert closed_end == (binade, math.floor(first) + 1)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", FORMATS)
def test_a_reciprocal_changes_the_scale_of_one_normal_significand(format: str) -> None:
    """That of INT8's amax one ulp above 127/64, whose product with 64/127 is rounded to 1."""
    significands = np.arange(1 << 23, dtype=np.uint32)[::3] | 127 << 23
    amax = np.append(significands, (127 << 23) + (np.arange(64, dtype=np.uint32) << 17))
    amax = np.append(amax, np.uint32([0x3FFE0000, 0x3FFE0001, 0x3FFE0002]))
    values = amax.view(np.float32)
    exactly = mxref.shared_scale(values, format, "rceil").astype(int)
    fewer = exactly - mxref.shared_scale(values, format, "rceil_reciprocal")
    expected = (amax == 0x3FFE0001) & (format == "int8")
    assert fewer.tolist() == expected.astype(int).tolist()
