"""The slow twin: further formats and stochastic roundings against formulas in Fraction, defaults.

The members of every choice stand in tables that test_by_hand.py reads.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from helpers import ROUNDINGS
from tables import choices

from mxref import exact
from mxref.exact import decode, encode, quantize, value

STOCHASTIC = ("stochastic_a", "stochastic_b", "stochastic_c")
OVERFLOWS = ("saturate", "nonsaturating", "nonsaturating_ieee", "propagate")


def f32(number: float) -> int:
    return int.from_bytes(struct.pack("<f", number), "little")


def f64(number: float) -> int:
    return int.from_bytes(struct.pack("<d", number), "little")


# --- formats -----------------------------------------------------------------------------------

# name: bits, sign bits, exponent bits, mantissa bits, bias, NaN codes, Inf codes, maximum
SHAPES: dict[str, tuple[int, int, int, int, int, set[int], set[int], str]] = {
    "e4m3fnuz": (8, 1, 4, 3, 8, {0x80}, set(), "240"),
    "e5m2fnuz": (8, 1, 5, 2, 16, {0x80}, set(), "57344"),
    "e4m3b11fnuz": (8, 1, 4, 3, 11, {0x80}, set(), "30"),
    "e3m4": (8, 1, 3, 4, 3, {*range(0x71, 0x80), *range(0xF1, 0x100)}, {0x70, 0xF0}, "31/2"),
    "e4m3_ieee": (8, 1, 4, 3, 7, {*range(0x79, 0x80), *range(0xF9, 0x100)}, {0x78, 0xF8}, "240"),
    "e1m2": (4, 1, 1, 2, 1, set(), set(), "7/4"),
    "binary8p3": (8, 1, 5, 2, 16, {0x80}, {0x7F, 0xFF}, "49152"),
    "binary8p4": (8, 1, 4, 3, 8, {0x80}, {0x7F, 0xFF}, "224"),
    "ue4m3": (7, 0, 4, 3, 7, {0x7F}, set(), "448"),
    "ue5m3": (8, 0, 5, 3, 15, {0xFF}, set(), "114688"),
    "binary8p1uf": (8, 0, 8, 0, 128, {0xFF}, set(), str(2**126)),
    "binary8p3ue": (8, 0, 6, 2, 32, {0xFF}, {0xFE}, str(5 * 2**29)),
    "binary8p4ue": (8, 0, 5, 3, 16, {0xFF}, {0xFE}, "53248"),
}


def formula(code: int, format: str) -> Fraction:
    _, signs, exponents, m, bias, *_ = SHAPES[format]
    field = code >> m & (1 << exponents) - 1
    fraction = Fraction(code & (1 << m) - 1, 1 << m)
    number = (1 + fraction) * Fraction(2) ** (field - bias)
    if field == 0:
        number = fraction * Fraction(2) ** (1 - bias)
    return -number if signs and code >> exponents + m else number


def float_value(bits: int) -> float:
    number: float = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return number


@pytest.mark.parametrize("format", SHAPES)
def test_every_code_of_the_further_formats(format: str) -> None:
    bits, signs, exponents, m, _, nans, infinities, maximum = SHAPES[format]
    assert bits == signs + exponents + m
    finite = []
    for code in range(2**bits):
        if code in nans | infinities:
            with pytest.raises(ValueError, match="finite"):
                value(code, format)
            sign = 2**63 * (signs and code in infinities and code >> 7)
            special = 0x7FF8000000000000 if code in nans else 0x7FF0000000000000
            assert decode(code, format, "f64") == special + sign
        else:
            assert value(code, format) == formula(code, format)
            assert Fraction(float_value(decode(code, format, "f64"))) == formula(code, format)
            finite.append(value(code, format))
    assert max(finite) == Fraction(maximum)
    assert min(finite) == (-Fraction(maximum) if signs else 0)
    minus_zero = 0x8000000000000000 if format in ("e3m4", "e4m3_ieee", "e1m2") else None
    assert (decode(1 << bits - 1, format, "f64") == minus_zero) == (minus_zero is not None)
    with pytest.raises(ValueError, match="code must be"):
        value(2**bits, format)


@pytest.mark.parametrize("format", SHAPES)
def test_decode_then_encode_of_the_further_formats(format: str) -> None:
    bits, signs, *_, nans, infinities, _ = SHAPES[format]
    top_nan = {"e3m4": 0x7F, "e4m3_ieee": 0x7F}.get(format, 0x80 if signs else 2**bits - 1)
    for code in range(2**bits):
        back = encode(decode(code, format, "f64"), "f64", format, "to_odd", "nonsaturating")
        assert back == (top_nan if code in nans else code)
        direct = encode(code, format, format, "to_odd", "nonsaturating")
        assert direct == back
        if not signs and code not in nans:
            minus = decode(code, format, "f64") + 2**63
            kept = encode(minus, "f64", format, "toward_negative", "propagate")
            assert kept == code, code in infinities


@pytest.mark.parametrize("format", SHAPES)
def test_rounding_into_the_further_formats(format: str) -> None:
    """Halfway and a third of the way between neighbours, the virtual one above the maximum too."""
    bits, signs, *_, nans, infinities, _ = SHAPES[format]
    codes = [c for c in range(2 ** (bits - signs)) if c not in nans | infinities]
    numbers = [formula(c, format) for c in codes]
    after = 2 * numbers[-1] - numbers[-2]
    for code, (low, high) in zip(codes, itertools.pairwise([*numbers, after]), strict=True):
        up = min(code + 1, codes[-1])
        middle = f64(float((low + high) / 2))
        third = f64(float(low + (high - low) / 4))
        even, odd = (code, up) if code % 2 == 0 else (up, code)
        want = [even, up, code, code, up, code, odd]
        assert [encode(middle, "f64", format, r) for r in ROUNDINGS] == want
        want = [code, code, code, code, up, code, odd]
        assert [encode(third, "f64", format, r) for r in ROUNDINGS] == want


@pytest.mark.parametrize("format", ["e4m3fnuz", "e5m2fnuz", "e3m4", "e4m3_ieee", "e1m2"])
def test_blocks_of_the_further_formats(format: str) -> None:
    block = [f32(1.0), f32(-0.5)]
    scale, codes = quantize(block, "f32", format)
    assert [exact.dequantize(scale, code, format) for code in codes] == block


# --- stochastic rounding -------------------------------------------------------------------------


def share_by_definition(nu: Fraction, width: int, rounding: str) -> Fraction:
    """Return the share of round-ups over all random bits, by P3109's three definitions."""
    scaled = nu * 2**width
    count = {
        "stochastic_a": scaled.__floor__(),
        "stochastic_b": (scaled + Fraction(1, 2)).__floor__(),
        "stochastic_c": round(scaled),  # of a Fraction, ties to even
    }[rounding]
    return Fraction(count, 2**width)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rounding", STOCHASTIC)
