"""Scales: hand values, and every power of two with its neighbours in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tables
from helpers import QUIET_NAN, ROUNDINGS, SMALL_FLOATS, SOURCES, WIDTH, sentence

import mxref
from mxref import exact
from mxref.bits.floats import F64
from mxref.formats.catalog import E4M3, INT8, ElementFormat
from mxref.numbers.scale_steps import FLUSHED, NAN_BLOCK, scale_codes
from mxref.policy.choices import Overflow
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule

P = 2.0  # P**n is an exact power of two


def floats(bits: list[int], source: str) -> np.ndarray:
    return np.array(bits, f"u{WIDTH[source] // 8}").view(SOURCES[source])


def bits_of(values: np.ndarray) -> list[int]:
    bits: list[int] = values.view(f"u{values.dtype.itemsize}").ravel().tolist()
    return bits


@pytest.mark.parametrize(
    ("format", "choices", "numbers", "codes"), tables.rows("numbers", "scales")
)
def test_codes_by_hand(format: str, choices: str, numbers: str, codes: str) -> None:
    """Of float64, and of each other float type that holds the numbers."""
    policy = f"ocp+{choices}" if choices else "ocp"
    values = np.array(tables.numbers(numbers))
    for dtype in SOURCES.values():
        with np.errstate(all="ignore"):
            narrow = values.astype(dtype)
        if np.array_equal(narrow.astype(np.float64), values, equal_nan=True):
            if format == "e8m0":
                found = mxref.encode_scale(narrow, policy)
            else:
                found = mxref.shared_scale(narrow, format, policy=policy)
            assert found.tolist() == tables.codes(codes)


# encode_scale


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_encode_scale_of_integers(kind: str) -> None:
    limits = np.iinfo(kind)
    ends = {limits.min, limits.max} | {s * 2**b for b in range(64) for s in (1, -1)}
    near = {n + step for n in ends | {0, 3} for step in (-1, 0, 1)}
    numbers = sorted(n for n in near if limits.min <= n <= limits.max)
    for byte_order in "<>":
        values = np.array(numbers, byte_order + kind)
        before = values.tobytes()
        down = [127 + abs(n).bit_length() - 1 if n else 0 for n in numbers]
        assert mxref.encode_scale(values).tolist() == down
        up = [127 + (abs(n) - 1).bit_length() if n else 0 for n in numbers]
        assert mxref.encode_scale(values, scale_rounding="toward_positive").tolist() == up
        assert values.tobytes() == before
    for n, code in zip(numbers, down, strict=True):
        scalar = mxref.encode_scale(values.dtype.newbyteorder("=").type(n))
        assert (scalar.shape, scalar.dtype, int(scalar)) == ((), np.uint8, code)


@pytest.mark.parametrize("k", [52, 53, 54, 60, 62])
def test_encode_scale_of_an_integer_that_float64_cannot_hold(k: int) -> None:
    tie = 3 << k - 1  # 1.5 * 2**k
    numbers = [2**k - 1, 2**k, 2**k + 1, tie - 1, tie, tie + 1, 2 ** (k + 1) - 1]
    low, high = 127 + k, 128 + k
    for sign in (1, -1):
        x = np.array([sign * n for n in numbers], np.int64)
        for rounding, want in (
            ("toward_zero", [low - 1, low, low, low, low, low, low]),
            ("toward_positive", [low, low, high, high, high, high, high]),
            ("ties_to_zero", [low, low, low, low, low, high, high]),
            ("ties_to_away", [low, low, low, low, high, high, high]),
        ):
            assert mxref.encode_scale(x, scale_rounding=rounding).tolist() == want
        # Rounded twice where the policy says so.
        codes = mxref.encode_scale(x, scale_rounding="toward_positive", pre_rounding="float32")
        assert codes.tolist() == [low, low, low, high, high, high, high]
    assert mxref.encode_scale(np.array([2**64 - 1, 2**63 + 1], np.uint64)).tolist() == [190, 190]


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_encode_scale_of_small_floats(name: str) -> None:
    count = {"6": 64, "4": 16}.get(np.dtype(SMALL_FLOATS[name]).name[5], 256)
    small = np.arange(count, dtype=np.uint8).view(SMALL_FLOATS[name])
    wide = small.astype(np.float64)
    for rounding in ROUNDINGS:
        want = mxref.encode_scale(wide, scale_rounding=rounding).tolist()
        assert mxref.encode_scale(small, scale_rounding=rounding).tolist() == want
    scalar = mxref.encode_scale(small[-1])
    assert (scalar.shape, int(scalar)) == ((), int(mxref.encode_scale(wide[-1])))


# decode_scale


@pytest.mark.parametrize("source", ["bf16", "f32", "f64"])
def test_decode_scale_is_exact_and_encode_gives_the_code_back(source: str) -> None:
    values = mxref.decode_scale(np.arange(256), SOURCES[source])
    assert values.dtype == np.dtype(SOURCES[source])
    numbers = [Fraction(x) for x in values[:255].astype(np.float64).tolist()]
    assert numbers == [Fraction(2) ** (code - 127) for code in range(255)]
    assert bits_of(values)[255] == QUIET_NAN[source]
    for rounding in ROUNDINGS:
        codes = mxref.encode_scale(values, scale_rounding=rounding)
        assert codes.tolist() == list(range(256))


# shared_scale


@pytest.mark.parametrize("rule", ScaleRule, ids=lambda rule: rule.value)
def test_int8_with_an_emax_of_one(rule: ScaleRule) -> None:
    """Rules that count from emax give half the scale, those that look at 127/64 the same one."""
    halved = rule.value.startswith(("floor", "ceil", "even")) or rule.value.endswith("_power")
    amax = np.float32([1.0, 1.25, 1.40625, 1.4375, 1.953125, 2.0])
    usual = mxref.shared_scale(amax, "int8", rule)
    found = mxref.shared_scale(amax, "int8", rule, int8_emax="one")
    assert found.tolist() == (usual - halved).tolist()
    bits = amax.view(np.uint32).tolist()
    assert found.tolist() == [
        exact.shared_scale(b, "f32", "int8", rule.value, int8_emax="one") for b in bits
    ]
    assert mxref.shared_scale(amax, "e4m3", rule, int8_emax="one").tolist() == (
        mxref.shared_scale(amax, "e4m3", rule).tolist()
    )


@pytest.mark.parametrize(
    ("choices", "codes", "nan", "flushed"), tables.rows("numbers", "scale_ends")
)
def test_scale_codes_that_make_nan_blocks_and_zeros(
    choices: str, codes: str, nan: str, flushed: str
) -> None:
    amax = np.array([0, P**-149, 1, P**127, P**128]).view(np.uint64)
    (chosen,) = tables.choices(choices)
    found = scale_codes(amax, F64, INT8, Policy().replace(**chosen).scale)
    assert found.codes.tolist() == tables.codes(codes)
    assert found.is_nan.tolist() == [digit == "1" for digit in nan]
    assert found.flushed.tolist() == [digit == "1" for digit in flushed]
    flags = found.is_nan * NAN_BLOCK | found.flushed * FLUSHED
    assert found.words().tolist() == (tables.codes(codes) | flags).tolist()


@pytest.mark.parametrize(
    "fmt",
    [E4M3, ElementFormat("e6m1", 6, 1, 31), ElementFormat("e5m2", 5, 2, 1)],
    ids=lambda fmt: str(fmt.max_normal),
)
def test_the_reciprocal_of_any_largest_number(fmt: ElementFormat) -> None:
    """NumPy's float32 arithmetic is the witness; the largest numbers are 448, 2**33 and others."""
    largest = np.float32(fmt.max_normal)
    near = largest.view(np.uint32) + (np.arange(-8, 9)[:, np.newaxis] << [0, 20]).astype(np.uint32)
    amax = near.view(np.float32)
    scaled, exponent = np.frexp(amax * (np.float32(1) / largest))
    want = exponent - (scaled == 0.5) + 127  # the smallest power of two that is not below it
    assert (mxref.shared_scale(amax, fmt, "rceil_reciprocal") == want).all()


