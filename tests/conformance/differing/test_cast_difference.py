"""What two profiles do differently in casts, on pairs whose difference is known by hand."""

from __future__ import annotations

import collections
import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence

from mxref import exact
from mxref.bits.floats import BF16
from mxref.conformance.differing.cast_difference import (
    FORMATS,
    KINDS,
    CastDifference,
    cast_difference,
)
from mxref.golden.explain_number import fraction
from mxref.profiles import PROFILES

FFFF = 1 << 16


def of(one: CastDifference) -> dict[str, int]:
    return {example.kind: example.count for example in one.examples}


@pytest.mark.parametrize(
    ("policy", "format", "expected"),
    [
        ("ocp", "e2m1", {}),
        ("ocp+block_nan=ignore", "e4m3", {}),  # of blocks
        # 1/4, 5/4, 5/2 and 5 go to the even code, which is the lower one; of both signs.
        ("ocp+rounding=ties_to_away", "e2m1", {"tie": 8}),
        ("ocp+zero_sign=dropped", "e2m1", {"zero": 1}),
        ("ocp+nan_to_finite=error", "e2m1", {"NaN": 254}),
        # 464 is midway to the next number and goes to the even code; then comes 466.
        ("ocp+overflow=nonsaturating", "e4m3", {"infinity": 2, "beyond": 2 * (0x7F80 - 0x43E9)}),
        ("ocp+scale_of_inf=largest", "e8m0", {"infinity": 2}),
        ("ocp+scale_of_zero=nan", "e8m0", {"zero": 2}),
        (
            "ocp+scale_of_negative=code_00",
            "e8m0",
            {"negative": 0x7F80 - 0x80, "infinity": 1, "NaN": 127},
        ),
        # The upper half of 253 binades and of the subnormal numbers from 2**-127.
        ("ocp+scale_rounding=ties_to_away", "e8m0", {"tie": 508, "number": 2 * (253 * 63 + 31)}),
    ],
)
def test_kinds(policy: str, format: str, expected: dict[str, int]) -> None:
    one = cast_difference("ocp", policy, format, float="bf16")
    assert one.tried == FFFF
    assert of(one) == expected
    assert one.found == bool(expected)


@pytest.mark.sampled(3)
def test_kinds_are_those_of_the_slow_twin() -> None:
    """Every bfloat16 whose codes differ in the twin, classed by fractions."""
    policy = "ocp+rounding=toward_positive+overflow=nonsaturating+underflow_sign=dropped"
    choices = dict(one.split("=") for one in policy.split("+")[1:])
    encoders = exact.encoder("bf16", "e4m3"), exact.encoder("bf16", "e4m3", **choices)
    numbers = sorted(Fraction(float(v)) for v in exact_values())
    smallest, middles = (
        numbers[1],
        {(a + b) / 2 for a, b in itertools.pairwise(numbers)},
    )
    middles.add(Fraction(464))  # to the next number of the same spacing
    wanted: collections.Counter[str] = collections.Counter()
    for bits in range(FFFF):
        codes = [encode(bits, 0, 0) for encode in encoders]
        if codes[0] == codes[1] or all(code & 0x7F == 0x7F for code in codes):
            continue
        x = fraction(bits, BF16)
        kind = "NaN" if bits & 0x7FFF > 0x7F80 else "infinity"
        if x is not None:
            tests = {
                "zero": x == 0,
                "beyond": abs(x) > 448,
                "tie": abs(x) in middles,
                "tiny": abs(x) < smallest,
                "number": True,
            }
            kind = next(name for name, true in tests.items() if true)
        wanted[kind] += 1
    assert len(wanted) == 5
    assert of(cast_difference("ocp", policy, "e4m3", float="bf16")) == wanted


def exact_values() -> list[float]:
    return np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(float).tolist()


@pytest.mark.sampled(3)
def test_torch_and_cuda_in_e8m0() -> None:
    one = cast_difference("torch", "cuda", "e8m0")
    infinity, beyond, number = one.examples
    # torch gives the nearest power of two, and NaN beyond them; CUDA the next one above.
    assert (infinity.kind, infinity.codes) == ("infinity", (0xFF, 0xFE))
    assert (beyond.kind, beyond.word, beyond.codes) == ("beyond", 0x7F400000, (0xFF, 0xFE))
    assert (number.kind, number.word, number.codes) == ("number", 0x3FA00000, (0x7F, 0x80))
    assert number.own == number.other == (0x3F800000, 0x40000000)
    assert not one.readings
    for figures in one.figures:  # significands below 3/2, but for 1, are half of the uniform ones
        assert figures.other_value == figures.other_code
    assert one.figures[1].other_code == pytest.approx(0.5, abs=0.01)


def test_torch_before_and_after_it_saturated() -> None:
    one = cast_difference("torch_2_12", "torch", "e4m3", float="bf16")
    assert [(some.kind, some.word, some.codes) for some in one.examples] == [
        ("infinity", 0x7F80, (0x7F, 0x7E)),
        ("beyond", 0x4400, (0x7F, 0x7E)),
    ]
    assert [some.other_code > 0.2 for some in one.figures] == [False, True]


def test_reading() -> None:
    one = cast_difference("mlx_0_31", "mlx_0_32", "e4m3", float="bf16")
    (nan,) = one.readings  # 480, the next number, in 0.31
    assert (nan.kind, nan.count, nan.code, nan.a, nan.b) == (
        "NaN code", 2, 0x7F, 0x43F00000, 0x7FC00000,
    )  # fmt: skip
    assert not one.examples
    assert one.found
    (ff,) = cast_difference("ocp", "ocp+scale_ff=inf", "e8m0", float="bf16").readings
    assert (ff.kind, ff.code, ff.b) == ("NaN code", 0xFF, 0x7F800000)


def test_what_one_of_them_lacks() -> None:
    one = cast_difference("ocp", "onnx_nosat", "e4m3", float="bf16")
    assert one.notes == ("onnx_nosat does not read e4m3: its codes are read as ocp reads them",)
    assert of(one).keys() == {"infinity", "beyond"}
    one = cast_difference("ocp", "onnx_down", "e8m0", float="bf16")
    assert one.notes == ("onnx_down does not read e8m0: its codes are read as ocp reads them",)


def test_own_data_and_what_is_refused() -> None:
    x = np.float64([[1.0, 500.0], [-3.0, 1e300]])
    one = cast_difference("torch", "torch_2_12", "e4m3", float="bf16", data={"x": x})
    assert (one.figures[-1].numbers, one.figures[-1].other_code) == (4, 0.5)
    text = sentence(ValueError, lambda: cast_difference("torch", "cuda", "e5m2"))
    assert "torch no encode" in text
    refused = {"x": np.float32([1.0, np.nan])}
    text = sentence(
        ValueError, lambda: cast_difference("gfloat", "ocp", "e2m1", float="bf16", data=refused)
    )
    assert "x must hold numbers that gfloat casts, got nan" in text


@pytest.mark.sampled(14)
@pytest.mark.parametrize("format", FORMATS)
def test_every_profile_beside_ocp(format: str) -> None:
    op = "encode_scale" if format == "e8m0" else "encode"
    for name, profile in PROFILES.items():
        if not profile.speaks_of(op, format):
            continue
        one = cast_difference("ocp", name, format, float=_sixteen(profile.floats))
        assert {*of(one)} <= {*KINDS}
        for some in one.examples:
            assert some.codes[0] != some.codes[1]


def _sixteen(floats: tuple[str, ...] | None) -> str | None:
    return next((name for name in ("bf16", "f16") if name in (floats or ("bf16",))), None)