@pytest.mark.parametrize("format", ["e2m1", "e4m3", "e5m2fnuz", "int8"])
def test_share_of_round_ups(format: str, rounding: str) -> None:
    codes = {"e2m1": range(8), "e4m3": range(0x7F), "e5m2fnuz": range(0x80), "int8": range(0x80)}
    tested = [c for c in codes[format][:-1] if c < 12 or c % 17 == 0]
    moved = 0
    for code in tested:
        low, high = value(code, format), value(code + 1, format)
        for part in (0, 1, 4, 8, 12, 20, 24, 31, 32, 33, 40, 63):
            number = low + (high - low) * Fraction(part, 64)
            for sign in (0, 1):
                x_bits = f64(float(number)) + (sign << 63)
                down, up = (
                    encode(decode(c, format, "f64") + (sign << 63), "f64", format)
                    for c in (code, code + 1)
                )
                for width in range(1, 7):
                    got = [
                        encode(x_bits, "f64", format, rounding, random_bits=r, random_width=width)
                        for r in range(2**width)
                    ]
                    assert got == sorted(got, key=[down, up].index)  # more bits, more round-ups
                    share = Fraction(got.count(up), 2**width) if up != down else Fraction(0)
                    assert share == share_by_definition(Fraction(part, 64), width, rounding)
                    moved += share != 0
    assert moved > len(tested)


@pytest.mark.parametrize("rounding", STOCHASTIC)
def test_exact_numbers_never_move(rounding: str) -> None:
    for code in range(0x7F):
        x_bits = decode(code, "e4m3", "f32")
        for width in (1, 5, 32):
            for r in (0, 2**width - 1):
                drawn = {"random_bits": r, "random_width": width}
                assert encode(x_bits, "f32", "e4m3", rounding, **drawn) == code