def test_quirks_by_hand() -> None:
    below = np.float32([1023.99994, 1023.9, 1024.0])  # log2 of the first is 10 in float32
    assert mxref.shared_scale(below, "int8", "floor_log2_float32").tolist() == [137, 136, 137]
    assert mxref.shared_scale(below, "int8", "floor_exponent_field").tolist() == [136, 136, 137]
    # float32 makes it 0, whose exponent field is that of 2**-127, and whose logarithm is -inf.
    vanished = np.float64([P**-1000])
    wrapped = {
        rule: mxref.shared_scale(vanished, "e4m3", rule, scale_underflow="wrap").item()
        for rule in ("floor", "floor_exponent_field", "floor_log2_float32", "rceil_reciprocal")
    }
    assert wrapped["floor"] == (-1000 - 8 + 127) % 256
    assert wrapped["floor_exponent_field"] == (-127 - 8 + 127) % 256
    bits = vanished.view(np.uint64).item()
    for rule, code in wrapped.items():
        assert code == exact.shared_scale(bits, "f64", "e4m3", rule, scale_underflow="wrap")
        if rule != "floor":
            nan = mxref.shared_scale(vanished, "e4m3", rule, scale_underflow="nan")
            assert nan.item() == 0xFF
    subnormal = np.float32([P**-140])
    for rule, exponent in (("floor", -142), ("floor_exponent_field", -129)):
        code = mxref.shared_scale(subnormal, "e2m1", rule, scale_underflow="wrap").item()
        assert code == (exponent + 127) % 256
    # 448.0001 is beyond the largest number, but not by enough to show in a product of float32.
    near = np.float32([448.0, 448.00003, 448.0001])
    assert mxref.shared_scale(near, "e4m3", "rceil").tolist() == [127, 128, 128]
    for one in ScaleRule:
        found = mxref.shared_scale(near, "e4m3", one).tolist()
        words = near.view(np.uint32).tolist()
        assert found == [exact.shared_scale(word, "f32", "e4m3", one.value) for word in words]


@pytest.mark.parametrize(
    ("amax", "shown"),
    [
        (np.float32([1.0, -1.0, -2.0]), "-1.0"),
        (np.float16(-2.0), "-2.0"),
        (np.array([-3.0], ml_dtypes.bfloat16), "-3.0"),
        (np.array([[2.0], [-0.5]], ">f4"), "-0.5"),
    ],
    ids=str,
)
def test_a_negative_amax(amax: Any, shown: str) -> None:
    assert sentence(ValueError, lambda: mxref.shared_scale(amax, "e4m3")) == (
        f"amax must not be negative, since it is a largest magnitude: got {shown}"
    )


@pytest.mark.parametrize("rule", [Overflow.SATURATE, Policy()], ids=repr)
def test_what_is_no_rule(rule: Any) -> None:
    text = sentence(ValueError, lambda: mxref.shared_scale([1.0], "e4m3", rule))
    names = ", ".join(member.value for member in ScaleRule)
    if isinstance(rule, Policy):
        assert text == f"rule must be a scale rule, got {rule!r}: pass a policy as policy="
    else:
        assert text == f"scale_rule must be one of {names}, got {rule!r}"
