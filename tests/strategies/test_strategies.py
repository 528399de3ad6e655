"""Strategies: each draws what it says, all of it, and shrinks to the simplest."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import INFINITY, QUIET_NAN, SOURCES, WIDTH, drawn, run, table_steps
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from refused import assert_says, refusals

import mxref
from mxref import strategies
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import READS, Policy
from mxref.strategies.for_floats import limit_patterns, threshold_patterns

MANTISSA = {"f32": 23, "f16": 10, "bf16": 7, "f64": 52}


def drawn_of(strategy: st.SearchStrategy[int], count: int) -> list[int]:
    """Some numbers, many to an example, which is faster."""
    lists = drawn(st.lists(strategy, min_size=50, max_size=50), count // 50)
    return [number for some in lists for number in some]


def smallest(strategy: st.SearchStrategy[Any], condition: Callable[[Any], object]) -> Any:
    quiet = settings(max_examples=2000, database=None, phases=(Phase.generate, Phase.shrink))
    return find(strategy, lambda value: bool(condition(value)), settings=quiet)


# --- patterns -------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("float", WIDTH)
def test_patterns_reach_every_kind_of_float(float: str) -> None:
    sign, inf = 1 << (WIDTH[float] - 1), INFINITY[float]
    words = drawn_of(strategies.patterns(float), 2000)
    assert all(0 <= word < 2 * sign for word in words)
    smallest_normal = 1 << MANTISSA[float]
    for part in (0, sign):
        magnitudes = {word - part for word in words if word & sign == part}
        assert {0, QUIET_NAN[float]} <= magnitudes
        assert smallest(strategies.patterns(float), (part | inf).__eq__) == part | inf
        assert any(0 < word < smallest_normal for word in magnitudes)  # subnormal
        assert any(inf < word < QUIET_NAN[float] for word in magnitudes)  # signalling NaN
        assert any(inf - smallest_normal <= word < inf for word in magnitudes)  # largest binade
        ends = {word & (smallest_normal - 1) for word in magnitudes if word < inf}
        assert {0, smallest_normal - 1} <= ends  # first and last of a binade
    # One far bit below a short significand: what a sticky bit is for.
    short = {smallest_normal * i >> 3 for i in range(8)}
    assert any(word & (smallest_normal - 1) in {n | 1 for n in short} for word in words)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("infinity", [False, True])
def test_patterns_without_specials(nan: bool, infinity: bool) -> None:
    some = strategies.patterns("f16", allow_nan=nan, allow_infinity=infinity)
    magnitudes = {word & 0x7FFF for word in drawn_of(some, 2000)}
    assert any(word > 0x7C00 for word in magnitudes) == nan
    assert (0x7C00 in magnitudes) == infinity
    assert any(word > 0x7800 for word in magnitudes if word < 0x7C00)


def test_infinities_alone_can_be_left_out() -> None:
    some = strategies.patterns("f16", allow_infinity=False)
    found = {word & 0x7FFF for word in drawn_of(some, 500)}
    assert max(found) > 0x7C00
    assert 0x7C00 not in found


def test_the_ends_of_float64_are_drawn() -> None:
    """The two lowest binades, both sides of the smallest normal number, and the two highest."""
    words = drawn_of(strategies.patterns("f64", allow_nan=False, allow_infinity=False), 1000)
    numbers = np.abs(np.array(words, np.uint64).view(np.float64))
    exponents = set((np.frexp(numbers[numbers > 0])[1] - 1).tolist())
    assert exponents >= {-1074, -1073, -1023, -1022, 1022, 1023}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (lambda word: True, 0),
        (lambda word: word, 0x80000000),  # -0 before 1
        (lambda word: 0 < word < 0x7F800000, 0x3F800000),
        (lambda word: word > 0x80000000, 0xBF800000),
        (lambda word: 0x3F800000 < word < 0x40000000, 0x3FC00000),  # between 1 and 2
        (lambda word: word > 0x7F800000 and word < 0x80000000, 0x7FC00000),
        (lambda word: word & 0x7FFFFFFF == 0x7F800000, 0x7F800000),
    ],
)
def test_patterns_shrink_to_the_simplest(condition: Callable[[int], bool], wanted: int) -> None:
    assert f"{smallest(strategies.patterns('f32'), condition):08x}" == f"{wanted:08x}"


# --- steps ----------------------------------------------------------------------------------------


def test_near_thresholds_are_both_sides_of_every_step_number_and_midpoint() -> None:
    numbers = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 8]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(numbers)]
    points = np.float32([*numbers[:-1], *middles]).view(np.uint32).tolist()
    points += [step for step in table_steps("e2m1", "f32", "ties_to_even") if step < 1 << 31]
    near = {point + side for point in points for side in (-1, 0, 1) if point + side >= 0}
    wanted = near | {1 << 31 | point for point in near}
    assert set(drawn_of(strategies.near_thresholds("e2m1", "f32"), 3500)) == wanted


def test_near_thresholds_of_a_scale_format_are_those_of_encode_scale() -> None:
    words = set(drawn_of(strategies.near_thresholds("e8m0", "f16"), 3000))
    powers = {(exponent << 10) for exponent in range(1, 31)}
    assert {word & 0x7FFF for word in words} >= {p + side for p in powers for side in (-1, 0, 1)}


@pytest.mark.parametrize(("rule", "limit"), [("floor", 0x40000000), ("rceil", 0x3FE00000)])
def test_near_scale_limits_are_both_sides_of_a_limit(rule: str, limit: int) -> None:
    """Of E4M3: floor goes up at powers of two, rceil above 448 * 2**k, such as 1.75."""
    words = limit_patterns("e4m3", "f32", rule, "ocp")
    near = {word - limit for word in words if abs(word - limit) < 100}
    assert near == ({-1, 0, 1} if rule == "floor" else {0, 1, 2})


# --- values, blocks, codes ------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("float", WIDTH)
def test_values_are_of_the_type_and_shape(float: str) -> None:
    assert all(type(one) is SOURCES[float] for one in drawn(strategies.values(float), 30))
    for shape in (5, (2, 3), (7, 40)):
        wanted = (shape,) if isinstance(shape, int) else shape
        for array in drawn(strategies.values(float, shape), 10):
            assert (array.dtype, array.shape) == (np.dtype(SOURCES[float]), wanted)
    shapes = {a.shape for a in drawn(strategies.values(float, st.sampled_from([(1,), (2, 2)])), 30)}
    assert shapes == {(1,), (2, 2)}


@pytest.mark.sampled(3)
def test_values_have_the_given_patterns() -> None:
    near = strategies.near_thresholds("e2m1", "f32")
    arrays = drawn(strategies.values("f32", 4, near), 400)
    wanted = set(drawn_of(near, 3500))
    found = {int(word) for array in arrays for word in array.view(np.uint32)}
    assert found <= set(threshold_patterns("e2m1", "f32", "ocp"))
    assert len(found & wanted) > 0.9 * len(wanted)


def magnitudes(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint32) & np.uint32(0x7FFFFFFF)


@pytest.mark.sampled(6)
def test_blocks_are_of_every_kind() -> None:
    found = drawn(strategies.blocks("mxfp4_e2m1", count=2), 350)
    assert all(block.shape == (2, 32) and block.dtype == np.float32 for block in found)
    rows = magnitudes(np.concatenate(found))
    finite = np.where(rows < 0x7F800000, rows, 0).max(axis=1)
    assert (rows == 0).all(axis=1).any()  # of zeros
    assert (rows != 0).any(axis=0).all()  # something in every position
    assert (rows != 0).all(axis=1).any()  # and everywhere
    assert ((rows != 0).sum(axis=1) == 1).any()
    assert (rows > 0x7F800000).any()
    assert (rows == 0x7F800000).any()
    scales = set(mxref.shared_scale(finite.view(np.float32), "e2m1").tolist())
    assert {0, 252} <= scales  # the largest float32 needs 2**125
    assert len(scales) > 30
    # By each rule amax is next to a limit, above and below: 4 * 2**k, 6 * 2**k, 7 * 2**k.
    fractions = set((finite & 0x7FFFFF).tolist())
    assert {0x7FFFFF, 0, 1, 0x400000, 0x5FFFFF, 0x600000} <= fractions


@pytest.mark.sampled(6)
def test_block_specials_are_where_they_may_be() -> None:
    for places in ((), (0, 31)):
        rows = np.concatenate(drawn(strategies.blocks("mxfp8_e4m3", count=2, specials=places), 100))
        special = magnitudes(rows) >= 0x7F800000
        assert set(np.flatnonzero(special.any(axis=0)).tolist()) == set(places)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("spread", [0, 3])
def test_block_elements_lie_within_the_spread(spread: int) -> None:
    """And one binade above it, where the scale goes up."""
    widest = 0
    for array in drawn(strategies.blocks("mxfp8_e5m2", "f64", spread=spread, specials=())):
        for row in array:
            _, exponents = np.frexp(row[row != 0])
            if exponents.size:
                widest = max(widest, int(exponents.max()) - int(exponents.min()))
    assert spread <= widest <= spread + 1


def test_blocks_shrink_to_one_simple_element() -> None:
    finite = strategies.blocks("mxfp4_e2m1", specials=())
    block = smallest(finite, lambda block: (block < 0).any())
    assert block.shape == (1, 32)
    assert np.flatnonzero(block).tolist() == [0]
    assert block[0, 0] == -1
    large = smallest(strategies.blocks("mxint8", "f16"), lambda block: (block > 1.25).any())
    assert large[large != 0].tolist() == [2.0]


def test_codes_are_all_codes() -> None:
    assert set(drawn_of(strategies.codes("e2m1"), 500)) == set(range(16))
    scales = set(drawn_of(strategies.scale_codes(), 3000))
    assert {0, 1, 2, 126, 127, 128, 253, 254, 255} <= scales <= set(range(256))
    assert max(drawn_of(strategies.scale_codes("ue4m3"), 1000)) == 127


@pytest.mark.sampled(6)
def test_coded_blocks_are_of_every_kind() -> None:
    found = drawn(strategies.coded_blocks("mxfp6_e2m3", count=3), 400)
    assert all((s.shape, c.shape) == ((3,), (3, 32)) for s, c in found)
    scales = np.concatenate([scales for scales, _ in found])
    codes = np.concatenate([codes for _, codes in found])
    assert {0, 1, 127, 254, 255} <= set(scales.tolist())
    assert set(np.unique(codes).tolist()) == set(range(64))
    assert (codes != 0).any(axis=0).all()
    assert drawn(strategies.coded_blocks("nvfp4"), 5)[0][1].shape[1] == 16


@pytest.mark.sampled(6)
def test_tensors_are_of_every_order_and_have_tails() -> None:
    found = drawn(strategies.tensors("f16"))
    assert {array.ndim for array, _ in found} == {1, 2, 3}
    assert {(array.ndim, axis) for array, axis in found if array.ndim == 2} == {(2, 0), (2, 1)}
    lengths = {array.shape[axis] for array, axis in found}
    assert {1, 31, 32, 33} <= lengths
    flat = [array for array, _ in found if array.ndim == 2 and min(array.shape) > 1]
    assert any(array.flags.c_contiguous for array in flat)
    assert any(array.flags.f_contiguous for array in flat)
    assert any(array.strides[1] == 4 for array in flat)  # every other float16
    assert any(array.strides[1] == -2 for array in flat)
    for array, _ in drawn(strategies.tensors("f16", dims=2, orders=("C",)), 50):
        assert array.ndim == 2
        assert array.flags.c_contiguous


# --- policies -------------------------------------------------------------------------------------

ALIGNED = {("accumulation", f"aligned_{bits}") for bits in (25, 35, 13)}
EXCLUDED = {("nan_to_finite", "error"), ("tail", "refused"), *ALIGNED}
ONES = np.ones((2, 32), np.float32)
ROW = mxref.quantize(ONES[0], "mxint8")
CALLS: dict[str, Callable[..., Any]] = {
    "encode": partial(mxref.encode, ONES, "e4m3"),
    "decode": partial(mxref.decode, [1], "e4m3"),
    "encode_scale": partial(mxref.encode_scale, ONES),
    "decode_scale": partial(mxref.decode_scale, [1]),
    "shared_scale": partial(mxref.shared_scale, ONES, "e4m3"),
    "quantize": partial(mxref.quantize, ONES, "mxfp4_e2m1"),
    "dequantize": partial(mxref.dequantize, ROW),
    "pack": partial(mxref.pack, [1] * 32, "e2m1"),
    "pack_blocks": partial(mxref.pack_blocks, [1], [1] * 32, "mxfp4_e2m1"),
    "pack_scales": partial(mxref.pack_scales, [[1]]),
    "matmul": partial(mxref.matmul, ROW, ROW),
    "linear": partial(mxref.linear, ONES, ONES, "mxint8"),
    "linear_gradients": partial(
        mxref.linear_gradients, ONES[np.newaxis], ONES, ONES[np.newaxis, :, :2], "mxint8"
    ),
}
#: What is unpacked is what was packed under the same policy.
UNPACK: dict[str, Callable[[Policy], object]] = {
    "unpack": lambda p: mxref.unpack(CALLS["pack"](policy=p), "e2m1", 32, p),
    "unpack_blocks": lambda p: mxref.unpack_blocks(
        CALLS["pack_blocks"](policy=p)[np.newaxis], "mxfp4_e2m1", p
    ),
    "unpack_scales": lambda p: mxref.unpack_scales(CALLS["pack_scales"](policy=p), (1, 1), p),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", [*CALLS, *UNPACK])
def test_policies_have_every_member_and_are_never_refused(op: str) -> None:
    found = drawn(strategies.policies(op))
    members = {(name, value) for policy in found for name, value in policy.choices().items()}
    wanted = {(name, one.value) for name in READS[op] for one in Policy.members(name)} - EXCLUDED
    wanted = {pair for pair in wanted if "stochastic" not in pair[1]}
    if op == "encode_scale":
        wanted.remove(("scale_overflow", "wrap"))
    if op in ("pack_blocks", "unpack_blocks"):
        wanted.remove(("scale_place", "separate"))
    assert {pair for pair in members if pair[0] in READS[op]} == wanted
    default = Policy().choices().items()
    assert {pair for pair in members if pair[0] not in READS[op]} <= set(default)
    for policy in found[:100]:
        if op in UNPACK:
            UNPACK[op](policy)
        else:
            CALLS[op](policy=policy)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("format", ["mxfp4_e2m1", "fp4_ue4m3", "nvfp4"])
def test_policies_of_a_format_can_be_spelled(format: str) -> None:
    values = np.ones((1, 16 if format != "mxfp4_e2m1" else 32), np.float32)
    spelled = set(map(str, drawn(strategies.policies("quantize", format), 120)))
    assert len(spelled) > 80
    for policy in spelled:
        mxref.quantize(values, format, policy)
    for policy in set(map(str, drawn(strategies.policies("dequantize", format), 40))):
        if "arithmetic" not in policy:  # which must be that of the tensor's scale
            mxref.quantize(values, format).dequantize(np.float32, policy)


@pytest.mark.sampled(6)
def test_policies_of_all_operations() -> None:
    members = {p for one in drawn(strategies.policies(), 400) for p in one.choices().items()}
    every = {(name, m.value) for name in Policy().choices() for m in Policy.members(name)}
    left_out = {("scale_overflow", "wrap"), *EXCLUDED}
    left_out |= {pair for pair in every if "stochastic" in pair[1]}
    assert members == every - left_out
    more = drawn(strategies.policies(allow_stochastic=True, allow_refusals=True), 400)
    members = {p for one in more for p in one.choices().items()}
    assert members == every - {("scale_overflow", "wrap")}


@pytest.mark.sampled(0)
def test_policies_shrink_to_ocp() -> None:
    assert smallest(strategies.policies(), lambda policy: True) == Policy()
    dropped = smallest(
        strategies.policies(), lambda policy: policy.element.zero_sign.value == "dropped"
    )
    assert str(dropped) == "ocp+zero_sign=dropped"


# --- misuse ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("call", "kind", "text"), refusals("strategies"))
def test_misuse(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)


@pytest.mark.parametrize(("format", "bits"), [("int8-int8", 32), ("int8-int8_m16", 16)])
def test_the_simplest_rescaling_is_by_one(format: str, bits: int) -> None:
    words = smallest(strategies.integer_cases("rescale", format), lambda words: True)
    zero, out, channels, multiplier, shift, code = words
    assert (multiplier, shift) == (1 << bits - 2, bits - 2)
    assert (zero, out, channels, code) == (0, 0, 1, 0)


def test_without_hypothesis_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ImportError('not here')\n")
    done = run(sys.executable, "-c", "import mxref; import mxref.strategies", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: mxref.strategies needs the package hypothesis: "
        "in a checkout of mxref, pip install -e '.[fuzz]', elsewhere pip install hypothesis"
    )


@pytest.mark.parametrize(
    ("op", "format"),
    [(op, format) for op, one in CALL_OPERATIONS.items() for format in one.formats],
)
def test_every_operation_of_calls_has_cases_that_it_answers(op: str, format: str) -> None:
    """All kinds of values are drawn; a case that the reference cannot read would raise."""
    one, sizes = CALL_OPERATIONS[op], set()

    @settings(max_examples=8, database=None, derandomize=True, deadline=None)
    @given(strategies.integer_cases(op, format))
    def answered(words: list[int]) -> None:
        sizes.add(len(words))
        assert one.answer(format, words, one.first_policy(format))

    answered()
    assert len(sizes) > 1
