"""Many blocks at once: keys of E8M0 and the fast way of small float scales, against other ways."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from helpers import ELEMENT
from shares import Share

import mxref
from mxref import exact
from mxref.bits.float32 import as_float64, fl, wide
from mxref.bits.floats import BF16, F16, F32, F64, FloatLayout, layout_of
from mxref.blocks import keyed, routes
from mxref.blocks.two_level import TensorScale
from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS, BlockFormat, ScaleKind
from mxref.numbers.scale_steps import OTHER, scale_codes, scale_steps
from mxref.policy.choices import Rounding, ScaleArithmetic
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule

LAYOUTS = (F32, BF16, F64)


def amax_of(code: int, fmt: BlockFormat, layout: FloatLayout) -> int:
    """The pattern of the largest amax in its binade that FLOOR gives a scale code."""
    exponent = code - 127 + fmt.element.emax
    field = (exponent if layout is F64 else min(exponent, 127)) + layout.bias
    if field > 0:
        return (field + 1 << layout.mantissa_bits) - 1
    return (1 << layout.mantissa_bits + field) - 1


def every_key(fmt: BlockFormat, layout: FloatLayout, seed: int) -> np.ndarray:
    """For each odd-rounded key of float32's exponents, and each sign, any pattern that has it.

    Of bfloat16 every pattern.
    """
    kept = 7 if layout is BF16 else fmt.element.mantissa_bits + 2
    drop = layout.mantissa_bits - kept
    key = np.arange(1 << 8 + kept, dtype=np.uint64)
    odd = key & np.uint64(1)
    rng = np.random.default_rng(seed)
    below = rng.integers(1, 2 << drop, key.shape, np.uint64) if drop else odd
    pattern = ((key - odd) << np.uint64(drop)) + odd * below
    pattern += np.uint64(layout.bias - 127 << layout.mantissa_bits)
    signs = np.uint64(layout.sign_bit)
    return np.concatenate([pattern, pattern | signs]).astype(layout.uint)


def agree(rows: np.ndarray, layout: FloatLayout, fmt: BlockFormat, policy: Policy) -> None:
    lanes = rows.reshape(*rows.shape, 1)
    scales, codes = routes.quantize_lanes(lanes, layout, fmt, policy)
    want = routes.quantize_rows(rows, layout, fmt, policy)
    assert (scales[:, 0] == want[0]).all()
    assert (codes[..., 0] == want[1]).all()


def check_keys(fmt: BlockFormat, layout: FloatLayout, policy: Policy, codes: range) -> None:
    """Every key up to amax under scale codes, with every other one that keys can tell apart."""
    keys = every_key(fmt, layout, codes.start)
    magnitude = keys & layout.uint.type(layout.sign_bit - 1)
    for code in codes:
        amax = layout.uint.type(amax_of(code, fmt, layout))
        row = np.where(magnitude <= amax, keys, layout.uint.type(0))
        agree(np.append(row, amax)[np.newaxis], layout, fmt, policy)


@pytest.mark.sampled(6)
@pytest.mark.complete
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_every_key_under_every_scale(name: str, layout: FloatLayout, share: Share) -> None:
    """Small scales of float32 are those of raised patterns; of the most keys a few, or all."""
    many = (name == "mxint8" and layout is F64) or not share.complete
    step = 5 if many and (name == "mxint8" or layout is BF16) else 1
    codes = range(0, 255, step)
    check_keys(BLOCK_FORMATS[name], layout, Policy(), codes)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@pytest.mark.parametrize("name", ["mxfp8_e5m2", "mxfp8_e4m3", "mxfp4_e2m1"])
@pytest.mark.parametrize(
    "spelling",
    [
        "ocp+rounding=toward_positive+overflow=nonsaturating_ieee",
        "ocp+rounding=to_odd+scale_underflow=flush+block_nan=ignore+block_inf=ignore",
        "ocp+rounding=ties_to_away+underflow_sign=dropped+scaling=reciprocal_flushed",
        "ocp+clamp=before_rounding+zero_sign=dropped+scale_underflow=nan+zero_block=nan",
    ],
)
def test_every_key_under_other_choices(name: str, layout: FloatLayout, spelling: str) -> None:
    policy = Policy.parse(spelling)
    for codes in (range(24), range(24, 240, 23), range(240, 255)):
        check_keys(BLOCK_FORMATS[name], layout, policy, codes)


@pytest.mark.sampled(6)
def test_formats_of_other_shapes() -> None:
    """As many fraction bits as bfloat16 has, and exponents that raising does not reach."""
    for exponent_bits, mantissa_bits in ((2, 5), (1, 6), (6, 1), (7, 0), (3, 4)):
        bias = (1 << exponent_bits - 1) - 1 or 1
        element = mxref.formats.ElementFormat("other", exponent_bits, mantissa_bits, bias)
        fmt = BlockFormat("other", element, mxref.formats.E8M0, 32)
        for layout in LAYOUTS:
            check_keys(fmt, layout, Policy(), range(3, 255, 12))


@pytest.mark.parametrize("rounding", [one for one in Rounding if not one.stochastic])
@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_thresholds_of_elements_are_those_of_the_twin(name: str, rounding: Rounding) -> None:
    """One pattern below, at and above each tie and number, under scales of all kinds."""
    fmt, policy = BLOCK_FORMATS[name], Policy().replace(rounding=rounding)
    values = np.unique(np.abs(mxref.decode(np.arange(fmt.element.code_count), fmt.element, float)))
    values = values[np.isfinite(values)]
    steps = np.concatenate([values[1:], (values[1:] + values[:-1]) / 2])
    largest = 1.5 * 2.0**fmt.element.emax
    for code in (0, 1, 11, 19, 40, 127, 254 - fmt.element.emax):
        x = np.append(steps[steps < largest], largest) * 2.0 ** (code - 127)
        bits = x.astype(np.float32).view(np.uint32)
        top = int(bits[-1])
        bits = np.concatenate([bits - 1, bits, bits + 1, [0, 1]]).astype(np.uint32)
        bits = bits[bits <= top]
        bits = np.concatenate([bits, bits | np.uint32(1 << 31)])
        half = np.unique(bits >> 16 << 16 | (bits & 0x8000) << 1).astype(np.uint32)
        half = half[(half & 0x7FFF_FFFF) <= top]
        for layout, patterns in (
            (F32, bits),
            (F64, as_float64(bits, F32)),
            (BF16, (half >> 16).astype(np.uint16)),
        ):
            scales, codes = routes.quantize_lanes(patterns[None, :, None], layout, fmt, policy)
            twin = exact.quantize(patterns.tolist(), layout.name, ELEMENT[name], rounding.value)
            assert scales.tolist() == [[twin[0]]] == [[code]]
            assert codes.ravel().tolist() == twin[1]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("rule", ScaleRule)
@pytest.mark.parametrize("amax_type", ["source", "float32", "bfloat16", "float16"])
def test_steps_of_scales(rule: ScaleRule, amax_type: str) -> None:
    """In every binade the first and last amax, and those on both sides of the step."""
    policy = Policy().replace(scale_rule=rule, amax_type=amax_type, scale_overflow="nan").scale
    for name in ("mxfp8_e4m3", "mxint8"):
        fmt = BLOCK_FORMATS[name].element
        for layout in LAYOUTS:
            steps = scale_steps(fmt, policy, layout)
            first = np.arange(1, len(steps.last) - 1, dtype=layout.uint)
            first <<= layout.uint.type(layout.mantissa_bits)
            last = first + layout.uint.type((1 << layout.mantissa_bits) - 1)
            step = steps.last[1:-1]
            for amax in (first, step, np.minimum(step + 1, last), last):
                found = steps.words(amax)
                want = scale_codes(amax, layout, fmt, policy).words()
                assert ((found == want) | (found == OTHER)).all()
                assert (found == OTHER).sum() <= 2  # binades where something narrower ends


@pytest.mark.parametrize("rule", ["floor", "ceil", "rceil", "even", "tosa", "nearest"])
def test_steps_of_scales_are_those_of_the_twin(rule: str) -> None:
    policy = Policy().replace(scale_rule=rule)
    for name in ("mxfp8_e4m3", "mxfp4_e2m1"):
        last = scale_steps(BLOCK_FORMATS[name].element, policy.scale, F32).last[1:-1]
        amax = np.concatenate([last, last + 1])
        amax = amax[amax < F32.inf_bits]
        rows = np.repeat(amax[:, np.newaxis], 2, axis=1)
        scales, _ = routes.quantize_lanes(rows[..., None], F32, BLOCK_FORMATS[name], policy)
        want = [exact.shared_scale(a, "f32", ELEMENT[name], rule) for a in amax.tolist()]
        assert scales[:, 0].tolist() == want


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block_nan", ["nan_block", "ignore"])
@pytest.mark.parametrize("block_inf", ["nan_block", "ignore", "largest_scale"])
@pytest.mark.parametrize("layout", [F32, BF16, F16, F64], ids=lambda layout: layout.name)
def test_nan_and_infinity(layout: FloatLayout, block_inf: str, block_nan: str) -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 1 << layout.width, (900, 32), np.uint64).astype(layout.uint)
    small = layout.uint.type(layout.sign_bit | (4 << layout.mantissa_bits) - 1)
    rows[::3] &= small  # subnormal numbers and their like
    rows[::4] &= layout.uint.type(layout.sign_bit)
    special = rng.random(rows.shape)
    rows[special < 0.02] = layout.inf_bits
    rows[special < 0.01] = layout.nan_bits + 1
    rows[(special < 0.02) & (rng.random(rows.shape) < 0.5)] |= layout.uint.type(layout.sign_bit)
    for more in (
        "",
        "+nan=signed+nan_to_finite=signed_max",
        "+scale_underflow=flush+nan_block_codes=ones",
        "+zero_block=nan",
    ):
        text = f"ocp+block_nan={block_nan}+block_inf={block_inf}+overflow=nonsaturating{more}"
        for name in ("mxfp8_e5m2", "mxfp4_e2m1", "mxint8"):
            agree(rows, layout, BLOCK_FORMATS[name], Policy.parse(text))


def test_a_scale_that_wraps_is_no_small_one() -> None:
    """Under a huge amax nothing is raised, however small the code."""
    element = mxref.formats.ElementFormat("narrow", 1, 1, 3)  # its largest number is 2**-2 * 1.5
    fmt = BlockFormat("narrow", element, mxref.formats.E8M0, 32)
    rows = np.uint32([[0x7F7F_FFFF, 0x7F00_0000, 0x0080_0000, 1] * 8])
    agree(rows, F32, fmt, Policy.parse("ocp+scale_overflow=wrap"))


def test_patterns_are_scaled_up_exactly() -> None:
    bits = np.uint32([0, 1, 2, 3, 0x7F_FFFF, 0x80_0000, 0x80_0001, 0x3F80_0000, 0x5D7F_FFFF])
    bits = np.concatenate([bits, bits | 1 << 31])
    want = as_float64(bits, F32).view(np.float64) * 2.0**64
    assert (keyed.times_2_to_64(bits).view(np.float32).astype(np.float64) == want).all()
    assert (np.signbit(keyed.times_2_to_64(bits).view(np.float32)) == np.signbit(want)).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(70, 130, 7), (33, 64, 70), (300, 500)])
@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.float64])
def test_blocks_lie_along_any_axis(shape: tuple[int, ...], order: str, dtype: type) -> None:
    """The same blocks as rows, with tails; scales of all kinds, NaN among the numbers.

    Some keys of the largest magnitudes do not tell the scale.
    """
    policy = Policy.parse("ocp+scale_rule=nearest_log2")
    rng = np.random.default_rng(9)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-140, 100, shape)
    x = np.where(rng.random(shape) < 0.002, np.nan, x).astype(dtype, order=order)
    for axis in range(len(shape)):
        rows = np.ascontiguousarray(np.moveaxis(x, axis, -1))
        length = rows.shape[-1]
        rows = rows.reshape(-1, length)
        rows = np.pad(rows, ((0, 0), (0, -length % 32))).reshape(-1, 32)
        uint = rows.view(f"u{rows.itemsize}")
        layout = layout_of(dtype)
        scales, codes = routes.quantize_rows(uint, layout, BLOCK_FORMATS["mxfp6_e2m3"], policy)
        for size in (32, (32,)):
            along = axis if size == 32 else (axis,)
            blocks = mxref.quantize(x, "mxfp6_e2m3", policy, axis=along, block_size=size)
            moved = np.moveaxis(blocks.codes, axis, -1)
            assert (moved.reshape(-1, 32) == codes).all()
            assert (np.moveaxis(blocks.scale_codes, axis, -1).ravel() == scales).all()


def test_which_blocks_take_keys() -> None:
    for name in BLOCK_FORMATS:
        assert routes.takes_keys(BLOCK_FORMATS[name], Policy()) is True
        stochastic = Policy.parse("ocp+rounding=stochastic_a")
        assert routes.takes_keys(BLOCK_FORMATS[name], stochastic) is False
    assert routes.takes_keys(OTHER_BLOCK_FORMATS["fp4_ue4m3"], Policy()) is False


# Scales that are small floats.

ROWS = 512
# The last one gives products that float32 holds.
NUMBERS = [0x3F800000, 0x3F800001, 0x3A5F1D37, 3, 0x7F123457, 0x800001, 0x4112ABCD, 0x3E9AB700]


def tensor_of(fmt: BlockFormat, bits: int) -> TensorScale | None:
    return TensorScale(bits) if fmt.tensor_scale else None


def rows_at_thresholds(fmt: BlockFormat, tensor: TensorScale | None, seed: int) -> np.ndarray:
    """float32 patterns next to ties of elements under each scale, and next to ties of scales."""
    rng = np.random.default_rng(seed)
    t = 1.0 if tensor is None else tensor.value
    scales = mxref.decode(np.arange(fmt.scale.code_count // 2 - 1), fmt.scale, np.float64)
    scales = rng.choice(scales[np.isfinite(scales)], ROWS)
    ties = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0])
    with np.errstate(all="ignore"):
        x = (rng.choice(ties, (ROWS, 16)) * (scales * t)[:, np.newaxis]).astype(np.float32)
        middle = (np.append(scales[1:], scales[0]) + scales) / 2
        x[:, 0] = np.where(rng.random(ROWS) < 0.5, 6.0 * scales * t, 6.0 * middle * t)
    bits = x.view(np.uint32).astype(np.int64) + rng.integers(-1, 2, x.shape)
    bits = np.clip(bits, 0, F32.inf_bits - 1).astype(np.uint32)
    return bits | rng.integers(0, 2, x.shape, np.uint32) << 31


def both_ways(
    rows: np.ndarray, layout: FloatLayout, fmt: BlockFormat, tensor: TensorScale | None, text: str
) -> None:
    policy = Policy.parse(text)
    scales, codes = routes.quantize_rows(rows, layout, fmt, policy, tensor)
    want = routes._exact_rows(rows, layout, fmt, policy, tensor, None)
    assert (scales == want[0]).all()
    assert (codes == want[1]).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("number", NUMBERS, ids=hex)
@pytest.mark.parametrize(
    "name",
    [name for name, one in OTHER_BLOCK_FORMATS.items() if one.scale.kind is ScaleKind.SMALL_FLOAT],
)
def test_thresholds_of_two_levels(name: str, number: int) -> None:
    fmt = OTHER_BLOCK_FORMATS[name]
    tensor = tensor_of(fmt, number)
    rows = rows_at_thresholds(fmt, tensor, number % 1000)
    both_ways(rows, F32, fmt, tensor, "ocp")
    both_ways(rows, F32, fmt, tensor, "ocp+rounding=toward_positive+zero_sign=dropped")
    rows[::9, 3] = F32.inf_bits
    both_ways(rows, F32, fmt, tensor, "ocp+block_inf=largest_scale+overflow=nonsaturating")
    both_ways((rows >> 16).astype(np.uint16), BF16, fmt, tensor, "ocp+rounding=to_odd")
    if number >> 23 == 0x7F:
        half = np.random.default_rng(1).integers(0, 1 << 16, rows.shape, np.uint16)
        both_ways(half, F16, fmt, tensor, "ocp+block_nan=ignore+block_inf=largest_scale")
    for some in rows[:40].tolist():
        how = fmt.scale.name, "exact", number if fmt.tensor_scale else None
        _, [(scale, codes)] = exact.quantize_scaled([some], "f32", "e2m1", *how)
        repeated = np.repeat(np.uint32([some]), ROWS, axis=0)
        found = routes.quantize_rows(repeated, F32, fmt, Policy(), tensor)
        assert (int(found[0][0]), found[1][0].tolist()) == (scale, codes)


@pytest.mark.parametrize("arithmetic", [one for one in ScaleArithmetic if one.value != "exact"])
def test_arithmetics_by_keys(arithmetic: ScaleArithmetic) -> None:
    """Many blocks at once and the same a few at a time, which look nothing up."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 1 << 32, (600, 16), np.uint32)
    rows[::2] = rows[::2] & 0x807F_FFFF | rng.integers(90, 150, (300, 1), np.uint32) << 23
    fmt = OTHER_BLOCK_FORMATS["fp4_ue4m3"]
    policy = Policy().replace(scale_arithmetic=arithmetic.value)
    scales, codes = routes.quantize_rows(rows, F32, fmt, policy)
    for start in range(0, 600, 100):
        want = routes.quantize_rows(rows[start : start + 100], F32, fmt, policy)
        assert (scales[start : start + 100] == want[0]).all()
        assert (codes[start : start + 100] == want[1]).all()


def test_float32_rounding_of_what_is_no_number() -> None:
    quiet = 0x7FF8_0000_0000_0000
    for sign in (0, 1 << 63):
        nan = np.array([quiet | (1 << 51) - 1, 0x7FF0_0000_0000_0001], np.uint64) | np.uint64(sign)
        assert np.isnan(fl(nan.view(np.float64))).all()
    past = np.array([2.0**128 - 2.0**103, np.nextafter(2.0**128 - 2.0**103, 0), np.inf, -np.inf])
    wanted = [np.inf, 2.0**128 - 2.0**104, np.inf, -np.inf]
    assert fl(past).tolist() == wanted
    assert [fl(past[i : i + 1]).tolist() for i in range(4)] == [[one] for one in wanted]
    assert np.isnan(wide(np.uint32([0x7F80_0001]), F32)).all()
