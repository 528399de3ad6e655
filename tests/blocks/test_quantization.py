"""Blocks: hand examples, the slow twin on every axis, and what stays the same under what."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import ELEMENT, SMALL_FLOATS, sentence
from tables import bits

import mxref
from mxref import Blocks, exact
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats import catalog
from mxref.formats.catalog import BLOCK_FORMATS, E2M1, E8M0, UE4M3, BlockFormat
from mxref.numbers.codes import is_writeable

NAMES = tuple(BLOCK_FORMATS)
CODE_BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
FP4 = BLOCK_FORMATS["mxfp4_e2m1"]


def sample(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    """Float32 of several binades, zeros and subnormals among them."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-6, 4, shape)
    values[generator.random(shape) < 0.05] = -0.0
    values[generator.random(shape) < 0.05] = 2.0**-140
    return values.astype(np.float32)


def slow(values: np.ndarray, name: str, axis: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scale codes by the slow twin, tails filled up with zeros."""
    rows = np.moveaxis(values, axis, -1)
    codes, scales = [], []
    for row in rows.reshape(-1, rows.shape[-1]):
        words = bits(row) + [0] * (-row.size % size)
        pairs = [
            exact.quantize(words[i : i + size], "f32", ELEMENT[name])
            for i in range(0, len(words), size)
        ]
        scales += [scale for scale, _ in pairs]
        codes += [code for _, block in pairs for code in block]
    lead = rows.shape[:-1]
    return tuple(
        np.moveaxis(np.array(flat).reshape(*lead, -1), -1, axis) for flat in (codes, scales)
    )


def equal(a: Blocks, b: Blocks) -> bool:
    return a.codes.tolist() == b.codes.tolist() and a.scale_codes.tolist() == b.scale_codes.tolist()


# Axes, tails and sizes.


@pytest.mark.sampled(6)
@pytest.mark.parametrize("size", [1, 2, 16, 32, 33])
@pytest.mark.parametrize("axis", range(-3, 3))
@pytest.mark.parametrize("name", ["mxfp6_e3m2", "mxfp4_e2m1"])
def test_every_axis_and_block_size(name: str, axis: int, size: int) -> None:
    x = sample((3, 5, 34))
    x = np.moveaxis(x, -1, axis)  # the axis of blocks is the long one, or a short one
    for values in (x, np.swapaxes(x, 0, 2)):
        blocks = mxref.quantize(values, name, axis=axis, block_size=size)
        codes, scales = slow(values, name, axis, size)
        assert np.array_equal(blocks.codes, codes)
        assert np.array_equal(blocks.scale_codes, scales)
        assert (blocks.axis, blocks.block_size, blocks.shape) == (axis % 3, size, values.shape)
        pairs = zip(np.repeat(scales, size, axis).flat, codes.flat, strict=True)
        want = np.array([exact.dequantize(int(s), int(c), ELEMENT[name]) for s, c in pairs])
        want = want.reshape(codes.shape).take(range(values.shape[axis]), axis)
        assert np.array_equal(blocks.dequantize().view(np.uint32), want)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 3, 4, 32])
def test_tails(axis: int, size: int) -> None:
    x = sample((5, 6, 7))
    padded = mxref.quantize(x, "mxfp6_e2m3", axis=axis, block_size=size)
    short = mxref.quantize(x, "mxfp6_e2m3", axis=axis, block_size=size, tail="short")
    assert short.codes.shape == short.shape == x.shape
    assert np.array_equal(short.codes, padded.codes.take(range(x.shape[axis]), axis))
    assert np.array_equal(short.scale_codes, padded.scale_codes)
    assert bits(short.dequantize()) == bits(padded.dequantize())

    def refused() -> Blocks:
        return mxref.quantize(x, "mxfp6_e2m3", "ocp+tail=refused", axis=axis, block_size=size)

    if x.shape[axis] % size == 0:
        assert equal(refused(), padded)
    else:
        assert sentence(ValueError, refused) == (
            f"values must fill whole blocks of {size} under tail=refused, "
            f"got {x.shape[axis]} on axis {axis}"
        )


@pytest.mark.parametrize("axis", [0, 1])
def test_random_bits_stay_beside_their_numbers(axis: int) -> None:
    # 2.25 is a quarter of the way from 2 to 3: up if and only if R = 3; 4 sets the scale.
    x = np.full((7, 5), np.float32(2.25))
    x[0, :] = x[:, 0] = 4.0
    draws = np.random.default_rng(5).integers(0, 4, x.shape)
    want = np.where(x == 4, 6, np.where(draws == 3, 5, 4))
    chosen: dict[str, Any] = {"rounding": "stochastic_a", "tail": "short", "block_size": 32}
    blocks = mxref.quantize(x, "mxfp4_e2m1", axis=axis, random_bits=draws, random_width=2, **chosen)
    assert blocks.codes.tolist() == want.tolist()
    one = mxref.quantize(x, "mxfp4_e2m1", axis=axis, random_bits=3, random_width=2, **chosen)
    assert one.codes.tolist() == np.where(x == 4, 6, 5).tolist()


def test_long_arrays_are_quantized_throughout() -> None:
    x = np.resize(np.float32([1.0, -3.0, 0.5, 6.0]), 100_000)
    for size in (32, 40_000):
        blocks = mxref.quantize(x, "mxfp4_e2m1", block_size=size)
        count = -(-100_000 // size)
        assert np.array_equal(blocks.scale_codes, np.full(count, 127))
        want = np.zeros(count * size, np.uint8)
        want[:100_000] = np.resize(np.uint8([2, 13, 1, 7]), 100_000)
        assert np.array_equal(blocks.codes, want)
        assert np.array_equal(blocks.dequantize(), x)


def test_a_block_format_object() -> None:
    fmt = BlockFormat("mine", catalog.E4M3, E8M0, 2)
    blocks = mxref.quantize(np.float32([1.0, 2.0, 512.0]), fmt)
    assert blocks.format is fmt
    assert blocks.scale_codes.tolist() == [120, 128]
    assert blocks.codes.tolist() == [0x70, 0x78, 0x78, 0]
    resized = mxref.quantize(np.float32([1.0, 2.0, 512.0]), fmt, block_size=4)
    assert (resized.block_size, resized.format.name, fmt.block_size) == (4, "mine", 2)


def test_an_axis_and_a_size_may_be_numpy_integers() -> None:
    x = sample((3, 8))
    blocks = mxref.quantize(x, "mxint8", axis=np.int8(-2), block_size=np.uint16(2))  # type: ignore[arg-type]
    assert (blocks.axis, blocks.block_size) == (0, 2)
    assert type(blocks.axis) is type(blocks.block_size) is int
    assert equal(blocks, mxref.quantize(x, "mxint8", axis=0, block_size=2))


# Integers and small floats.


@pytest.mark.parametrize("kind", ["i1", "u1", ">i2", "u2", "i4", ">u4", "i8", ">u8"])
@pytest.mark.parametrize("name", NAMES)
def test_integers_are_quantized_like_their_float64(name: str, kind: str) -> None:
    limits = np.iinfo(kind)
    low, high = max(limits.min, -(2**53)), min(limits.max, 2**53)
    ends = [low, low + 1, high - 1, high, 0, 1, 7, 100]
    generator = np.random.default_rng(7)
    some = generator.integers(low, high, (40,), np.int64, endpoint=True)
    shifted = some >> generator.integers(0, 53, 40)
    x = np.concatenate([np.array(ends, np.int64), some, shifted]).astype(kind).reshape(8, -1)
    assert x.astype(np.float64).astype(object).tolist() == x.astype(object).tolist()
    for size in (1, 4, 32):
        for rounding in ("ties_to_even", "toward_negative"):
            got = mxref.quantize(x, name, block_size=size, rounding=rounding)
            wide = x.astype(np.float64)
            assert equal(got, mxref.quantize(wide, name, block_size=size, rounding=rounding))
            assert got.shape == x.shape


@pytest.mark.parametrize("source", SMALL_FLOATS)
def test_small_floats_are_quantized_like_their_float64(source: str) -> None:
    codes = np.arange(1 << CODE_BITS.get(source, 8), dtype=np.uint8)
    np.random.default_rng(3).shuffle(codes)
    x = codes.reshape(4, -1).view(SMALL_FLOATS[source])
    before = x.tobytes()
    for name in NAMES:
        for size in (1, 5, 32):
            got = mxref.quantize(x, name, block_size=size, axis=0)
            wide = x.astype(np.float64)
            assert equal(got, mxref.quantize(wide, name, block_size=size, axis=0))
            assert equal(got, mxref.quantize(np.asfortranarray(x), name, block_size=size, axis=0))
    assert x.tobytes() == before


# Elements of other formats.


@pytest.mark.parametrize("name", catalog.OTHER_FORMATS)
def test_blocks_of_other_elements(name: str) -> None:
    element = catalog.OTHER_FORMATS[name]
    fmt = BlockFormat("mine", element, E8M0, 4)
    x = sample((5, 12))
    for policy in ("ocp", "ocp+overflow=nonsaturating", "ocp+scale_rule=rceil"):
        blocks = mxref.quantize(x, fmt, policy)
        scales = mxref.decode_scale(blocks.scale_codes, np.float64)
        # Powers of two, so the quotients are exact; no scale is clamped here but where all are 0.
        scaled = x.astype(np.float64) / np.repeat(scales, 4, axis=1)
        whole = mxref.Policy.parse(policy)
        assert np.array_equal(blocks.codes, mxref.encode(scaled, name, whole))
        decoded = mxref.decode(blocks.codes, name, np.float64) * np.repeat(scales, 4, axis=1)
        assert bits(blocks.dequantize(np.float64)) == bits(decoded)


# Memory.


def test_any_memory_order_gives_the_same_blocks() -> None:
    x = sample((6, 70))
    want = mxref.quantize(x, "mxfp8_e4m3", axis=0, block_size=4)
    wide = np.zeros((12, 210), np.float32)
    wide[::2, ::3] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    for same in (
        np.asfortranarray(x),
        x.astype(">f4"),
        x.astype(">f8"),
        wide[::2, ::3],
        np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
        np.ascontiguousarray(x.T).T,
        read_only,
        x.tolist(),
    ):
        assert equal(mxref.quantize(same, "mxfp8_e4m3", axis=0, block_size=4), want)
    turned = mxref.quantize(x.T, "mxfp8_e4m3", axis=1, block_size=4)
    assert turned.codes.T.tolist() == want.codes.tolist()


def test_inputs_stay_as_they_are_and_results_are_their_own() -> None:
    x = np.uint32([0x80000001, 0xFF800000, 0x7F800001, 0x3F800000]).view(np.float32)
    before = x.tobytes()
    blocks = mxref.quantize(x, "mxfp8_e5m2", block_size=2)
    assert x.tobytes() == before
    assert not np.shares_memory(blocks.codes, x)
    codes, scales = blocks.codes.tobytes(), blocks.scale_codes.tobytes()
    decoded = blocks.dequantize()
    want = bits(decoded)
    decoded[:] = 0
    assert (blocks.codes.tobytes(), blocks.scale_codes.tobytes()) == (codes, scales)
    assert bits(blocks.dequantize()) == want


@pytest.mark.parametrize("name", NAMES)
def test_views_have_the_types_of_ml_dtypes_and_copy_nothing(name: str) -> None:
    blocks = mxref.quantize(sample((2, 33)), name)
    types = SMALL_FLOATS | {"int8": np.int8}
    assert blocks.elements.dtype == np.dtype(types[ELEMENT[name]])
    assert blocks.scales.dtype == np.dtype(ml_dtypes.float8_e8m0fnu)
    assert (blocks.elements.shape, blocks.scales.shape) == ((2, 64), (2, 2))
    assert np.shares_memory(blocks.elements, blocks.codes)
    assert np.shares_memory(blocks.scales, blocks.scale_codes)
    again = Blocks(blocks.elements, blocks.scales, blocks.format, 1, (2, 33))
    assert equal(again, blocks)


# The container.


def test_blocks_hold_what_they_are_given() -> None:
    blocks = Blocks([4, 14, 7, 0], [126, 255], dataclasses.replace(FP4, block_size=2), -1, [3])
    assert (blocks.codes.dtype, blocks.scale_codes.dtype) == (np.uint8, np.uint8)
    assert (blocks.axis, blocks.shape, blocks.block_size) == (0, (3,), 2)
    values = blocks.dequantize()
    assert values[:2].tolist() == [1.0, -2.0]
    assert math.isnan(values[2])
    named: Any = "mxfp4_e2m1"
    assert Blocks(np.zeros(32, np.uint8), np.zeros(1, np.uint8), named, 0, (5,)).format is FP4
    with pytest.raises(dataclasses.FrozenInstanceError):
        blocks.axis = 1  # type: ignore[misc]
    numpy_shape: Any = np.array([3, 40])
    whole = Blocks(np.zeros((3, 64), int), np.zeros((3, 2), int), FP4, 1, numpy_shape)
    assert whole.shape == (3, 40)
    assert [type(n) for n in whole.shape] == [int, int]


def test_codes_cannot_leave_their_range_later() -> None:
    codes, scales = np.zeros(32, np.uint8), np.full(1, 127, np.uint8)
    for blocks in (
        Blocks(codes, scales, FP4, 0, (32,)),
        mxref.quantize(np.zeros(32), "mxfp4_e2m1"),
        mxref.quantize(np.zeros(32), "mxfp4_e2m1", tail="short"),
    ):
        codes[:] = 0xFF
        scales[:] = 1
        for array in (blocks.codes, blocks.scale_codes, blocks.elements, blocks.scales):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[0]
        assert not blocks.dequantize().any()
        assert not is_writeable(blocks.codes)  # nor through what they are views of
        assert not is_writeable(blocks.scale_codes)
        codes[:] = 0
    assert codes.flags.writeable
    assert scales.flags.writeable


def test_a_last_block_may_be_short() -> None:
    fmt = dataclasses.replace(FP4, block_size=2)
    short = Blocks([4, 14, 7], [126, 128], fmt, 0, (3,))
    padded = Blocks([4, 14, 7, 5], [126, 128], fmt, 0, (3,))
    assert (short.codes.shape, padded.codes.shape) == ((3,), (4,))
    assert short.dequantize().tolist() == padded.dequantize().tolist() == [1.0, -2.0, 12.0]
    assert short.elements.shape == (3,)
    # Along another axis there are no blocks to fill.
    flat = Blocks(np.full((3, 5), 2), np.full((2, 5), 127), fmt, 0, (3, 5))
    assert (flat.dequantize() == 1).all()
    assert flat.dequantize().shape == (3, 5)
    assert Blocks(np.zeros((0, 5), int), np.zeros((0, 5), int), fmt, 0, (0, 5)).shape == (0, 5)


# Dequantize.


def test_dequantize_of_arrays() -> None:
    """Codes and scale codes as two arrays are the blocks that hold them."""
    for format, how in (
        ("mxfp4_e2m1", {}),
        ("mxfp8_e4m3", {"axis": 0, "block_size": 16}),
        ("mxint8", {"axis": (0, 1), "block_size": (4, 8)}),
        ("nvfp4", {"axis": 1}),
    ):
        blocks = mxref.quantize(sample((3, 40)), format, tail="short", **how)
        own = {"tensor_scale": blocks.tensor_scale} if format == "nvfp4" else {}
        for codes, scales in (
            (blocks.codes, blocks.scale_codes),
            # Of ml_dtypes' own types; NVFP4's scales have none.
            (blocks.elements, blocks.scale_codes if own else blocks.scales),
            (blocks.codes.tolist(), blocks.scale_codes.astype(np.int64)),
        ):
            arrays = {"scale_codes": scales, "block_format": format, **how, **own}
            got = mxref.dequantize(codes, np.float64, decoded_zero="dropped", **arrays)
            want = blocks.dequantize(np.float64, decoded_zero="dropped")
            assert bits(got) == bits(want)


def test_a_scale_without_a_dtype_has_no_view() -> None:
    fmt = BlockFormat("other_scale", E2M1, UE4M3, 16)
    blocks = Blocks(np.zeros(16, np.uint8), np.zeros(1, np.uint8), fmt, 0, (16,))
    assert blocks.elements.dtype == np.dtype(ml_dtypes.float4_e2m1fn)
    assert sentence(TypeError, lambda: blocks.scales) == (
        "ue4m3 has no NumPy or ml_dtypes dtype: use the codes"
    )


def test_an_infinity_that_a_flushed_reciprocal_makes_nan_is_an_error_where_nan_is() -> None:
    choices = {"nan_to_finite": "error", "block_inf": "largest_scale"}
    choices["scaling"] = "reciprocal_flushed"
    words = [0x7F800000, 0x3F800000, *[0] * 30]
    with pytest.raises(ValueError, match="nan_to_finite is error"):
        exact.quantize(words, "f32", "e2m1", **choices)
    with pytest.raises(ValueError, match="must not be NaN under nan_to_finite=error"):
        mxref.quantize(np.array(words, np.uint32).view(np.float32), "mxfp4_e2m1", **choices)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("blocks", [1, 128])
def test_a_nan_among_many_blocks_is_an_error_where_it_belongs_to_no_nan_block(
    blocks: int, layout: FloatLayout
) -> None:
    values = np.ones((blocks, 32), layout.dtype)
    values[-1, 3] = np.nan
    with pytest.raises(ValueError, match="must not be NaN under nan_to_finite=error"):
        mxref.quantize(values, "mxint8", nan_to_finite="error", block_nan="ignore")
    nan_block = mxref.quantize(values, "mxint8", nan_to_finite="error")
    assert nan_block.scale_codes[:, 0].tolist() == [127] * (blocks - 1) + [255]
    assert not nan_block.codes[-1].any()