def test_stochastic_a_without_bits_is_truncation() -> None:
    for bits in range(0, 2**16, 7):
        for overflow in OVERFLOWS:
            got = encode(bits, "f16", "e4m3", "stochastic_a", overflow, random_width=8)
            want = encode(bits, "f16", "e4m3", "toward_zero", overflow)
            # IEEE overflow stops at the maximum for toward_zero, a direction to zero.
            if overflow == "nonsaturating_ieee":
                want = encode(bits, "f16", "e4m3", "toward_zero", "nonsaturating")
            assert got == want


def test_stochastic_blocks_take_one_draw_for_each_number() -> None:
    block = [f32(4.0), f32(5.0), f32(-5.0), f32(5.0)]
    got = quantize(block, "f32", "e2m1", "stochastic_a", random_bits=[3, 1, 2, 3], random_width=2)
    assert got == (127, [6, 6, 15, 7])
    for draws, message in (
        (None, "random_bits must be as many"),
        ([0] * 3, "random_bits must be as many"),
        ([0, 0, 0, 4], "random_bits must be .* 0x3; got 4"),
    ):
        with pytest.raises(ValueError, match=message):
            quantize(block, "f32", "e2m1", "stochastic_b", random_bits=draws, random_width=2)


# --- the defaults, and refusals ------------------------------------------------------------------

(ELEMENTS,) = choices(
    "clamp=after_rounding nan=positive nan_to_finite=max zero_sign=kept underflow_sign=kept "
    "subnormal_inputs=kept int8_range=symmetric pre_rounding=none"
)
(SCALES,) = choices(
    "zero_block=code_00 scale_overflow=clamp scale_underflow=clamp amax_type=source"
)
BLOCKS = {**ELEMENTS, **SCALES, "block_nan": "nan_block", "block_inf": "nan_block"}
(CASTS,) = choices(
    "scale_overflow=clamp scale_of_zero=code_00 scale_of_negative=magnitude scale_of_inf=nan "
    "tiny_scale=exact pre_rounding=none"
)
(DECODED,) = choices("scale_00=power scale_ff=nan")
(PRODUCTS,) = choices("product_overflow=inf product_rounding=once decoded_zero=kept")
PRODUCTS |= DECODED
E8M0_INPUTS = [0, 1 << 31, 0xBF800000, 1, 0x400000, 0x600000, 0x7F400000, 0x7F800000, 0x7FC00000]

Calls = list[tuple[Callable[..., object], dict[str, Any]]]


def calls(x: int, code: int) -> Calls:
    """Every operation on a pattern or a code, with the defaults of its choices."""
    found: Calls = [
        (partial(exact.encode_scale, x, "f32"), CASTS),
        (partial(exact.decode_scale, code), DECODED),
        (partial(decode, code, "e5m2"), {"decoded_zero": "kept"}),
    ]
    for element in (0x00, 0x80, 0x7C, 0x7B):
        found.append((partial(exact.dequantize, code, element, "e5m2", "f16"), PRODUCTS))
    for format in ("e4m3", "e5m2", "e2m1", "int8"):
        for overflow in OVERFLOWS:
            found.append((partial(encode, x, "f32", format, overflow=overflow), ELEMENTS))
        found.append((partial(quantize, [x, f32(2.0**-127)], "f32", format), BLOCKS))
        found.append((partial(exact.shared_scale, x, "f32", format, "rceil"), SCALES))
    return found


def test_defaults_said_or_left_out() -> None:
    numbers = (*E8M0_INPUTS, f32(449.0), f32(-449.0), f32(1e30), f32(-2.0))
    for x, code in itertools.product(numbers, (0x00, 0x01, 0x8F, 0xFE, 0xFF)):
        for call, defaults in calls(x, code):
            assert call(**defaults) == call()


@pytest.mark.parametrize(("call", "defaults"), calls(0, 0), ids=map(str, range(len(calls(0, 0)))))
def test_unknown_members_and_names_are_refused(
    call: Callable[..., object], defaults: dict[str, str]
) -> None:
    for name, member in defaults.items():
        with pytest.raises(ValueError, match=f"^{name} must be one of .*{member}.*; got 'no'$"):
            call(**{name: "no"})
    with pytest.raises(TypeError, match="'clump' is not a choice here"):
        call(clump="after_rounding")
