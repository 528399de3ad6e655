"""Affine quantization: bits written by hand, the slow twin, choices and refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from tables import choices, pattern, rows

from mxref import integer
from mxref.bits import single
from mxref.exact import integer as exact
from mxref.integer import QParams, affine, choose_qparams, dequantize_affine, quantize_affine
from mxref.integer import integer_choices as c

SCALES = [0.013, 0.1, 0.3, 1 / 127, 1 / 255, 1 / 32767, 2.0**-16]
EDGES = [2.0**-126, 2.0**-127, 2.0**-128 + 2.0**-149, 2.0**127, 3.4028234663852886e38]
CHOICES = (c.Scaling, c.ZeroPoint, c.NaN, c.Infinite, c.Int32, c.ScaleType)
NAMES = ("scaling", "zero_point", "nan", "infinite", "int32", "scale_type")
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32]


def f32(*patterns: int) -> np.ndarray:
    return np.array(patterns, np.uint32).view(np.float32)


def bits(x: Any) -> list[str]:
    return [f"{int(pattern):08x}" for pattern in np.asarray(x, np.float32).reshape(-1).view("u4")]


def double(scale: float) -> int:
    return int(np.float64(scale).view(np.uint64))


def policies(dtype: Any) -> list[dict[str, str]]:
    """Every combination of choices that a call with this dtype reads."""
    found = []
    for members in itertools.product(*CHOICES):
        policy = {name: member.value for name, member in zip(NAMES, members, strict=True)}
        divides = policy["scaling"] == "divide"
        divides &= policy["scale_type"] == "float64" or policy["zero_point"] == "fused"
        unread = policy["int32"] == "wrap" and dtype != np.int32
        beyond = dtype == np.int32 or policy["zero_point"] != "after"
        beyond = beyond and "int32_min" in (policy["nan"], policy["infinite"])
        if policy["nan"] != "error" and not (divides or unread or beyond):
            found.append(policy)
    return found


def midpoints(scale: float, zero_point: int, codes: np.ndarray) -> np.ndarray:
    """Every number halfway between two codes, as float32, and its neighbours."""
    middle = ((codes + 0.5 - zero_point) * np.float64(np.float32(scale))).astype(np.float32)
    around = [np.nextafter(middle, np.float32(s * np.inf)) for s in (-1, 1)]
    return np.concatenate([middle, *around])


def check(x: np.ndarray, qparams: QParams, **policy: str) -> None:
    """The fast path gives what the slow twin gives."""
    defaults = {name: next(iter(kind)).value for name, kind in zip(NAMES, CHOICES, strict=True)}
    members = list((defaults | policy).values())
    width = 8 * np.dtype(qparams.dtype).itemsize
    ends = int(qparams.zero_point), qparams.quant_min, qparams.quant_max, width
    patterns, scale = x.view(np.uint32).tolist(), double(float(qparams.scale))
    want = [exact.quantize_affine(one, scale, *ends, members) for one in patterns]
    got = quantize_affine(x, qparams, **policy).tolist()
    wrong = [(bits(x[i]), got[i], want[i]) for i in range(len(x)) if got[i] != want[i]]
    assert wrong == [], (qparams, policy)


# --- bits that tell the choices apart -------------------------------------------------------------


def by_hand(*clauses: str) -> Any:
    """What the table has of clauses."""
    found = [row for one in clauses for row in rows("integer", "quantized", one)]
    return pytest.mark.parametrize("row", found)


def check_codes(qparams: str, numbers: str, chosen: str, want: str) -> None:
    name, scale, zero_point, low, high = qparams.split()
    ends = np.iinfo(name).min if low == "-" else low, np.iinfo(name).max if high == "-" else high
    factor = f32(int(scale, 16))[0] if "x" in scale else float(scale)
    whole = QParams(factor, int(zero_point), *map(int, ends), np.dtype(name))
    x = f32(*(pattern(word, "f32") for word in numbers.split()))
    (named,) = choices(chosen)
    assert quantize_affine(x, whole, **named).tolist() == [int(code) for code in want.split()]


@by_hand("Q3")
def test_q3_the_zero_point_before_or_after_rounding(row: list[str]) -> None:
    check_codes(*row)


@by_hand("Q5")
def test_q5_the_code_of_what_no_integer_holds(row: list[str]) -> None:
    check_codes(*row)


@by_hand("Q6")
def test_q6_int32_wraps_or_saturates(row: list[str]) -> None:
    check_codes(*row)


@by_hand("Q2", "Q4", "Q7", "Q8")
def test_q2_q4_q7_q8_reciprocals_nan_normalised_integers_and_ties(row: list[str]) -> None:
    check_codes(*row)


def test_q2_half_of_the_midpoints_of_one_scale_tell() -> None:
    codes = np.arange(-128, 127)
    x = midpoints(0.013, 0, codes)[:255]
    quotient = quantize_affine(x, QParams(0.013), scaling="divide")
    assert np.count_nonzero(quantize_affine(x, QParams(0.013)) != quotient) == 49


def test_q2_the_reciprocal_of_a_float64() -> None:
    assert affine._reciprocal(0.013) == 1 / 0.013


def test_q4_a_nan_may_be_an_error() -> None:
    with pytest.raises(ValueError, match=r"values must have no NaN with nan=error"):
        quantize_affine(f32(0x7FC00000), QParams(1.0), nan="error")


def test_q7_normalised_integers() -> None:
    assert (bits(integer.SNORM8.scale), bits(integer.SNORM16.scale)) == (["3c010204"], ["38000100"])
    for snorm, top in ((integer.SNORM8, 127), (integer.SNORM16, 32767)):
        assert 1 / np.float32(snorm.scale) == top
        assert (snorm.quant_min, snorm.quant_max, snorm.zero_point) == (-top, top, 0)
        codes = np.arange(-top, top + 1).astype(snorm.dtype)
        numbers = dequantize_affine(codes, snorm)
        assert numbers[[0, -1]].tolist() == [-1, 1]
        inexact = np.count_nonzero(numbers != codes.astype(np.float32) / np.float32(top))
        assert inexact == {127: 16, 32767: 1536}[top]
        assert np.array_equal(quantize_affine(numbers, snorm), codes)
    assert bits(dequantize_affine(np.int8([-128, -72]), integer.SNORM8)) == ["bf810204", "bf112244"]
    assert bits(np.float32(-72) / np.float32(127)) == ["bf112245"]


def test_q7_the_identity_of_codes() -> None:
    drawn = np.random.default_rng(7)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16):
        info = np.iinfo(dtype)
        codes = np.arange(info.min, info.max + 1).astype(dtype)
        scales = [*(2.0 ** drawn.uniform(-120, 100, 12)), *SCALES, *EDGES[:3]]
        for scale in scales:
            zero_point = int(drawn.integers(info.min, info.max + 1))
            qparams = QParams(scale, zero_point, info.min, info.max, dtype)
            back = quantize_affine(dequantize_affine(codes, qparams), qparams)
            assert np.array_equal(back, codes), (dtype, scale, zero_point)
    wide = QParams(0.1, 0, -(2**31), 2**31 - 1, np.int32)
    far = dequantize_affine(np.int32([16777217, 65535, -65535]), wide)
    assert quantize_affine(far, wide).tolist() == [16777216, 65535, -65535]
    # Beyond float32 a code comes back as an infinity does.
    largest = QParams(EDGES[-1])
    with np.errstate(all="raise"):
        numbers = dequantize_affine(np.int8([1, 2]), largest)
    assert bits(numbers) == ["7f7fffff", "7f800000"]


# --- the slow twin --------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("scale", [*SCALES, 1.0, 3.0])
def test_q1_midpoints_are_those_of_the_twin(scale: float) -> None:
    codes = np.arange(-130, 130)
    for zero_point, policy in itertools.product((0, 1, -7), policies(np.int8)):
        if policy["nan"] == "zero" and policy["infinite"] == "saturate":
            x = midpoints(scale, zero_point, codes)
            check(x[:: 3 if zero_point == 1 else 11], QParams(scale, zero_point), **policy)


def specials(dtype: Any) -> np.ndarray:
    ends = [2.0**k for k in (8, 15, 16, 24, 31, 32, 62, 63, 64, 127)] + [2.0**31 - 128]
    top = float(np.iinfo(dtype).max)
    at_ends = np.float32([*ends, top, top + 0.5, top + 1, 0.5, 1.5, 2.5, 0.0])
    around = [np.nextafter(at_ends, np.float32(s)) for s in (np.inf, -np.inf)]
    positive = np.concatenate([at_ends, *around, f32(0x7F800000, 0x7FC00000, 1, 0x7F7FFFFF)])
    return np.concatenate([positive, -positive])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", TYPES)
def test_special_numbers_are_those_of_the_twin(dtype: Any) -> None:
    info, x = np.iinfo(dtype), specials(dtype)
    zero_points = itertools.cycle((0, info.min, 3, info.max, max(-7, info.min)))
    for policy, zero_point in zip(policies(dtype), zero_points, strict=False):
        check(x, QParams(1.0, zero_point, info.min, info.max, dtype), **policy)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", TYPES)
def test_random_patterns_are_those_of_the_twin(dtype: Any) -> None:
    drawn, info = np.random.default_rng(8), np.iinfo(dtype)
    for scale in [*SCALES, *EDGES]:
        for policy in policies(dtype)[::9]:
            x = drawn.integers(0, 1 << 32, 24, np.uint32).view(np.float32)
            with np.errstate(over="ignore"):
                near = np.float32(drawn.normal(size=24) * 2.0 ** drawn.integers(0, 9) * scale)
            zero_point = int(drawn.integers(info.min, info.max + 1))
            qparams = QParams(scale, zero_point, info.min, info.max, dtype)
            check(np.concatenate([x, near]), qparams, **policy)


def test_codes_are_read_as_the_twin_reads_them() -> None:
    every = [np.arange(np.iinfo(d).min, np.iinfo(d).max + 1).astype(d) for d in TYPES[:3:2]]
    wide = np.int32([0, 1, -1, 2**31 - 1, -(2**31), 16777217, -16777219, 33554435])
    for codes, scale in itertools.product((*every, wide), (0.013, 1 / 127, 2.0**-127, 2.0**120)):
        info = np.iinfo(codes.dtype)
        some = codes[:: 1 if len(codes) < 300 else 61]
        for zero_point in (0, info.min, info.max, 3):
            qparams = QParams(scale, zero_point, info.min, info.max, codes.dtype)
            want = [exact.dequantize_affine(q, double(scale), zero_point) for q in some.tolist()]
            assert dequantize_affine(some, qparams).view(np.uint32).tolist() == want


def test_other_modes_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = np.random.default_rng(9)
    x = drawn.integers(0, 1 << 32, 1 << 12, np.uint32).view(np.float32)
    x = np.concatenate([x, np.float32(drawn.normal(size=1 << 12))])
    results = []
    for arithmetic in (single.NATIVE, single.CAREFUL):
        monkeypatch.setattr(affine, "single", lambda arithmetic=arithmetic: arithmetic)
        for dtype, scale in itertools.product(TYPES, (0.013, 2.0**-127, 2.0**100)):
            info = np.iinfo(dtype)
            qparams = QParams(scale, 3, info.min, info.max, dtype)
            for policy in policies(dtype)[::5]:
                codes = quantize_affine(x, qparams, **policy)
                results += [codes, dequantize_affine(codes, qparams)]
    half = len(results) // 2
    for one, other in zip(results[:half], results[half:], strict=True):
        assert one.tobytes() == other.tobytes()


# --- choosing parameters --------------------------------------------------------------------------


def test_q8_symmetric_scales() -> None:
    low, high = np.float32([[-0.4, -0.7], [0.1, 0]])
    vulkan = choose_qparams(low, high, -8, 7, axis=0, symmetric=True)
    assert bits(vulkan.scale) == bits(np.float32([0.4, 0.7]) / np.float32(7.5))
    assert vulkan.zero_point.tolist() == 0
    eight = choose_qparams(np.float32(-3), np.float32(2), symmetric=True)
    assert bits(eight.scale) == bits(np.float32(3) / np.float32(127.5))
    arm = choose_qparams(np.float32(-3), np.float32(2), -127, 127, symmetric=True, eps=2.0**-16)
    assert bits(arm.scale) == bits(np.float32(3) / np.float32(127))
    affine_ = choose_qparams(np.float32(-1), np.float32(2))
    assert (bits(affine_.scale), affine_.zero_point.tolist()) == (bits(np.float32(3 / 255)), -43)
    # The largest magnitude itself meets a tie.
    three = choose_qparams(np.float32(-3), np.float32(3), -8, 7, symmetric=True)
    assert bits(three.scale) == ["3ecccccd"]
    ends = np.float32([0, 1])
    zeros = choose_qparams(ends, ends, axis=0, symmetric=True, eps=2.0**-16)
    assert zeros.scale[0] == 2.0**-16


def test_q8_parameters_are_those_of_the_twin() -> None:
    drawn = np.random.default_rng(13)
    low, high = np.sort(
        np.float32(drawn.normal(size=(2, 400)) * 2.0 ** drawn.integers(-30, 30, 400)), 0
    )
    eps = np.float32(2.0**-23).view(np.uint32)
    for symmetric, (least, most, dtype) in itertools.product(
        (False, True),
        ((-128, 127, np.int8), (-8, 7, np.int8), (-127, 127, np.int8), (-32768, 32767, np.int16)),
    ):
        got = choose_qparams(low, high, least, most, dtype, 0, symmetric=symmetric)
        zeros = np.broadcast_to(got.zero_point, 400).tolist()
        for i in range(400):
            patterns = (int(low[i].view(np.uint32)), int(high[i].view(np.uint32)))
            want = exact.choose_qparams(*patterns, least, most, int(eps), symmetric=symmetric)
            assert (int(np.float32(got.scale[i]).view(np.uint32)), zeros[i]) == want
