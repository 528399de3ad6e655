"""Stochastic rounding by steps: thresholds of the random bits, by the slow twin."""

from __future__ import annotations

import numpy as np
import pytest

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS, Stochastic
from mxref.bits.stochastic import fits
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat, Specials

CHOICES = (
    {},
    {"overflow": "nonsaturating", "clamp": "before_rounding"},
    {"overflow": "propagate", "zero_sign": "dropped", "int8_range": "full"},
    {"underflow_sign": "dropped", "clamp": "before_rounding", "int8_range": "full"},
)


def points(format: str, float: str, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers at 32nds of a unit from 0 to beyond the format, and random bits around the carry."""
    fmt, layout = ELEMENT_FORMATS[format], LAYOUTS[float]
    random = np.random.default_rng([width, *format.encode()])
    codes = np.concatenate([np.arange(4), random.integers(0, fmt.max_code + 4, 12)])
    m = fmt.mantissa_bits
    binade, fraction = np.divmod(codes, 1 << m)
    unit = np.ldexp(1.0, np.maximum(binade, 1) - 1 + fmt.emin - m)
    floor = (fraction + (binade > 0) * (1 << m)) * unit
    part = np.arange(33) / 32
    numbers = (floor[:, None] + part * unit[:, None]).reshape(-1)
    carry = np.rint((1 - np.tile(part, codes.size)) * 2.0**width).astype(np.int64)
    specials = np.array([0.0, np.inf, np.nan, 2.0**-24, 3e4])
    numbers = np.concatenate([numbers, specials])
    carry = np.concatenate([carry, np.full(specials.size, (1 << width) - 1)])
    both = np.concatenate([numbers, -numbers])
    with np.errstate(over="ignore"):
        values = np.repeat(both.astype(layout.dtype), 3)
    bits = np.repeat(np.tile(carry, 2), 3) + np.tile([-1, 0, 1], both.size)
    return values, np.clip(bits, 0, (1 << width) - 1)


@pytest.mark.parametrize("variant", "abc")
@pytest.mark.parametrize("format", ELEMENT_FORMATS)
def test_random_bits_carry_where_the_slow_twin_says(format: str, variant: str) -> None:
    """In float32 where they fit, else in float64; of every float type, with other choices."""
    turn = list(ELEMENT_FORMATS).index(format) + ord(variant)
    for i, (float, width) in enumerate(
        (("f32", 1), ("f32", 8), ("f32", 32), ("bf16", 5), ("f16", 23), ("f64", 11))
    ):
        choices = CHOICES[(turn + i) % len(CHOICES)]
        values, bits = points(format, float, width)
        rounding = f"stochastic_{variant}"
        found = mxref.encode(
            values, format, rounding=rounding, random_bits=bits, random_width=width, **choices
        )
        one = exact.encoder(float, format, rounding=rounding, **choices)
        patterns = values.view(LAYOUTS[float].uint)
        wanted = [one(int(x), int(r), width) for x, r in zip(patterns, bits, strict=True)]
        assert found.tolist() == wanted, (float, width, choices)


@pytest.mark.parametrize(
    ("float", "emin", "emax", "width", "right"),
    [
        ("f32", -6, 8, 25, True),
        ("f32", -6, 8, 26, False),  # 3 + 26 + 2 bits beside the sign
        ("f64", -6, 8, 32, True),
        ("f32", -127, 8, 1, False),  # no normal number
        ("f64", -127, 8, 1, True),
        ("f32", -126, 8, 20, False),  # 2**(N / u) is infinite
        ("f32", 120, 125, 8, True),
        ("f32", 120, 126, 8, False),  # a number in the binade below infinity may be an overflow
        ("f64", 120, 126, 8, True),
    ],
)
def test_where_sums_fit(float: str, emin: int, emax: int, width: int, right: bool) -> None:
    draw = Stochastic("a", np.zeros(1, np.int64), width)
    assert fits(LAYOUTS[float], 3, (emin, emax), draw) == right
    assert not fits(LAYOUTS["f32"], 3, (-6, 8), Stochastic("b", draw.bits, 25))


@pytest.mark.parametrize(
    ("bits", "bias", "specials"),
    [
        ((4, 3), -113, Specials.INF_BELOW_NAN),  # 2**127 is one of its numbers
        ((4, 3), -112, Specials.NONE),
        ((3, 0), -119, Specials.NONE),
        ((3, 2), -300, Specials.IEEE),
    ],
)
def test_formats_up_to_the_end_of_float32(
    bits: tuple[int, int], bias: int, specials: Specials
) -> None:
    """Of numbers that it has itself, a format's codes do not depend on random bits."""
    fmt = ElementFormat("far", *bits, bias, specials)
    codes = np.arange(fmt.max_code + 1, dtype=np.uint8)
    for dtype in (np.float32, np.float64):
        values = mxref.decode(codes, fmt, dtype)
        some = np.isfinite(values)
        found = mxref.encode(
            values[some], fmt, rounding="stochastic_a", random_bits=255, random_width=8
        )
        assert found.tolist() == codes[some].tolist()
