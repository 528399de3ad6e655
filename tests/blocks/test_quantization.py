"""Blocks: hand examples, the slow twin on every axis, and what stays the same under what."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import ELEMENT, INFINITY, QUIET_NAN, SMALL_FLOATS, SOURCES, WIDTH, sentence
from hypothesis import assume, given
from hypothesis import strategies as st

import mxref
from mxref import Blocks, exact
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E1M2,
    E2M1,
    E4M3,
    E8M0,
    OTHER_FORMATS,
    UE4M3,
    BlockFormat,
    ElementFormat,
    Specials,
)
from mxref.numbers.codes import is_writeable

NAMES = tuple(BLOCK_FORMATS)
CODE_BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}

P = 2.0  # P**n is an exact power of two
FP4 = BLOCK_FORMATS["mxfp4_e2m1"]


def floats(bits: Any, source: str) -> np.ndarray:
    return np.array(bits, f"u{WIDTH[source] // 8}").view(SOURCES[source])


def bits_of(values: np.ndarray) -> list[int]:
    bits: list[int] = (
        np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").ravel().tolist()
    )
    return bits


def minus_zero(name: str) -> int:
    """The code that -0 becomes."""
    return 0 if name == "mxint8" else 1 << CODE_BITS[ELEMENT[name]] - 1


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
        bits = bits_of(row)
        bits += [0] * (-len(bits) % size)
        pairs = [
            exact.quantize(bits[i : i + size], "f32", ELEMENT[name])
            for i in range(0, len(bits), size)
        ]
        scales += [scale for scale, _ in pairs]
        codes += [code for _, block in pairs for code in block]
    lead = rows.shape[:-1]
    return tuple(
        np.moveaxis(np.array(flat).reshape(*lead, -1), -1, axis) for flat in (codes, scales)
    )


def equal(a: Blocks, b: Blocks) -> bool:
    return a.codes.tolist() == b.codes.tolist() and a.scale_codes.tolist() == b.scale_codes.tolist()


# By hand.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("name", "scale", "codes"),
    [
        ("mxfp8_e5m2", 127 - 15, [0x78, 0xFA, 0x70, 0x80]),
        ("mxfp8_e4m3", 127 - 8, [0x78, 0xFC, 0x68, 0x80]),
        ("mxfp6_e3m2", 127 - 4, [0x1C, 0x3E, 0x14, 0x20]),
        ("mxfp6_e2m3", 127 - 2, [0x18, 0x3C, 0x08, 0x20]),
        ("mxfp4_e2m1", 127 - 2, [0x6, 0xF, 0x2, 0x8]),
        ("mxint8", 127, [0x40, 0xA0, 0x10, 0x00]),
    ],
)
def test_a_block_by_hand(name: str, scale: int, codes: list[int], source: str) -> None:
    x = np.array([1.0, -1.5, 0.25, -0.0]).astype(SOURCES[source])
    blocks = mxref.quantize(x, name)
    assert blocks.scale_codes.tolist() == [scale]
    assert blocks.codes.tolist() == codes + [0] * 28
    assert blocks.dequantize(SOURCES[source]).astype(np.float64).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("values", "name", "scale", "codes", "decoded"),
    [
        ([0.5, -3.0, 100.0, 7.0], "mxfp8_e4m3", 125, [0x40, 0xD4, 0x7C, 0x5E], [0.5, -3, 96, 7]),
        ([1.0, -3.0, 0.25], "mxfp4_e2m1", 126, [4, 15, 1], [1.0, -3.0, 0.25]),
        # What amax leaves above the largest number saturates.
        ([7.0, -7.9, 1.0], "mxfp4_e2m1", 127, [7, 15, 2], [6.0, -6.0, 1.0]),
        ([500.0, -1.0], "mxfp8_e4m3", 127, [0x7E, 0xB8], [448.0, -1.0]),
        ([-1.999, 1.0], "mxint8", 127, [0x81, 0x40], [-127 / 64, 1.0]),
        ([65535.0, 1.0], "mxfp8_e5m2", 127, [0x7B, 0x3C], [57344.0, 1.0]),
        # Small neighbours of a large one lose bits, then vanish with their sign.
        ([64.0, 1.25, 0.6, -0.1], "mxfp6_e2m3", 131, [0x18, 1, 0, 0x20], [64.0, 2.0, 0.0, -0.0]),
    ],
)
def test_more_blocks_by_hand(
    values: list[float], name: str, scale: int, codes: list[int], decoded: list[float]
) -> None:
    blocks = mxref.quantize(np.float32(values), name)
    assert (blocks.scale_codes.tolist(), blocks.codes[: len(codes)].tolist()) == ([scale], codes)
    assert bits_of(mxref.dequantize(blocks)) == bits_of(np.float32(decoded))


def test_choices() -> None:
    x = np.float32([5.0, -0.3])

    def codes(values: np.ndarray, name: str, *policy: str, **choices: str) -> list[int]:
        blocks = mxref.quantize(values, name, *policy, block_size=2, **choices)
        return [*blocks.scale_codes.tolist(), *blocks.codes.tolist()]

    assert codes(x, "mxfp4_e2m1") == [127, 6, 9]
    assert codes(x, "mxfp4_e2m1", rounding="toward_positive") == [127, 7, 8]
    assert codes(x, "mxfp4_e2m1", "ocp+rounding=toward_negative") == [127, 6, 9]
    assert codes(x, "mxfp4_e2m1", scale_rule="ceil") == [128, 4, 8]
    x = np.float32([500.0, 1.0])
    assert codes(x, "mxfp8_e4m3", overflow="nonsaturating") == [127, 0x7F, 0x38]
    assert codes(x, "mxfp8_e4m3", mxref.Policy().replace(overflow="nonsaturating"))[1] == 0x7F


# Axes, tails and sizes.


@pytest.mark.parametrize("length", range(1, 33))
def test_tails_are_filled_up_with_zeros(length: int) -> None:
    x = sample((2, length), seed=length)
    for name in ("mxfp8_e4m3", "mxint8"):
        blocks = mxref.quantize(x, name)
        codes, scales = slow(x, name, -1, 32)
        assert (blocks.codes.tolist(), blocks.scale_codes.tolist()) == (
            codes.tolist(),
            scales.tolist(),
        )
        assert (blocks.codes.shape, blocks.scale_codes.shape) == ((2, 32), (2, 1))
        assert not blocks.codes[:, length:].any()
        assert blocks.shape == blocks.dequantize().shape == (2, length)


def test_a_second_block_takes_what_is_left() -> None:
    x = np.float32([1.0] * 32 + [-8.0])
    blocks = mxref.quantize(x, "mxfp4_e2m1")
    assert blocks.codes.tolist() == [6] * 32 + [0xE] + [0] * 31
    assert blocks.scale_codes.tolist() == [125, 128]
    assert blocks.dequantize().tolist() == x.tolist()


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
        decoded = [
            exact.dequantize(scale, code, ELEMENT[name])
            for scale, code in zip(
                np.repeat(scales, size, axis).ravel().tolist(), codes.ravel().tolist(), strict=True
            )
        ]
        want = np.array(decoded, np.uint32).reshape(codes.shape)
        want = want.take(range(values.shape[axis]), axis)
        assert np.array_equal(blocks.dequantize().view(np.uint32), want)


@pytest.mark.parametrize(
    ("shape", "axis", "codes", "scales"),
    [
        ((0,), 0, (0,), (0,)),
        ((3, 0), 1, (3, 0), (3, 0)),
        ((3, 0), 0, (32, 0), (1, 0)),
        ((0, 5), 0, (0, 5), (0, 5)),
        ((0, 5), 1, (0, 32), (0, 1)),
        ((2, 0, 40), -1, (2, 0, 64), (2, 0, 2)),
    ],
)
def test_empty_axes(
    shape: tuple[int, ...], axis: int, codes: tuple[int, ...], scales: tuple[int, ...]
) -> None:
    blocks = mxref.quantize(np.zeros(shape, np.float32), "mxfp4_e2m1", axis=axis)
    assert (blocks.codes.shape, blocks.scale_codes.shape) == (codes, scales)
    assert (blocks.codes.dtype, blocks.scale_codes.dtype) == (np.uint8, np.uint8)
    decoded = blocks.dequantize(np.float16)
    assert (decoded.shape, decoded.dtype) == (shape, np.float16)


def test_a_block_longer_than_its_axis_is_one_block() -> None:
    x = np.float32([[1.0, 2.0, 4.0]])
    short = mxref.quantize(x, "mxfp4_e2m1", block_size=3)
    long = mxref.quantize(x, "mxfp4_e2m1", block_size=1000)
    assert long.codes.shape == (1, 1000)
    assert long.codes[:, :3].tolist() == short.codes.tolist() == [[2, 4, 6]]
    assert long.scale_codes.tolist() == short.scale_codes.tolist() == [[127]]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 3, 4, 32])
def test_tails(axis: int, size: int) -> None:
    x = sample((5, 6, 7))
    padded = mxref.quantize(x, "mxfp6_e2m3", axis=axis, block_size=size)
    short = mxref.quantize(x, "mxfp6_e2m3", axis=axis, block_size=size, tail="short")
    assert short.codes.shape == short.shape == x.shape
    assert np.array_equal(short.codes, padded.codes.take(range(x.shape[axis]), axis))
    assert np.array_equal(short.scale_codes, padded.scale_codes)
    assert bits_of(short.dequantize()) == bits_of(padded.dequantize())

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
    fmt = BlockFormat("mine", E4M3, E8M0, 2)
    blocks = mxref.quantize(np.float32([1.0, 2.0, 512.0]), fmt)
    assert blocks.format is fmt
    assert (blocks.codes.tolist(), blocks.scale_codes.tolist()) == (
        [0x70, 0x78, 0x78, 0],
        [120, 128],
    )
    resized = mxref.quantize(np.float32([1.0, 2.0, 512.0]), fmt, block_size=4)
    assert (resized.block_size, resized.format.name, fmt.block_size) == (4, "mine", 2)


AXIS = "axis must be an integer or a tuple of integers"


@pytest.mark.parametrize(
    ("shape", "choices", "kind", "text"),
    [
        ((), {"axis": 1}, ValueError, "axis must be in [-1, 0] for 1 axes, got 1"),
        ((4,), {"axis": 1}, ValueError, "axis must be in [-1, 0] for 1 axes, got 1"),
        ((4, 4), {"axis": -3}, ValueError, "axis must be in [-2, 1] for 2 axes, got -3"),
        ((4,), {"block_size": 0}, ValueError, "block_size must be at least 1, got 0"),
        ((4,), {"block_size": -32}, ValueError, "block_size must be at least 1, got -32"),
        ((4,), {"block_size": 2.0}, TypeError, "block_size must be an integer, got float"),
        ((4,), {"block_size": 1.5}, TypeError, "block_size must be an integer, got float"),
        (
            (4,),
            {"axis": 1.0},
            TypeError,
            "axis must be an integer or a tuple of integers, got float",
        ),
        (
            (4,),
            {"axis": 0.0},
            TypeError,
            "axis must be an integer or a tuple of integers, got float",
        ),
        ((4,), {"axis": "0"}, TypeError, "axis must be an integer or a tuple of integers, got str"),
        (
            (4,),
            {"axis": None},
            TypeError,
            "axis must be an integer or a tuple of integers, got NoneType",
        ),
        (
            (4, 4),
            {"axis": (0, 1)},
            ValueError,
            "axis must name as many axes as the block has, got (0, 1) for blocks of 32",
        ),
        (
            (4, 4),
            {"axis": (1, 0), "block_size": (2, 2)},
            ValueError,
            "axis must name different axes in their order, got (1, 0)",
        ),
        (
            (4, 4),
            {"block_size": (2, 2)},
            ValueError,
            "axis must name as many axes as the block has, got 1 for blocks of 2 x 2",
        ),
        ((4, 4), {"axis": ()}, ValueError, "axis must name different axes in their order, got ()"),
        (
            (4,),
            {"block_size": ()},
            ValueError,
            "block_size must have a number for each axis, got ()",
        ),
        ((4,), {"block_size": "32"}, TypeError, "block_size must be an integer, got str"),
    ],
)
def test_refused_axes_and_sizes(
    shape: tuple[int, ...], choices: dict[str, Any], kind: type[Exception], text: str
) -> None:
    x = np.ones(shape, np.float32)
    assert sentence(kind, lambda: mxref.quantize(x, "mxint8", **choices)) == text


def test_an_axis_and_a_size_may_be_numpy_integers() -> None:
    x = sample((3, 8))
    blocks = mxref.quantize(x, "mxint8", axis=np.int8(-2), block_size=np.uint16(2))  # type: ignore[arg-type]
    assert (blocks.axis, blocks.block_size) == (0, 2)
    assert type(blocks.axis) is type(blocks.block_size) is int
    assert equal(blocks, mxref.quantize(x, "mxint8", axis=0, block_size=2))


def test_refused_values_and_formats() -> None:
    for wrong, got in (([True], "bool"), (None, "object"), ([2**70], "object")):
        assert sentence(TypeError, lambda values=wrong: mxref.quantize(values, "mxint8")) == (
            f"values must be float64, float32, float16 or bfloat16, got {got}: "
            "convert explicitly, for example values.astype(numpy.float32)"
        )
    assert sentence(TypeError, lambda: mxref.quantize([1j], "mxint8")) == (
        "values dtype must be float64, float32, float16 or bfloat16, got complex128"
    )
    for wide in (2**53 + 1, -(2**53) - 1, 2**63, -(2**63)):
        x = np.array([0, wide], np.int64 if wide < 2**63 else np.uint64)
        assert sentence(ValueError, lambda x=x: mxref.quantize(x, "mxint8")) == (
            f"values must be floats or integers up to 2**53, got {abs(wide)}"
        )
    assert sentence(ValueError, lambda: mxref.quantize([1.0], "int8")) == (
        "block_format must be a block format, got the element format 'int8': use 'mxint8'"
    )
    assert sentence(TypeError, lambda: mxref.quantize(np.ma.array([1.0]), "mxint8")) == (
        "values must not be masked: use .filled(...) to say what masked means"
    )


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


def test_integers_by_hand() -> None:
    # -128 is its own absolute value in int8; the largest magnitude is 128 nevertheless.
    blocks = mxref.quantize(np.int8([-128, 127, 0]), "mxfp4_e2m1", block_size=3)
    assert (blocks.scale_codes.tolist(), blocks.codes.tolist()) == ([132], [0xE, 6, 0])
    blocks = mxref.quantize([1, -3, 7], "mxint8", block_size=3)
    assert (blocks.scale_codes.tolist(), blocks.codes.tolist()) == ([129], [0x10, 0xD0, 0x70])
    assert blocks.dequantize().tolist() == [1, -3, 7]
    assert mxref.quantize([2**53, -(2**53)], "mxint8", block_size=2).codes.tolist() == [0x40, 0xC0]
    assert mxref.quantize(np.zeros((2, 0), np.int64), "mxint8").shape == (2, 0)


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


def test_ragged_values() -> None:
    text = sentence(TypeError, lambda: mxref.quantize([[1.0, 2.0], [3.0]], "mxint8"))
    assert text.startswith("values must be a rectangular array")


# Elements of other formats.


@pytest.mark.parametrize("name", OTHER_FORMATS)
def test_blocks_of_other_elements(name: str) -> None:
    element = OTHER_FORMATS[name]
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
        assert bits_of(blocks.dequantize(np.float64)) == bits_of(decoded)


@pytest.mark.parametrize(
    "element",
    [
        ElementFormat("e8m7", 8, 7, 127, Specials.IEEE),
        ElementFormat("no_zero", 4, 3, 7, subnormals=False),
    ],
    ids=lambda fmt: fmt.name,
)
def test_elements_that_encode_refuses(element: ElementFormat) -> None:
    fmt = BlockFormat("mine", element, E8M0, 2)
    text = sentence(ValueError, lambda: mxref.encode([1.0], element))
    assert sentence(ValueError, lambda: mxref.quantize([1.0, 2.0], fmt)) == text


def test_codes_of_more_than_8_bits_are_not_cut() -> None:
    fmt = BlockFormat("mine", ElementFormat("e8m7", 8, 7, 127, Specials.IEEE), E8M0, 2)
    with pytest.raises(ValueError, match="8 bits"):
        Blocks([300, 0], [127], fmt, 0, (2,))


# Special blocks.


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", NAMES)
def test_a_nan_or_an_infinity_makes_a_nan_block(name: str, source: str) -> None:
    inf, sign = INFINITY[source], 1 << WIDTH[source] - 1
    nan = QUIET_NAN[source]
    one = bits_of(np.ones(1, SOURCES[source]))[0]
    for special in (inf, inf | sign, nan, nan | sign, inf + 1, 2 * sign - 1):
        x = floats([[one, special, one], [one, one, one], [special, 0, sign]], source)
        blocks = mxref.quantize(x, name, overflow="nonsaturating")
        assert blocks.scale_codes.tolist() == [[0xFF], [127 - EMAX[ELEMENT[name]]], [0xFF]]
        assert not blocks.codes[[0, 2]].any()
        decoded = bits_of(blocks.dequantize(SOURCES[source]))
        assert decoded == [nan] * 3 + [one] * 3 + [nan] * 3


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", NAMES)
def test_a_block_of_zeros(name: str, source: str) -> None:
    sign = 1 << WIDTH[source] - 1
    blocks = mxref.quantize(floats([0, sign, 0], source), name)
    assert blocks.scale_codes.tolist() == [0]
    assert blocks.codes.tolist() == [0, minus_zero(name), *[0] * 30]
    decoded = bits_of(blocks.dequantize(SOURCES[source]))
    assert decoded == [0, 0 if name == "mxint8" else sign, 0]


def test_minus_zero_is_kept_beside_numbers() -> None:
    for name in NAMES:
        blocks = mxref.quantize(np.float32([1.0, -0.0, -1e-30]), name)
        assert blocks.codes[1:3].tolist() == [minus_zero(name)] * 2


@pytest.mark.parametrize(
    ("values", "dtype", "scale", "codes"),
    [
        # All of these scales are clamped to 2**-127.
        ([P**-127, P**-128, P**-129, -(P**-149)], np.float32, 0, [2, 1, 0, 8]),
        ([P**-149], np.float32, 0, [0]),
        ([1.5 * P**-128, -0.75 * P**-127], np.float32, 0, [2, 0xA]),
        ([P**-125, P**-126], np.float32, 0, [6, 4]),
        ([P**-1074, -(P**-128)], np.float64, 0, [0, 9]),
        # Not clamped: the subnormals of float16 are in the range of the scales.
        ([P**-24, -3 * P**-24], np.float16, 127 - 25, [4, 0xF]),
        ([P**-124, P**-149], np.float32, 1, [6, 0]),
    ],
)
def test_subnormal_blocks(values: list[float], dtype: Any, scale: int, codes: list[int]) -> None:
    blocks = mxref.quantize(np.array(values).astype(dtype), "mxfp4_e2m1", block_size=len(values))
    assert (blocks.scale_codes.tolist(), blocks.codes.tolist()) == ([scale], codes)


@pytest.mark.parametrize(
    ("values", "name", "scale", "codes"),
    [
        ([1.5 * P**129, P**127], "mxfp4_e2m1", 254, [7, 2]),
        ([P**130, P**127, -(P**129)], "mxfp4_e2m1", 254, [7, 2, 0xE]),
        ([P**1023, -(P**1023), 1.0], "mxfp8_e5m2", 254, [0x7B, 0xFB, 0x00]),
        ([P**128, -(P**127)], "mxint8", 254, [0x7F, 0xC0]),
        ([1.75 * P**135, 1.0], "mxfp8_e4m3", 254, [0x7E, 0x00]),
    ],
)
def test_scales_are_clamped_to_2_to_127(
    values: list[float], name: str, scale: int, codes: list[int]
) -> None:
    blocks = mxref.quantize(np.float64(values), name)
    assert blocks.scale_codes.tolist() == [scale]
    assert blocks.codes[: len(values)].tolist() == codes


def test_a_float64_block_is_rounded_once() -> None:
    x = np.float64([4.0, 5 + P**-45, 0.25 + P**-54, 2 - P**-52])
    assert mxref.quantize(x, "mxfp4_e2m1").codes[:4].tolist() == [6, 7, 1, 4]
    # amax is below 2, as float32 it would not be.
    assert mxref.quantize(x[3:], "mxfp4_e2m1").scale_codes.tolist() == [125]


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
    x = floats([0x80000001, 0xFF800000, 0x7F800001, 0x3F800000], "f32")
    before = x.tobytes()
    blocks = mxref.quantize(x, "mxfp8_e5m2", block_size=2)
    assert x.tobytes() == before
    assert not np.shares_memory(blocks.codes, x)
    codes, scales = blocks.codes.tobytes(), blocks.scale_codes.tobytes()
    decoded = blocks.dequantize()
    want = bits_of(decoded)
    decoded[:] = 0
    assert (blocks.codes.tobytes(), blocks.scale_codes.tobytes()) == (codes, scales)
    assert bits_of(blocks.dequantize()) == want


@pytest.mark.parametrize("name", NAMES)
def test_views_have_the_types_of_ml_dtypes_and_copy_nothing(name: str) -> None:
    blocks = mxref.quantize(sample((2, 33)), name)
    types: dict[str, Any] = {
        "e5m2": ml_dtypes.float8_e5m2,
        "e4m3": ml_dtypes.float8_e4m3fn,
        "e3m2": ml_dtypes.float6_e3m2fn,
        "e2m3": ml_dtypes.float6_e2m3fn,
        "e2m1": ml_dtypes.float4_e2m1fn,
        "int8": np.int8,
    }
    assert blocks.elements.dtype == np.dtype(types[ELEMENT[name]])
    assert blocks.scales.dtype == np.dtype(ml_dtypes.float8_e8m0fnu)
    assert (blocks.elements.shape, blocks.scales.shape) == ((2, 64), (2, 2))
    assert np.shares_memory(blocks.elements, blocks.codes)
    assert np.shares_memory(blocks.scales, blocks.scale_codes)
    again = Blocks(blocks.elements, blocks.scales, blocks.format, 1, (2, 33))
    assert equal(again, blocks)


# Properties.

NUMBERS = st.builds(math.ldexp, st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-70, -40))
BLOCK = st.lists(NUMBERS | st.sampled_from([0.0, -0.0]), min_size=1, max_size=40)
ROUNDINGS = st.sampled_from(["ties_to_even", "ties_to_away", "toward_zero", "toward_negative"])


@pytest.mark.sampled(6)
@given(BLOCK, st.sampled_from(NAMES), ROUNDINGS, st.randoms())
def test_a_permutation_inside_a_block_permutes_the_codes(
    values: list[float], name: str, rounding: str, random: Any
) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    size = len(values)
    whole = mxref.quantize(values, name, block_size=size, rounding=rounding)
    moved = mxref.quantize([values[i] for i in order], name, block_size=size, rounding=rounding)
    assert moved.scale_codes.tolist() == whole.scale_codes.tolist()
    assert moved.codes.tolist() == whole.codes[order].tolist()


@pytest.mark.sampled(6)
@given(BLOCK, st.integers(-40, 40), st.sampled_from(NAMES), ROUNDINGS)
def test_a_power_of_two_moves_the_scale_alone(
    values: list[float], k: int, name: str, rounding: str
) -> None:
    assume(any(values))
    size = len(values)
    whole = mxref.quantize(values, name, block_size=size, rounding=rounding)
    scaled = [math.ldexp(x, k) for x in values]
    moved = mxref.quantize(scaled, name, block_size=size, rounding=rounding)
    assert (moved.scale_codes - whole.scale_codes.astype(int)).tolist() == [k]
    assert moved.codes.tolist() == whole.codes.tolist()


@pytest.mark.sampled(6)
@given(BLOCK, BLOCK, st.sampled_from(NAMES))
def test_blocks_do_not_see_each_other(a: list[float], b: list[float], name: str) -> None:
    size = max(len(a), len(b))
    rows = [x + [0.0] * (size - len(x)) for x in (a, b)]
    both = mxref.quantize(rows[0] + rows[1], name, block_size=size)
    for i, row in enumerate(rows):
        alone = mxref.quantize(row, name, block_size=size)
        assert both.codes[i * size : (i + 1) * size].tolist() == alone.codes.tolist()
        assert both.scale_codes[i : i + 1].tolist() == alone.scale_codes.tolist()


@pytest.mark.sampled(6)
@given(
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40) | BLOCK,
    st.sampled_from(NAMES),
    ROUNDINGS,
)
def test_floor_finds_the_same_blocks_again(
    values: list[float] | list[int], name: str, rounding: str
) -> None:
    x = floats(values, "f32") if isinstance(values[0], int) else np.float64(values)
    once = mxref.quantize(x, name, rounding=rounding)
    twice = mxref.quantize(once.dequantize(np.float64), name, rounding=rounding)
    assert equal(once, twice)


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


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        (
            {"codes": np.zeros(4, np.uint8)},
            ValueError,
            "codes must have shape (32,) for a tensor of shape (3,) with block size 32 on axis 0, "
            "got (4,)",
        ),
        (
            {"codes": np.zeros(2, np.uint8)},
            ValueError,
            "codes must have shape (32,) for a tensor of shape (3,) with block size 32 on axis 0, "
            "got (2,)",
        ),
        (  # a short block of codes is one thing, of scales another
            {"codes": np.zeros(3, np.uint8), "scale_codes": np.zeros(3, np.uint8)},
            ValueError,
            "scale_codes must have shape (1,) for a tensor of shape (3,) with block size 32 on "
            "axis 0, got (3,)",
        ),
        ({"shape": (-3,)}, ValueError, "shape must hold no negative numbers, got (-3,)"),
        (
            {"shape": (3, -1), "axis": 0},
            ValueError,
            "shape must hold no negative numbers, got (3, -1)",
        ),
        ({"shape": (3.7,)}, TypeError, "shape must hold integers, got (3.7,)"),
        ({"shape": (3.0,)}, TypeError, "shape must hold integers, got (3.0,)"),
        ({"shape": 3}, TypeError, "shape must hold integers, got 3"),
        ({"shape": (), "axis": 1}, ValueError, "axis must be in [-1, 0] for 1 axes, got 1"),
        ({"axis": 0.0}, TypeError, "axis must be an integer or a tuple of integers, got float"),
        ({"axis": "0"}, TypeError, "axis must be an integer or a tuple of integers, got str"),
        # Formats without a dtype take integers alone; None is NumPy's word for float64.
        (
            {"format": BlockFormat("mine", E1M2, E8M0, 32), "codes": np.zeros(32)},
            TypeError,
            "codes must be unsigned integers for e1m2, got float64",
        ),
        (
            {"format": BlockFormat("nvfp4", E2M1, UE4M3, 32), "scale_codes": np.zeros(1)},
            TypeError,
            "scale_codes must be unsigned integers for ue4m3, got float64",
        ),
        (
            {"format": E2M1},
            TypeError,
            "block_format must be a block format or its name, got ElementFormat",
        ),
        (
            {"codes": np.zeros((1, 32), np.uint8)},
            ValueError,
            "codes must have shape (32,) for a tensor of shape (3,) with block size 32 on axis 0, "
            "got (1, 32)",
        ),
        (
            {"shape": (33,)},
            ValueError,
            "codes must have shape (64,) for a tensor of shape (33,) with block size 32 on axis 0, "
            "got (32,)",
        ),
        (
            {"scale_codes": np.zeros(2, np.uint8)},
            ValueError,
            "scale_codes must have shape (1,) for a tensor of shape (3,) with block size 32 on "
            "axis 0, got (2,)",
        ),
        (
            {"codes": np.full(32, 16)},
            ValueError,
            "codes must be in [0, 15] for e2m1, got 16 at index (0,)",
        ),
        (
            {"scale_codes": [256]},
            ValueError,
            "scale_codes must be in [0, 255] for e8m0, got 256 at index (0,)",
        ),
        (
            {"codes": np.zeros(32, np.float32)},
            TypeError,
            "codes must be unsigned integers or float4_e2m1fn for e2m1, got float32",
        ),
        (
            {"scale_codes": np.zeros(1, np.float32)},
            TypeError,
            "scale_codes must be unsigned integers or float8_e8m0fnu for e8m0, got float32",
        ),
        ({"axis": 1}, ValueError, "axis must be in [-1, 0] for 1 axes, got 1"),
    ],
)
def test_blocks_that_do_not_belong_together(
    changes: dict[str, Any], kind: type[Exception], text: str
) -> None:
    good: dict[str, Any] = {
        "codes": np.zeros(32, np.uint8),
        "scale_codes": np.zeros(1, np.uint8),
        "format": FP4,
        "axis": 0,
        "shape": (3,),
    }
    Blocks(**good)
    assert sentence(kind, lambda: Blocks(**(good | changes))) == text


def test_ragged_codes() -> None:
    text = sentence(TypeError, lambda: Blocks([[1, 2], [3]], [[127]], FP4, 0, (2, 2)))
    assert text.startswith("codes must be a rectangular array of codes: ")
    text = sentence(TypeError, lambda: Blocks(np.zeros(32, int), [[1, 2], [3]], FP4, 0, (32,)))
    assert text.startswith("scale_codes must be a rectangular array of codes: ")


# Dequantize.


def one_block(scale: int, codes: list[int], name: str = "mxfp4_e2m1") -> Blocks:
    fmt = dataclasses.replace(BLOCK_FORMATS[name], block_size=len(codes))
    return Blocks(np.array(codes, np.uint8), np.array([scale], np.uint8), fmt, 0, (len(codes),))


@pytest.mark.parametrize("name", NAMES)
def test_dequantize_to_float64_is_the_exact_product(name: str) -> None:
    element = ELEMENT[name]
    not_finite = {"e5m2": (0x7C, 0x7D, 0x7E, 0x7F), "e4m3": (0x7F,)}.get(element, ())
    codes = [c for c in range(1 << CODE_BITS[element]) if c & 0x7F not in not_finite]
    numbers = [exact.value(code, element) for code in codes]
    for scale in (0, 1, 2, 111, 126, 127, 128, 200, 253, 254):
        values = one_block(scale, codes, name).dequantize(np.float64).tolist()
        assert [Fraction(v) for v in values] == [n * Fraction(2) ** (scale - 127) for n in numbers]


@pytest.mark.parametrize(
    ("dtype", "scale", "codes", "bits"),
    [
        # 2**128 and more; 1.5 * 2**127 is a float32.
        (np.float32, 254, [3, 4, 0xF, 8], [0x7F400000, 0x7F800000, 0xFF800000, 0x80000000]),
        (np.float32, 0, [1, 2, 7, 9], [0x00200000, 0x00400000, 0x01400000, 0x80200000]),
        (ml_dtypes.bfloat16, 254, [3, 4, 0xF], [0x7F40, 0x7F80, 0xFF80]),
        (ml_dtypes.bfloat16, 0, [1, 2, 3, 9], [0x0020, 0x0040, 0x0060, 0x8020]),
        # 65536 is beyond float16; 2**-25 and 1.5 * 2**-24 are ties.
        (np.float16, 141, [5, 6, 0xE], [0x7A00, 0x7C00, 0xFC00]),
        (np.float16, 103, [1, 2, 3, 9], [0x0000, 0x0001, 0x0002, 0x8000]),
        (np.float16, 102, [1, 2, 3, 4, 0xB], [0x0000, 0x0000, 0x0001, 0x0001, 0x8001]),
        (np.float16, 0, [7, 0xF], [0x0000, 0x8000]),
        (np.float16, 254, [0, 1, 9], [0x0000, 0x7C00, 0xFC00]),
    ],
)
def test_dequantize_rounds_the_product_once(
    dtype: Any, scale: int, codes: list[int], bits: list[int]
) -> None:
    values = one_block(scale, codes).dequantize(dtype)
    assert values.dtype == np.dtype(dtype)
    assert bits_of(values) == bits


def test_dequantize_rounds_eight_bits_of_int8() -> None:
    # 127 * 2**-6 * 2**-127 = 127 * 2**-133 is exact; in float16, 0x41 = 65 * 2**-6 loses a bit.
    assert bits_of(one_block(0, [0x7F, 0x80, 0x01], "mxint8").dequantize(ml_dtypes.bfloat16)) == [
        0x007F,
        0x8080,
        0x0001,
    ]
    assert bits_of(one_block(108, [0x41, 0x43, 0x81], "mxint8").dequantize(np.float16)) == [
        0x0020,
        0x0022,
        0x8040,
    ]


@pytest.mark.parametrize("source", SOURCES)
def test_dequantize_of_nan_and_infinity(source: str) -> None:
    inf, nan, sign = INFINITY[source], QUIET_NAN[source], 1 << WIDTH[source] - 1
    e5m2 = one_block(254, [0x7C, 0xFC, 0x7D, 0xFE], "mxfp8_e5m2").dequantize(SOURCES[source])
    assert bits_of(e5m2) == [inf, inf | sign, nan, nan]
    e4m3 = one_block(0, [0x7F, 0xFF, 0x80], "mxfp8_e4m3").dequantize(SOURCES[source])
    assert bits_of(e4m3) == [nan, nan, sign]
    for name in NAMES:
        everything = list(range(1 << CODE_BITS[ELEMENT[name]]))
        values = one_block(0xFF, everything, name).dequantize(SOURCES[source])
        assert bits_of(values) == [nan] * len(everything)


def test_dequantize_ignores_the_padding() -> None:
    fmt = dataclasses.replace(FP4, block_size=4)
    blocks = Blocks(np.uint8([[2, 4, 7, 7]]), np.uint8([[127]]), fmt, 1, (1, 2))
    assert blocks.dequantize().tolist() == [[1.0, 2.0]]


def test_both_spellings_of_dequantize_are_one() -> None:
    blocks = mxref.quantize(sample((3, 40)), "mxfp6_e2m3", axis=0)
    assert bits_of(blocks.dequantize(np.float64)) == bits_of(mxref.dequantize(blocks, np.float64))
    assert blocks.dequantize().dtype == np.float32


@pytest.mark.parametrize("wrong", [np.zeros(3, np.uint8), (1, 2), None], ids=repr)
def test_dequantize_of_what_is_no_blocks(wrong: Any) -> None:
    assert sentence(TypeError, lambda: mxref.dequantize(wrong)) == (
        "blocks must be a Blocks, or codes with scale_codes= and block_format=, "
        f"got {type(wrong).__name__} alone"
    )


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
            assert bits_of(got) == bits_of(want)


@pytest.mark.parametrize(
    ("arrays", "kind", "text"),
    [
        ({"scale_codes": [127]}, TypeError, "scale_codes and block_format must be given with"),
        ({"block_format": "mxfp4_e2m1"}, TypeError, "scale_codes and block_format must be given"),
        (
            {"scale_codes": [127, 127], "block_format": "mxfp4_e2m1"},
            ValueError,
            "scale_codes must have shape (1,) for a tensor of shape (3,)",
        ),
        ({"scale_codes": [256], "block_format": "mxfp4_e2m1"}, ValueError, "scale_codes must be"),
        ({"scale_codes": [56], "block_format": "nvfp4"}, ValueError, "tensor_scale must be given"),
        ({"axis": 0}, TypeError, "got list alone"),
    ],
    ids=str,
)
def test_arrays_that_dequantize_refuses(
    arrays: dict[str, Any], kind: type[Exception], text: str
) -> None:
    assert text in sentence(kind, lambda: mxref.dequantize([1, 2, 3], **arrays))


def test_dequantize_of_blocks_takes_nothing_of_arrays() -> None:
    blocks: Any = one_block(127, [1])
    for own in ({"axis": 0}, {"block_size": 4}, {"tensor_scale": 1.0}):
        text = sentence(TypeError, lambda own=own: mxref.dequantize(blocks, **own))  # type: ignore[misc]
        assert text.startswith("axis, block_size and tensor_scale must be those of the Blocks")
    both = {"scale_codes": [127], "block_format": "mxfp4_e2m1"}
    assert "got Blocks, list and str" in sentence(
        TypeError, lambda: mxref.dequantize(blocks, **both)
    )


def test_dequantize_to_another_dtype() -> None:
    assert sentence(TypeError, lambda: one_block(127, [1]).dequantize(np.int8)) == (
        "dtype must be float64, float32, float16 or bfloat16, got int8"
    )
    nothing: Any = None
    assert sentence(TypeError, lambda: one_block(127, [1]).dequantize(nothing)) == (
        "dtype must be float64, float32, float16 or bfloat16, got None"
    )


def test_a_scale_without_a_dtype_has_no_view() -> None:
    fmt = BlockFormat("other_scale", E2M1, UE4M3, 16)
    blocks = Blocks(np.zeros(16, np.uint8), np.zeros(1, np.uint8), fmt, 0, (16,))
    assert blocks.elements.dtype == np.dtype(ml_dtypes.float4_e2m1fn)
    assert sentence(TypeError, lambda: blocks.scales) == (
        "ue4m3 has no NumPy or ml_dtypes dtype: use the codes"
    )


def test_a_nan_in_a_flushed_block_is_a_zero_and_no_error() -> None:
    choices = {"nan_to_finite": "error", "block_nan": "ignore", "scale_underflow": "flush"}
    bits = [1, 0xFFC00000, *[0] * 30]
    scale, codes = exact.quantize(bits, "f32", "e2m1", **choices)
    assert (scale, codes[:2]) == (0, [0, 8])
    blocks = mxref.quantize(np.array(bits, np.uint32).view(np.float32), "mxfp4_e2m1", **choices)
    assert (blocks.scale_codes.tolist(), blocks.codes.tolist()) == ([scale], codes)
    bits[0] = 0x3F800000  # of a block that is not flushed it is one
    with pytest.raises(ValueError, match="must not be NaN under nan_to_finite=error"):
        mxref.quantize(np.array(bits, np.uint32).view(np.float32), "mxfp4_e2m1", **choices)


def test_an_infinity_that_a_flushed_reciprocal_makes_nan_is_an_error_where_nan_is() -> None:
    choices = {
        "nan_to_finite": "error",
        "block_inf": "largest_scale",
        "scaling": "reciprocal_flushed",
    }
    bits = [0x7F800000, 0x3F800000, *[0] * 30]
    with pytest.raises(ValueError, match="nan_to_finite is error"):
        exact.quantize(bits, "f32", "e2m1", **choices)
    with pytest.raises(ValueError, match="must not be NaN under nan_to_finite=error"):
        mxref.quantize(np.array(bits, np.uint32).view(np.float32), "mxfp4_e2m1", **choices)


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


def test_nobody_can_write_to_new_blocks() -> None:
    """Not through the arrays that the codes are views of, either."""
    blocks = mxref.quantize(np.ones((3, 40), np.float32), "mxfp4_e2m1")
    assert not is_writeable(blocks.codes)
    assert not is_writeable(blocks.scale_codes)
