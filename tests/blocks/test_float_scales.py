"""Float32 scales: both references at every threshold, for every combination of the choices."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from shares import Share

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS, layout_of
from mxref.policy.policy import Policy

FORMATS = {"e4m3": "fp8_e4m3_f32", "e5m2": "fp8_e5m2_f32"}
CHOICES = ("amax_floor", "scale_from", "scale_power", "element_from", "block_nan")
COMBINED = list(
    itertools.product(*([one.value for one in Policy.members(name)] for name in CHOICES))
)
SIZE = 8


def amaxes(largest: float) -> np.ndarray[Any, Any]:
    """Largest magnitudes where a scale, a power of it or a floor changes; specials; the ends."""
    powers = np.ldexp(1.0, np.arange(-149, 128, 9))
    edges = [*powers, *powers * largest, *powers * 0.75]
    edges += [1e-12, 1e-10, 1e-4, 1 / 512, 1e-12 / largest, largest / np.finfo(np.float32).max]
    edges += [np.finfo(np.float32).max, np.inf, np.nan, 0.0]
    with np.errstate(over="ignore"):
        at = np.unique(np.float32(edges))
    bits = at.view(np.uint32)
    near = np.unique(np.concatenate([bits, bits - 1, bits + 1, bits + 12, bits + 40]))
    return near[near < 1 << 31].astype(np.uint32).view(np.float32)


def blocks_at_thresholds(format: str, seed: int) -> np.ndarray[Any, Any]:
    """A block for each amax: elements at thresholds under about its scale, an ulp beside, signs."""
    draw = np.random.default_rng(seed)
    element = mxref.formats.element_format(format)
    a = amaxes(element.max_normal)
    codes = np.arange(element.max_code)
    values = mxref.decode(codes.astype(np.uint8), format, np.float64)
    middle = np.concatenate([(values[1:] + values[:-1]) / 2, values])
    with np.errstate(all="ignore"):
        scale = np.where(np.isfinite(a), a.astype(np.float64) / element.max_normal, 1.0)
        x = (scale[:, np.newaxis] * draw.choice(middle, (a.size, SIZE))).astype(np.float32)
    bits = np.maximum(x.view(np.uint32), 1) + draw.integers(-1, 2, x.shape).astype(np.uint32)
    top = np.where(np.isnan(a), np.float32(1), a).view(np.uint32)
    bits = np.minimum(bits, top[:, np.newaxis])
    bits[:, 0] = a.view(np.uint32)
    return (bits | draw.integers(0, 2, x.shape).astype(np.uint32) << 31).view(np.float32)


def same(x: np.ndarray[Any, Any], format: str, chosen: dict[str, str], **more: Any) -> None:
    """Both references agree on every scale and code."""
    name = next(n for n, one in LAYOUTS.items() if one.dtype == x.dtype)
    found = mxref.quantize(x, FORMATS[format], block_size=x.shape[1], **chosen, **more)
    wanted = [
        exact.quantize_float_scaled(row, name, format, **chosen, **more)
        for row in x.view(LAYOUTS[name].uint).tolist()
    ]
    scales = np.uint32([scale for scale, _ in wanted])
    codes = np.uint8([codes for _, codes in wanted])
    got = found.scale_codes[:, 0]
    is_nan = scales > 0x7F800000
    wrong = np.flatnonzero(np.where(is_nan, got <= 0x7F800000, got != scales))
    assert not wrong.size, (chosen, x[wrong[0]], got[wrong[0]], scales[wrong[0]])
    wrong = np.flatnonzero((found.codes != codes).any(axis=1))
    assert not wrong.size, (chosen, x[wrong[0]], found.codes[wrong[0]], codes[wrong[0]])


@pytest.mark.parametrize("format", FORMATS)
def test_both_references_agree_for_every_combination(format: str, share: Share) -> None:
    x = blocks_at_thresholds(format, 48)
    for number, combined in enumerate(COMBINED):
        if share.takes(number, 23):
            parts = 40 if share.complete else 10
            same(x[number % parts :: parts], format, dict(zip(CHOICES, combined, strict=True)))


@pytest.mark.parametrize("name", ["f16", "bf16", "f64"])
def test_both_references_agree_in_every_type_and_under_choices_of_elements(name: str) -> None:
    draw = np.random.default_rng(7)
    layout = LAYOUTS[name]
    x = blocks_at_thresholds("e4m3", 7)[::5]
    with np.errstate(all="ignore"):
        x = x.astype(layout.dtype)
    if name == "f64":  # numbers that float32 does not hold, and those beyond it
        x[::3] += x[::3] * 2.0**-27
        x[1::3] *= np.float64(2) ** draw.integers(-900, 900, (x[1::3].shape[0], 1))
    of_source = ("source_quotient", "multiplier_or_one")
    for number in range(40):
        some = [one for one in COMBINED if number % 2 or one[1] in of_source]
        chosen = dict(zip(CHOICES, some[draw.integers(len(some))], strict=True))
        for choice in ("rounding", "overflow", "clamp", "nan", "zero_sign", "underflow_sign"):
            members = [one.value for one in Policy.members(choice)]
            members = [one for one in members if not one.startswith("stochastic")]
            chosen[choice] = members[draw.integers(len(members))]
        if number % 3 == 0:
            chosen["pre_rounding"] = ("bfloat16", "float16", "float32")[number // 3 % 3]
            chosen["subnormal_inputs"] = "flushed"
        same(x[number % 4 :: 4], "e4m3", chosen)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_every_code_under_many_scales_reads_as_the_exact_product(format: str, target: str) -> None:
    draw, layout = np.random.default_rng(3), LAYOUTS[target]
    edges = [0, 1, 0x7FFFFF, 0x800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]
    scales = np.uint32([*edges, *draw.integers(0, 1 << 31, 24)])
    codes = np.tile(np.arange(256, dtype=np.uint8), (scales.size, 1))
    policies = [{}, {"product_overflow": "saturate", "product_rounding": "scale_first"}]
    for chosen in (*policies, {"product_overflow": "nan", "decoded_zero": "dropped"}):
        found = mxref.dequantize(
            codes,
            layout.dtype,
            scale_codes=scales[:, np.newaxis],
            block_format=FORMATS[format],
            block_size=256,
            **chosen,
        )
        wanted = [
            exact.dequantize_float_scaled(scale, code, format, target, **chosen)
            for scale in scales.tolist()
            for code in range(256)
        ]
        assert found.view(layout.uint).reshape(-1).tolist() == wanted


def test_n51_every_way_to_an_element_gives_other_codes() -> None:
    """x / s as in DeepSeek-V3, x * (1 / s) in DeepGEMM, x * (448 / a) in SGLang, and exact."""
    x = np.concatenate([blocks_at_thresholds("e4m3", seed) for seed in range(8)])
    x = x[np.isfinite(x).all(axis=1) & (np.abs(x[:, 0]) > 1e-30)]
    found = [
        mxref.quantize(x, "fp8_e4m3_f32", block_size=SIZE, element_from=how).codes
        for how in ("exact", "quotient", "reciprocal", "multiplier")
    ]
    for one, other in itertools.combinations(found, 2):
        assert (one != other).any()


def test_n49_every_way_to_a_scale_by_hand() -> None:
    a = np.float32(3.7)  # which tells all ways apart that differ by rounding
    m = np.float32(448)
    wanted = {
        "quotient": a / m,
        "reciprocal": a * (np.float32(1) / m),
        "multiplier": np.float32(1) / (m / a),
        "multiplier_or_one": np.float32(1) / (m / a),
    }
    for how, scale in wanted.items():
        assert mxref.quantize([a], FORMATS["e4m3"], scale_from=how).scales == scale, how
    half = np.array([3.7], ml_dtypes.bfloat16)
    found = mxref.quantize(half, FORMATS["e4m3"], scale_from="source_quotient").scales
    assert found == (half.astype(np.float32) / m).astype(ml_dtypes.bfloat16).astype(np.float32)
    zeros = np.zeros(2, np.float32)
    for how, scale in (("multiplier_or_one", 1), ("multiplier", 0), ("quotient", 0)):
        assert mxref.quantize(zeros, FORMATS["e4m3"], scale_from=how).scales == scale
    tiny = np.float32([2.0**-149])
    found = mxref.quantize(tiny, FORMATS["e4m3"], scale_from="multiplier_or_one").scales
    assert found == np.float32(1) / np.finfo(np.float32).max


def test_n50_powers_of_two_by_bits_and_by_the_logarithm_differ() -> None:
    s = np.float32(2.0**-20 * (1 + 2.0**-23))  # log2 is -20 in float32
    x = np.float32([s * 448, 1e-5])
    by_bits, by_log = (
        mxref.quantize(x, "fp8_e4m3_f32", block_size=2, scale_power=power).scales[0]
        for power in ("bit_ceiling", "exp2_ceil_log2")
    )
    assert (by_bits, by_log) == (2.0**-19, 2.0**-20)


@pytest.mark.parametrize(
    ("block_size", "axis"),
    [(128, -1), (128, 0), ((128, 128), -1), (500, -1), (300, 0), ((300, 500), (0, 1)), (7, 1)],
)
def test_blocks_of_any_shape_have_the_scales_and_codes_of_their_own_numbers(
    block_size: int | tuple[int, int], axis: Any
) -> None:
    x = np.random.default_rng(5).standard_normal((300, 500)).astype(np.float32)
    name = "fp8_e4m3_f32" if isinstance(block_size, int) else "fp8_e4m3_f32_128x128"
    chosen = {"scale_from": "multiplier", "element_from": "multiplier", "tail": "short"}
    blocks = mxref.quantize(x, name, axis=axis, block_size=block_size, **chosen)
    unit = blocks.tiling.unit
    for i, j in np.ndindex(blocks.scale_codes.shape):
        place = np.s_[i * unit[0] : (i + 1) * unit[0], j * unit[1] : (j + 1) * unit[1]]
        part = x[place]
        m = np.float32(448) / np.abs(part).max()
        assert blocks.scales[i, j] == np.float32(1) / m
        own = mxref.encode((part * m).astype(np.float32), "e4m3")
        np.testing.assert_array_equal(blocks.codes[place], own)


def test_one_scale_of_a_large_tensor_and_threads_and_out() -> None:
    x = np.random.default_rng(6).standard_normal((1100, 900)).astype(np.float32)
    x[700, 3] = np.nan
    how = {"block_size": (1100, 900), "axis": (0, 1), "block_nan": "ignore"}
    found = mxref.quantize(x, "fp8_e5m2_f32_128x128", element_from="quotient", **how)
    assert found.scales.tolist() == [[float(np.nanmax(np.abs(x)) / np.float32(57344))]]
    codes, scales = np.empty(x.shape, np.uint8), np.empty((1, 1), np.uint32)
    out = mxref.quantize(
        x, "fp8_e5m2_f32_128x128", element_from="quotient", out=(codes, scales), threads=2, **how
    )
    assert out == found
    np.testing.assert_array_equal(codes, found.codes)


def test_float_arrays_are_scale_codes_and_come_back() -> None:
    blocks = mxref.quantize(np.float32([[3.0, -1.5]]), "fp8_e4m3_f32", block_size=2)
    again = mxref.Blocks(blocks.codes, blocks.scales, blocks.format, 1, (1, 2))
    assert again == blocks
    assert blocks.scales.dtype == np.float32
    assert blocks == blocks.T.T
    assert pickle.loads(pickle.dumps(blocks)) == blocks
    assert repr(blocks).splitlines()[1].startswith("  first scale: 3bdb6db7 = 0.0066964")


POLICIES_OF_AMAX = (
    "ocp",
    "ocp+block_nan=ignore+element_from=quotient+amax_floor=1e-4",
    "ocp+scale_from=multiplier_or_one+element_from=multiplier+block_nan=ignore",
    "ocp+scale_from=reciprocal+scale_power=bit_ceiling+element_from=reciprocal",
    "ocp+overflow=nonsaturating+element_from=multiplier+scale_from=multiplier",
)


@pytest.mark.parametrize("policy", POLICIES_OF_AMAX)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16], ids=str)
def test_a_given_amax_is_the_twins(policy: str, dtype: Any) -> None:
    """Elements beyond it, too; NaN and infinity."""
    draw = np.random.default_rng(11)
    x = (draw.standard_normal((40, 128)) * np.exp2(draw.integers(-12, 13, (40, 1)))).astype(dtype)
    x[0, 5], x[1, 7], x[2, :] = np.inf, np.nan, 0
    layout = layout_of(x.dtype)
    choices = dict(one.split("=") for one in policy.split("+")[1:])
    for amax in (1.0, 3.5, 1e-3, 5e-5, 2.0**-140, 2.0**100):
        number = np.float32(amax)
        blocks = mxref.quantize(x, "fp8_e4m3_f32", policy, amax=float(number))
        for i, words in enumerate(x.view(layout.uint).tolist()):
            scale, codes = exact.quantize_float_scaled(
                words, layout.name, "e4m3", amax_bits=int(number.view(np.uint32)), **choices
            )
            assert blocks.scale_codes[i, 0] == scale
            assert blocks.codes[i].tolist() == codes


def test_delayed_scaling() -> None:
    """Transformer Engine d0067d0d, delayed_scaling.cu: 448 / amax in float32, x times it."""
    draw = np.random.default_rng(12)
    x = draw.standard_normal((300, 500)).astype(np.float32)  # more than one tile of one block
    amax = np.float32(2.7)  # of steps before: some elements are beyond it
    multiplier = np.float32(448) / amax
    want = np.clip(x * multiplier, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    blocks = mxref.profile("transformer_engine_fp8_current").quantize(
        x, "fp8_e4m3_f32_128x128", axis=(0, 1), block_size=x.shape, amax=float(amax)
    )
    assert (np.abs(x) > amax).any()
    assert blocks.scales.tolist() == [[np.float32(1) / multiplier]]
    np.testing.assert_array_equal(blocks.codes, want.view(np.uint8))
    own = float(np.abs(x).max())
    how: dict[str, Any] = {"axis": (0, 1), "block_size": x.shape}
    assert mxref.quantize(x, "fp8_e4m3_f32_128x128", amax=own, **how) == mxref.quantize(
        x, "fp8_e4m3_f32_128x128", **how
    )


@pytest.mark.parametrize("width", [1, 8, 32])
@pytest.mark.parametrize("rounding", ["stochastic_a", "stochastic_b", "stochastic_c"])
@pytest.mark.parametrize("element_from", ["exact", "quotient", "multiplier"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16], ids=str)
def test_stochastic_rounding_is_the_twins(
    dtype: Any, element_from: str, rounding: str, width: int
) -> None:
    """All random bits of width 1 and 8 meet, and the ends and the middle of width 32."""
    draw = np.random.default_rng(width)
    x = (draw.standard_normal((6, 128)) * np.exp2(draw.integers(-9, 10, (6, 1)))).astype(dtype)
    x[0, 3], x[1, 9], x[2, 64:] = np.inf, np.nan, 0
    x[3] *= np.exp2(-20 * (np.arange(128) % 5)).astype(dtype)
    ends = np.array([0, 1, (1 << width) // 2 - 1, (1 << width) // 2, (1 << width) - 1])
    random = np.where(
        draw.random(x.shape) < 0.5,
        draw.choice(ends, x.shape),
        draw.integers(0, 1 << width, x.shape),
    )
    layout = layout_of(x.dtype)
    how = {"rounding": rounding, "element_from": element_from, "scale_from": "quotient"}
    blocks = mxref.quantize(x, "fp8_e4m3_f32", **how, random_bits=random, random_width=width)
    assert blocks != mxref.quantize(x, "fp8_e4m3_f32", **{**how, "rounding": "ties_to_even"})
    for i, words in enumerate(x.view(layout.uint).tolist()):
        scale, codes = exact.quantize_float_scaled(
            words, layout.name, "e4m3", random_bits=random[i].tolist(), random_width=width, **how
        )
        assert blocks.scale_codes[i, 0] == scale
        assert blocks.codes[i].tolist() == codes


@pytest.mark.parametrize("shape", [(130, 131), (1, 257), (129, 3), (255, 128)])
@pytest.mark.parametrize("tail", ["zero_padded", "short"])
def test_n29_tail_tiles_are_those_of_deepgemm(shape: tuple[int, int], tail: Any) -> None:
    """Its `per_block_cast_to_fp8` (54e22612) in NumPy: zeros fill tiles up, and are cut off."""
    draw = np.random.default_rng(shape[0])
    x = (draw.standard_normal(shape) * np.exp2(draw.integers(-6, 7, shape))).astype(np.float32)
    rows, columns = (-(-size // 128) * 128 for size in shape)
    padded = np.zeros((rows, columns), np.float32)
    padded[: shape[0], : shape[1]] = x
    tiles = padded.reshape(rows // 128, 128, columns // 128, 128)
    scales = np.maximum(np.abs(tiles).max(axis=(1, 3), keepdims=True), np.float32(1e-4))
    scales = scales / np.float32(448)
    codes = (tiles * (np.float32(1) / scales)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    want = codes.reshape(rows, columns)[: shape[0], : shape[1]]
    how: Any = {"amax_floor": "1e-4", "element_from": "reciprocal", "tail": tail}
    got = mxref.quantize(x, "fp8_e4m3_f32_128x128", axis=(0, 1), **how)
    assert np.array_equal(got.codes[: shape[0], : shape[1]], want)
    assert np.array_equal(got.scale_codes.view(np.float32), scales[:, 0, :, 0])
    assert got.codes.shape == ((rows, columns) if tail == "zero_padded" else shape)
