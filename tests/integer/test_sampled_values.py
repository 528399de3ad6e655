"""Samples as float32 numbers: by hand, the slow twin, and other orders inside of the bounds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mxref.exact import samples as exact
from mxref.integer import (
    SNORM16,
    QParams,
    dequantize_affine,
    grid_sample_bounds,
    grid_sample_values,
)

F32 = np.float32
PADDINGS, MODES = ("zeros", "border", "reflection"), ("bilinear", "nearest")
WAYS = tuple(itertools.product((False, True), PADDINGS, MODES))


def near_pixels(drawn: np.random.Generator, shape: tuple[int, int], count: int) -> Any:
    """Codes of a grid at pixels, midway between two, next to these, at the ends and anywhere."""
    sides = np.maximum(2 * (np.array(shape[::-1]) - drawn.integers(0, 2)), 1)
    at = -32767 + drawn.integers(0, 1 << 30, (count, 2)) % (sides + 1) * 65534 // sides
    grid = at + drawn.integers(-1, 2, (count, 2))
    grid[::4] = drawn.integers(-32768, 32768, grid[::4].shape)
    grid[:2] = -32768, 32767
    return np.int16(grid.clip(-32768, 32767))[np.newaxis]


def test_q13_numbers_by_hand() -> None:
    image, centre = np.int8([[[4, 5]]]), np.int16([[[0, 0]]])
    how: dict[str, Any] = {"align_corners": True}
    for arithmetic in ("exact", "float32"):
        how["arithmetic"] = arithmetic
        assert grid_sample_values(image, centre, QParams(0.5, 3), **how).tolist() == [[[0.75]]]
    # A third is no float32 number: 1 + 32766/65534 of the way, times 2**-149, is rounded to 1.
    least = QParams(2.0**-127)
    points = np.int16([[[-32767, 0], [32767, 0], [-1, 0]]])
    got = grid_sample_values(np.int8([[[0, 1]]]), points, least, align_corners=True)
    assert got.view(np.uint32).tolist() == [[[0, 0x0040_0000, 0x001F_FFC0]]]


def test_q13_a_tie_of_float32_is_rounded_to_even() -> None:
    """A pixel itself: 101 and 103 times 1 + 2**-23 have a tie in the 24th bit, or are beside it."""
    scale = 1 + 2.0**-23
    image = np.arange(-128, 128, dtype=np.int16).reshape(1, 1, 256)
    grid = np.int16([[[g, 0] for g in (-32767, 0, 32767)]])
    for column in range(254):
        part = image[:, :, column : column + 3]
        got = grid_sample_values(
            part, grid, QParams(scale, 0, -999, 999, np.int16), align_corners=True
        )
        # float32 products of float64 numbers: exact, and then rounded to nearest even.
        assert got.tobytes() == F32(part.astype(np.float64) * scale).tobytes()


@pytest.mark.parametrize(("align", "padding", "mode"), WAYS)
def test_numbers_are_those_of_the_twin(align: bool, padding: str, mode: str) -> None:
    drawn = np.random.default_rng(1)
    how: dict[str, Any] = {"align_corners": align, "padding": padding, "mode": mode}
    for (shape, dtype), scale in itertools.product(
        (((1, 1), "i1"), ((5, 4), "i1"), ((3, 7), "u2")), (F32(1 / 127), F32(0.3), F32(2.0**-127))
    ):
        info = np.iinfo(dtype)
        image = drawn.integers(info.min, info.max + 1, (2, *shape)).astype(dtype)
        grid = near_pixels(drawn, shape, 20)
        qparams = QParams(scale, 3, info.min, info.max, dtype)
        for arithmetic in ("exact", "float32"):
            got = grid_sample_values(image, grid, qparams, arithmetic=arithmetic, **how)
            assert (got.shape, got.dtype) == ((2, 1, 20), np.float32)
            for c, j in np.ndindex(2, 20):
                x, y = grid[0, j].tolist()
                bits = int(scale.view(np.uint32))
                beside = {"zero_point": 3, "arithmetic": arithmetic, **how}
                want = exact.value(image[c].tolist(), x, y, bits, **beside)
                assert got[c, 0, j].view(np.uint32) == want, (arithmetic, image[c], x, y)


def in_another_order(image: Any, grid: Any, padding: str, align: bool) -> Any:
    """NumPy's float32, nothing fused, the rows first, and the last pixel first."""
    places = []
    for axis, size in ((0, image.shape[2]), (1, image.shape[1])):
        g = grid[0, :, axis]
        if align:
            place = (g + F32(1)) / F32(2) * F32(size - 1)
        else:
            place = ((g + F32(1)) * F32(size) - F32(1)) / F32(2)
        if padding == "reflection":
            low, twice = (F32(0), F32(2 * (size - 1))) if align else (F32(-0.5), F32(2 * size))
            rest = np.abs(place - low) % max(twice, F32(1))
            place = np.minimum(rest, twice - rest) + low
        places.append(place if padding == "zeros" else np.clip(place, F32(0), F32(size - 1)))
    samples = np.zeros((len(image), grid.shape[1]), F32)
    (x, y), (columns, rows) = places, (np.floor(each) for each in places)
    for i, j in ((1, 1), (1, 0), (0, 1), (0, 0)):
        row, column = (rows + i).astype(int), (columns + j).astype(int)
        inside = (row >= 0) & (row < image.shape[1]) & (column >= 0) & (column < image.shape[2])
        pixel = np.where(inside, image[:, np.where(inside, row, 0), np.where(inside, column, 0)], 0)
        down = y - rows if i else F32(1) - (y - rows)
        across = x - columns if j else F32(1) - (x - columns)
        samples += (pixel * down) * across
    return samples[:, np.newaxis]


