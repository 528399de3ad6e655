"""Blocks with more elements than a tile: the slow twin's bits, in memory that does not grow."""

from __future__ import annotations

import functools
import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tables import choices

import mxref
from mxref import exact
from mxref.blocks import tiles, writing

SPECIAL = [np.inf, -np.inf, np.nan, -np.nan]
MIB = 1 << 20
ELEMENTS = 1 << 21


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 8 elements, so that a block of 9 is a large one."""
    monkeypatch.setattr(tiles, "TILE", 8)
    monkeypatch.setattr(writing, "TILE", 8)
    monkeypatch.setattr(tiles, "_ALONG", 2)


def sample(shape: tuple[int, ...], specials: list[float], dtype: type = np.float32) -> Any:
    generator = np.random.default_rng(len(specials) + len(shape))
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-9, 4, shape)
    values[generator.random(shape) < 0.1] = -0.0
    for special in specials:
        values[generator.random(shape) < 0.02] = special
    return values.astype(dtype)


def regions(
    shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """The index of each block's scale, and the elements that the block has."""
    unit = dict(zip(axes, sizes, strict=True))
    units = [unit.get(axis, 1) for axis in range(len(shape))]
    for index in itertools.product(*(range(-(-n // u)) for n, u in zip(shape, units, strict=True))):
        yield index, tuple(slice(i * u, (i + 1) * u) for i, u in zip(index, units, strict=True))


def twins_block(x: Any, size: int, element: str, **choices: Any) -> tuple[int, list[int]]:
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").ravel().tolist()
    name = {2: "f16", 4: "f32", 8: "f64"}[x.dtype.itemsize]
    return exact.quantize(bits + [0] * (size - len(bits)), name, element, **choices)


@functools.cache
def numbers_of(scale: int) -> np.ndarray:
    """float32 bits of every code of E2M1 under a scale."""
    return np.array([exact.dequantize(scale, code, "e2m1") for code in range(16)], np.uint32)


CASES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((70,), (0,), (9,)),
    ((70,), (0,), (64,)),
    ((20,), (0,), (1 << 10,)),
    ((3, 50), (1,), (17,)),
    ((50, 3), (0,), (20,)),
    ((30, 21), (0,), (13,)),
    ((4, 9, 5), (1,), (11,)),
    ((13, 11), (0, 1), (6, 5)),
    ((5, 40), (0, 1), (16, 3)),
]


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(("shape", "axes", "sizes"), CASES)
@pytest.mark.parametrize("specials", [[], SPECIAL])
def test_codes_are_those_of_the_twin(
    shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...], specials: list[float]
) -> None:
    x, size = sample(shape, specials), int(np.prod(sizes))
    for order, threads in ((x, 1), (np.asfortranarray(x), 2)):
        blocks = mxref.quantize(
            order, "mxfp4_e2m1", axis=axes, block_size=sizes, tail="short", threads=threads
        )
        for index, where in regions(shape, axes, sizes):
            scale, codes = twins_block(x[where], size, "e2m1")
            part = blocks.codes[where]
            assert (blocks.scale_codes[index], part.ravel().tolist()) == (scale, codes[: part.size])
        wanted = np.empty(shape, np.uint32)
        for index, where in regions(shape, axes, sizes):
            wanted[where] = numbers_of(int(blocks.scale_codes[index]))[blocks.codes[where]]
        assert (mxref.dequantize(blocks, threads=threads).view(np.uint32) == wanted).all()


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "chosen",
    [
        "block_nan=ignore block_inf=ignore,largest_scale",
        "nan_block_codes=ones",
        "scale_underflow=flush scaling=reciprocal_flushed",
    ],
)
def test_blocks_with_nan_and_infinity_under_choices(chosen: str, dtype: type) -> None:
    """A part has the scale of its block, whichever part the NaN, infinity and amax are in."""
    x = sample((6, 40), [*SPECIAL, 1e9, 1e-7], dtype)
    x[0], x[1], x[2] = np.nan, np.inf, 0
    for named in choices(chosen):
        blocks = mxref.quantize(x, "mxfp8_e4m3", block_size=25, **named)
        assert blocks.codes.shape == (6, 50)
        for row, block in np.ndindex(6, 2):
            part = slice(25 * block, 25 * block + 25)
            scale, codes = twins_block(x[row, part], 25, "e4m3", **named)
            assert blocks.scale_codes[row, block] == scale
            assert blocks.codes[row, part].tolist() == codes


WITH_SPECIALS = [
    *((name, [np.inf, np.nan]) for name in ("exact", "transformer_engine", "cublas")),
    *((name, []) for name in ("torchao", "compressed_tensors")),
    ("compressed_tensors", [np.inf]),
]


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize(("arithmetic", "specials"), WITH_SPECIALS)
def test_scales_of_two_levels(arithmetic: str, specials: list[float]) -> None:
    x = sample((2, 50), specials)
    how: dict[str, Any] = {"scale_arithmetic": arithmetic}
    if arithmetic == "compressed_tensors":  # as the slow twin takes it
        how |= {"zero_sign": "dropped", "nan_to_finite": "zero"}
    blocks = mxref.quantize(x, "nvfp4", block_size=20, **how)
    padded = np.pad(x, ((0, 0), (0, 10))).reshape(-1, 20)
    tensor, rows = exact.quantize_scaled(
        padded.view(np.uint32).tolist(), "f32", "e2m1", "ue4m3", arithmetic, "dynamic"
    )
    assert blocks.tensor_scale is not None
    assert blocks.tensor_scale.bits == tensor
    assert blocks.scale_codes.ravel().tolist() == [scale for scale, _ in rows]
    assert blocks.codes.ravel().tolist() == [code for _, codes in rows for code in codes]


def test_four_over_six_refuses_them() -> None:
    """A block's scale is the one with less error, of which a part of a block has only its own."""
    how: dict[str, Any] = {"scale_arithmetic": "transformer_engine_4over6"}
    with pytest.raises(ValueError, match=r"^block_size must be at most 262144 for .* got 262145$"):
        mxref.quantize(np.ones(20), "nvfp4", block_size=tiles.TILE + 1, **how)


@pytest.mark.usefixtures("small_tiles")
def test_stochastic_rounding_draws_for_each_element() -> None:
    x = sample((3, 30), [])
    draws = np.random.default_rng(1).integers(0, 16, x.shape)
    how: dict[str, Any] = {"rounding": "stochastic_a", "random_width": 4}
    blocks = mxref.quantize(x, "mxfp4_e2m1", block_size=30, random_bits=draws, **how)
    for row, some in enumerate(draws.tolist()):
        scale, codes = twins_block(x[row], 30, "e2m1", random_bits=some, **how)
        assert (blocks.scale_codes[row, 0], blocks.codes[row].tolist()) == (scale, codes)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("given", [False, True])
def test_padding_is_what_zeros_become(given: bool) -> None:
    """Also in an array of the caller, whose bytes are not zeros."""
    x = np.float32([1.0, np.nan, 3.0, 0.0])[:, np.newaxis] * np.ones((4, 5), np.float32)
    out = (np.full((4, 16), 0xAB, np.uint8), np.full((4, 1), 0xAB, np.uint8)) if given else None
    blocks = mxref.quantize(x, "mxfp4_e2m1", block_size=16, nan_block_codes="ones", out=out)
    assert blocks.codes[:, 5:].tolist() == [[0] * 11, [15] * 11, [0] * 11, [0] * 11]
    tiles_of = mxref.quantize(x, "mxfp4_e2m1", axis=(0, 1), block_size=(8, 8), out=None)
    assert (tiles_of.codes.shape, tiles_of.codes[4:].any()) == ((8, 8), False)


def beyond(call: Callable[[], object]) -> int:
    """Bytes that a second call allocates at its peak."""
    call()
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("threads", "most"), [(1, MIB), (2, 8 * MIB)])
@pytest.mark.parametrize("size", [32, ELEMENTS // 2 + 1, ELEMENTS])
def test_memory_does_not_grow_with_the_block(size: int, threads: int, most: int) -> None:
    x = np.ones(ELEMENTS, np.float32)
    shapes = mxref.result_shapes(x.shape, "mxfp8_e4m3", block_size=size)
    out = np.empty(shapes.codes, np.uint8), np.empty(shapes.scale_codes, np.uint8)

    def quantize() -> mxref.Blocks:
        return mxref.quantize(x, "mxfp8_e4m3", block_size=size, out=out, threads=threads)

    def dequantize() -> object:
        return mxref.dequantize(blocks, out=numbers, threads=threads)

    assert beyond(quantize) < most
    blocks, numbers = quantize(), np.empty_like(x)
    assert beyond(dequantize) < most


@pytest.mark.parametrize("size", [1 << 27, 1 << 31])
@pytest.mark.parametrize("format", ["mxfp4_e2m1", "nvfp4"])
def test_a_short_block_takes_what_it_has(format: str, size: int) -> None:
    x = np.arange(64, dtype=np.float32)
    assert beyond(lambda: mxref.quantize(x, format, block_size=size, tail="short")) < MIB
    short = mxref.quantize(x, format, block_size=size, tail="short")
    usual = mxref.quantize(x, format, block_size=64)
    assert (short.codes == usual.codes).all()
    assert (short.scale_codes == usual.scale_codes).all()
    assert beyond(short.dequantize) < MIB
    assert (short.dequantize() == usual.dequantize()).all()


def test_the_padding_of_a_new_array_is_not_written() -> None:
    """256 MiB of zeros take no memory until somebody reads them."""
    x = np.ones((1, 64), np.float32)
    blocks = mxref.quantize(x, "mxfp4_e2m1", block_size=1 << 28)
    assert blocks.codes.shape == (1, 1 << 28)
    assert not blocks.codes[0, 64 : 1 << 28 : 1 << 20].any()
    assert (blocks.dequantize() == x).all()
