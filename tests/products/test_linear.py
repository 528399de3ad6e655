"""Linear layers and their gradients equal the slow twin, bit by bit, under every choice.

Rows and columns of all operands are scaled by powers of two, so that an operand quantized along
another axis has other numbers; those of FP8 change for normal data under RCEIL hardly ever.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import ELEMENT, SOURCES
from layer_operands import operands, words
from tables import choices

import mxref
from mxref.bits.floats import F16
from mxref.exact import linear as twin
from mxref.policy.policy import READS
from mxref.products.intervals import Bounds
from mxref.products.linear import bounds_with_bias, with_bias

FORMATS = tuple(ELEMENT)
CHOICES = choices("weight_axis=in,out activations=quantized,kept")
BACKWARD = [{}, {"gradient_rows": "sequences"}, {"backward_operands": "reused"}]
#: Leading axes of x, K and N.
SHAPES = [((5,), 40, 3), ((2, 20), 33, 5), ((2, 1, 3), 31, 34), ((), 70, 2), ((4,), 64, 1)]


def twin_choices(choices: dict[str, Any]) -> dict[str, Any]:
    """Choices as the slow twin spells them; it has no tail."""
    named = {**choices}
    if "scale_rule" in named:
        named["rule"] = named.pop("scale_rule")
    named.pop("tail", None)
    return named


def check_output(
    x: Any, w: Any, bias: Any, fmt: str, source: str = "f32", target: str = "f32", **choices: Any
) -> None:
    got = mxref.linear(x, w, fmt, bias=bias, dtype=SOURCES[target], **choices)
    assert got.shape == (*x.shape[:-1], len(w))
    assert got.dtype == SOURCES[target]
    added = None if bias is None else words(bias)[0]
    element = ELEMENT[fmt]
    expected = twin.linear(
        words(x), words(w), source, element, target, bias=added, **twin_choices(choices)
    )
    assert words(got) == expected


def check_gradients(
    x: Any, w: Any, grad: Any, fmt: str, source: str = "f32", target: str = "f32", **choices: Any
) -> None:
    dtype = SOURCES[target]
    got = mxref.linear_gradients(x, w, grad, fmt, dtype=dtype, **choices)
    assert [one.shape for one in got] == [x.shape, w.shape, (len(w),)]
    assert {one.dtype for one in got} == {np.dtype(dtype)}
    choices = twin_choices(choices)
    sequence = x.shape[-2] if choices.pop("gradient_rows", None) == "sequences" else None
    *expected, sums = twin.linear_gradients(
        *map(words, (x, w, grad)), source, ELEMENT[fmt], target, sequence=sequence, **choices
    )
    assert [*map(words, got)] == [*expected, [sums]]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_n44_every_choice_equals_the_slow_twin(fmt: str, number: int) -> None:
    lead, k, n = SHAPES[number]
    x, w, grad, bias = operands(number, lead, k, n, spread=20 if fmt == "mxfp8_e5m2" else 9)
    for way in CHOICES:
        check_output(x, w, bias, fmt, **way)
    for way in BACKWARD:
        if "gradient_rows" not in way or len(lead) > 1:
            check_gradients(x, w, grad, fmt, **way)


@pytest.mark.parametrize(("source", "target"), [*itertools.product(SOURCES, repeat=2)])
def test_float_types_in_and_out(source: str, target: str) -> None:
    x, w, grad, bias = operands(7, (3,), 34, 2, source, 3)
    check_output(x, w, bias, "mxfp8_e4m3", source, target)
    check_output(x, w, bias, "mxint8", source, target, activations="kept", weight_axis="out")
    check_gradients(x, w, grad, "mxfp6_e3m2", source, target)


POLICIES: list[dict[str, Any]] = [
    {"scale_rule": "rceil"},
    {"scale_rule": "even", "rounding": "ties_to_away"},
    {"rounding": "to_odd", "underflow_sign": "dropped"},
    {"pre_rounding": "bfloat16", "subnormal_inputs": "flushed"},
    {"block_nan": "ignore", "nan": "signed"},
    {"block_inf": "ignore", "overflow": "nonsaturating"},
    {"block_inf": "largest_scale", "zero_block": "nan", "nan_block_codes": "ones"},
    {"scale_underflow": "flush", "scaling": "reciprocal_flushed"},
    {"tail": "short"},
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_policies_and_special_values(policy: dict[str, Any]) -> None:
    x, w, grad, bias = operands(8, (2, 5), 34, 6)
    for array in (x, w, grad):
        array.reshape(-1)[[0, 40]] = np.inf, -np.inf
        array[-1, ..., 0] = np.nan
        array[0, ..., 1:3] = 0.0
        array[..., -1] *= np.float32(2.0**-135)  # a row of subnormal numbers
    x[0, 0, :32], w[0, :32], grad[1, :, 1] = 0.0, 0.0, 0.0  # whole blocks
    bias[:2] = np.inf, np.nan
    for fmt in ("mxfp8_e5m2", "mxfp8_e4m3"):
        for way in CHOICES:
            check_output(x, w, bias, fmt, **policy, **way)
        for way in BACKWARD:
            check_gradients(x, w, grad, fmt, **policy, **way)


def numbers(values: Any, axis: int) -> Any:
    return mxref.quantize(values, "mxfp8_e4m3", axis=axis).dequantize()


def added(a: Any, b: Any, lengths: list[int]) -> Any:
    """The product of rows of `a` and columns of `b` in float32, in order, after parts in order."""
    sums = []
    for first, end in itertools.pairwise([0, *itertools.accumulate(lengths)]):
        total = a[:, first, np.newaxis] * b[first]
        for k in range(first + 1, end):
            total = total + a[:, k, np.newaxis] * b[k]
        sums.append(total)
    return functools.reduce(np.add, sums)


def test_adders_take_the_operands_in_order() -> None:
    x, w, grad, _ = operands(13, (2, 40), 70, 3)
    rows, g = x.reshape(80, 70), grad.reshape(80, 3)
    anew = numbers(g, 1), numbers(w, 0), numbers(g, 0).T, numbers(rows, 0)
    ends = [numbers(part, 1).reshape(80, -1) for part in (grad, x)]  # of each sequence
    once = numbers(g, 1), numbers(w, 1), numbers(g, 1).T, numbers(rows, 1)

    def check(got: Any, expected: Any) -> None:
        np.testing.assert_array_equal(got.reshape(expected.shape), expected)

    for how in ("sequential", "by_block"):
        blocks = how == "by_block"
        add: Any = {"accumulation": how}
        in_rows, whole = [32, 32, 16] if blocks else [80], [32, 32, 6] if blocks else [70]
        y = mxref.linear(x, w, "mxfp8_e4m3", **add)
        check(y, added(numbers(rows, 1), numbers(w, 1).T, whole))
        across = mxref.linear(x, w, "mxfp8_e4m3", weight_axis="out", **add)
        check(across, added(numbers(rows, 1), numbers(w, 0).T, [70]))
        dx, dw, _ = mxref.linear_gradients(x, w, grad, "mxfp8_e4m3", **add)
        check(dx, added(*anew[:2], [3]))
        check(dw, added(*anew[2:], in_rows))
        dx, dw, _ = mxref.linear_gradients(
            x, w, grad, "mxfp8_e4m3", backward_operands="reused", **add
        )
        check(dx, added(*once[:2], [3]))
        check(dw, added(*once[2:], [80]))
        _, dw, _ = mxref.linear_gradients(
            x, w, grad, "mxfp8_e4m3", gradient_rows="sequences", **add
        )
        check(dw, added(ends[0].T, ends[1], [32, 8, 32, 8] if blocks else [80]))


@pytest.mark.parametrize("how", ["aligned_25", "aligned_13", "pairwise", "scales_last"])
def test_other_adders_are_those_of_matmul(how: Any) -> None:
    x, w, grad, _ = operands(14, (40,), 70, 3)
    a, b = (mxref.quantize(one, "mxfp8_e4m3", axis=1) for one in (x, w))
    y = mxref.linear(x, w, "mxfp8_e4m3", accumulation=how, dtype=np.float16)
    np.testing.assert_array_equal(y, mxref.matmul(a, b.T, np.float16, accumulation=how))
    _, dw, _ = mxref.linear_gradients(x, w, grad, "mxfp8_e4m3", accumulation=how)
    a, b = (mxref.quantize(one, "mxfp8_e4m3", axis=0) for one in (grad, x))
    np.testing.assert_array_equal(dw, mxref.matmul(a.T, b, accumulation=how))
    if "aligned" in how:
        with pytest.raises(ValueError, match=f"accumulation={how} must have blocks of 32, got 1"):
            mxref.linear(x, w, "mxfp8_e4m3", accumulation=how, weight_axis="out")


def random_policy(rng: np.random.Generator) -> dict[str, Any]:
    """Three choices of quantizing, any members that need no random bits and refuse nothing."""
    names = [name for name in READS["quantize"] if name not in ("scale_arithmetic", "tail")]
    chosen = {}
    for name in rng.permutation(names)[:3].tolist():
        members = [one.value for one in mxref.Policy.members(name)]
        members = [one for one in members if one != "error" and "stochastic" not in one]
        chosen[name] = members[rng.integers(len(members))]
    if chosen.get("scale_overflow") == "wrap":  # which quantize refuses
        del chosen["scale_overflow"]
    return chosen


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
def test_random_layers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lead = (*rng.integers(1, 5, rng.integers(3)).tolist(), int(rng.integers(1, 24)))
    k, n = rng.integers(0, 70, 2).tolist()
    source, target = rng.choice(list(SOURCES), 2).tolist()
    spread = int(rng.integers(3 if source == "f16" else 30))
    x, w, grad, bias = operands(100 + seed, lead, k, n % 40, source, spread)
    for array in (x, w, grad):
        if array.size and rng.random() < 0.3:
            flat = array.reshape(-1)
            flat[rng.integers(flat.size, size=3)] = rng.choice([np.inf, -np.inf, np.nan, 0.0], 3)
    fmt, policy = FORMATS[seed % len(FORMATS)], random_policy(rng)
    check_output(x, w, bias, fmt, source, target, **policy, **CHOICES[rng.integers(len(CHOICES))])
    way = BACKWARD[rng.integers(len(BACKWARD))]
    if len(lead) > 1 or "gradient_rows" not in way:
        check_gradients(x, w, grad, fmt, source, target, **policy, **way)


def test_a_policy_is_one_however_it_is_spelled() -> None:
    x, w, _, _ = operands(9, (2, 20), 40, 3)
    spelled = "ocp+scale_rule=rceil+weight_axis=out"
    choices: Any = {"scale_rule": "rceil", "weight_axis": "out"}
    one = mxref.linear(x, w, "mxint8", **choices)
    for policy in (spelled, mxref.Policy.parse(spelled)):
        np.testing.assert_array_equal(mxref.linear(x, w, "mxint8", policy=policy), one)
    whole = mxref.Policy.parse("ocp+backward_operands=reused+gradient_rows=sequences+tail=refused")
    assert str(whole).count("+") == 3  # taken whole: what is not read is not refused
    mxref.linear_gradients(x[:, :, :32], w[:, :32], np.ones((2, 20, 3)), "mxint8", policy="ocp")
    dx, _, _ = mxref.linear_gradients(
        x[..., :32], np.ones((32, 32)), np.ones((2, 20, 32)), "mxint8", policy=whole
    )
    assert dx.shape == (2, 20, 32)


def test_nothing_to_add() -> None:
    for lead, k, n in (((2,), 0, 3), ((0,), 5, 3), ((4,), 5, 0), ((2, 0), 4, 3), ((0, 3), 4, 3)):
        x, w, grad, bias = operands(12, lead, k, n)
        for way in CHOICES:
            check_output(x, w, None, "mxfp8_e4m3", **way)
            check_output(x, w, bias, "mxfp8_e4m3", **way)
        for way in BACKWARD:
            if "gradient_rows" not in way or len(lead) > 1:
                check_gradients(x, w, grad, "mxfp8_e4m3", **way)


def test_bounds_of_a_sum_with_a_bias() -> None:
    """Whatever sum is allowed, with the bias it is, too: infinite ones, and both of them."""
    ends = np.array([-np.inf, -65504, -1, 0, 65504, np.inf], np.float16)
    below = [*itertools.combinations_with_replacement(ends, 2)]
    rows = [(lo, hi, end) for lo, hi in below for end in (lo, np.inf, -np.inf, np.nan)]
    rows.append((np.nan,) * 3)
    bounds = Bounds(*(np.array(one, np.float16)[:, np.newaxis] for one in zip(*rows, strict=True)))
    sums = np.array([*ends, np.nan], np.float16)
    for bias in (*ends, np.float16(np.nan), np.float16(0.5)):
        after = bounds_with_bias(bounds, np.array([bias]), F16)
        for number in sums:
            numbers = np.full_like(bounds.lo, number)
            added = with_bias(numbers, np.array([bias]), F16)
            held = bounds.hold(numbers)
            assert after.hold(added)[held].all(), (bias, number)
        if np.isfinite(bias):
            assert np.array_equal(np.isnan(after.lo), np.isnan(bounds.lo))
        elif np.isinf(bias):  # of finite sums the bias alone comes
            finite = np.isfinite(bounds.lo) & np.isfinite(bounds.hi) & np.isfinite(bounds.overflow)
            assert not after.hold(np.full_like(bounds.lo, np.nan))[finite].any()
            assert not after.hold(np.full_like(bounds.lo, -bias))[finite].any()
    with pytest.raises(TypeError, match="numbers must be float16, got float32"):
        bounds.hold(np.float32([1]))


def test_bias_is_added_in_the_output_type() -> None:
    x, w = np.array([[1.0, 2.0**-9]]), np.array([[1.0, 1.0]])
    bias = np.array([2.0**-8 + 2.0**-20])
    # 1 + 2**-9 is 1 in bfloat16, the bias 2**-8, and their sum a tie: to the even 1.
    y = mxref.linear(x, w, "mxfp8_e5m2", dtype=ml_dtypes.bfloat16, bias=bias)
    assert y.astype(float).tolist() == [[1.0]]
    exact = mxref.linear(x, w, "mxfp8_e5m2", dtype=np.float64, bias=bias)
    assert exact.tolist() == [[1.0 + 2.0**-9 + 2.0**-8 + 2.0**-20]]


def test_integers_lists_and_one_row() -> None:
    x, w = [3, -1], [[1, 2], [0, 5]]
    y = mxref.linear(x, w, "mxint8", bias=[1, 1])
    assert y.tolist() == [2.0, -4.0]
    dx, dw, db = mxref.linear_gradients(x, w, [1, -1], "mxint8")
    assert (dx.tolist(), dw.tolist(), db.tolist()) == ([1, -3], [[3, -1], [-3, 1]], [1, -1])


def test_sequences_whose_tail_is_refused() -> None:
    x, w, grad = np.ones((4, 16, 32)), np.ones((32, 32)), np.ones((4, 16, 32))
    mxref.linear_gradients(x, w, grad, "mxfp8_e4m3", tail="refused")  # 64 rows
    with pytest.raises(ValueError, match="values must fill whole blocks of 32"):
        mxref.linear_gradients(x, w, grad, "mxfp8_e4m3", tail="refused", gradient_rows="sequences")