@pytest.mark.parametrize(("align", "padding", "mode"), WAYS)
def test_q13_the_bounds_hold_what_float32_gives(align: bool, padding: str, mode: str) -> None:
    """All arithmetics are within; the ends are float32 numbers around them and not far away."""
    drawn = np.random.default_rng(2)
    how: dict[str, Any] = {"align_corners": align, "padding": padding, "mode": mode}
    for shape in ((1, 1), (2, 3), (40, 500), (1, 5000)):
        image = drawn.integers(-128, 128, (2, *shape)).astype(np.int8)
        grid, qparams = near_pixels(drawn, shape, 3000), QParams(F32(0.3), 3)
        low, high = grid_sample_bounds(image, grid, qparams, **how)
        given = [
            grid_sample_values(image, grid, qparams, arithmetic=a, **how)
            for a in ("exact", "float32")
        ]
        if mode == "bilinear":
            floats = dequantize_affine(image, qparams), dequantize_affine(grid, SNORM16)
            given.append(in_another_order(*floats, padding, align))
        for numbers in given:
            assert (low <= numbers).all()
            assert (numbers <= high).all()
        if mode == "bilinear":
            # 13 units of 2**-24 for the sums, 24 for the coordinates, of at most 255 * 0.3 each.
            most = 2 * 255 * 0.3 * (14 + 24 * sum(shape)) * 2.0**-24 + 1e-4
            assert float((high.astype(np.float64) - low).max()) < most
            assert sum(shape) == 2 or not np.array_equal(given[0], given[2])


def test_a_batch_with_channels_last() -> None:
    drawn = np.random.default_rng(6)
    images = drawn.integers(-128, 128, (3, 2, 5, 4)).astype(np.int8)
    grids = drawn.integers(-32768, 32768, (3, 6, 7, 2)).astype(np.int16)
    qparams = QParams(0.3)
    last = grid_sample_values(
        np.moveaxis(images, 1, 3), grids, qparams, align_corners=True, channels_last=True
    )
    ends = grid_sample_bounds(
        np.moveaxis(images, 1, 3), grids, qparams, align_corners=True, channels_last=True
    )
    for n in range(3):
        one = grid_sample_values(images[n], grids[n], qparams, align_corners=True)
        assert np.array_equal(np.moveaxis(last[n], 2, 0), one)
        assert (ends[0][n] <= last[n]).all()
        assert (last[n] <= ends[1][n]).all()


@pytest.mark.parametrize("function", [grid_sample_values, grid_sample_bounds])
def test_what_is_refused(function: Any) -> None:
    image, grid = np.int8([[[1, 2]]]), np.int16([[[0, 0]]])
    with pytest.raises(ValueError, match="qparams must have one scale, got axis=0"):
        function(image, grid, QParams(F32([0.5]), axis=0), align_corners=True)
    with pytest.raises(TypeError, match="q must be int8, as qparams says, got uint8"):
        function(image.astype(np.uint8), grid, QParams(0.5), align_corners=True)
    with pytest.raises(ValueError, match=r"qparams must keep all codes below 2\*\*127, got"):
        function(image, grid, QParams(2.0**120), align_corners=True)
    with pytest.raises(ValueError, match="mode must be"):
        function(image, grid, QParams(0.5), align_corners=True, mode="bicubic")


def test_a_side_is_refused_where_a_coordinate_meets_two_pixels() -> None:
    image = np.zeros((1, 1, (1 << 18) + 1), np.int8)
    with pytest.raises(ValueError, match="q must have sides of at most 262144 pixels, got 262145"):
        grid_sample_bounds(image, np.int16([[[0, 0]]]), QParams(0.5), align_corners=True)
