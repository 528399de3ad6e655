"""Blocks with small floats as scales: the fast way against the integer one, at every threshold."""

from __future__ import annotations

import numpy as np
import pytest

import mxref
from mxref import exact
from mxref.bits.float32 import fl, wide
from mxref.bits.floats import BF16, F16, F32, FloatLayout
from mxref.blocks import routes
from mxref.blocks.two_level import TensorScale
from mxref.formats.catalog import OTHER_BLOCK_FORMATS, BlockFormat
from mxref.policy.choices import ScaleArithmetic
from mxref.policy.policy import Policy

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
@pytest.mark.parametrize("name", OTHER_BLOCK_FORMATS)
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
