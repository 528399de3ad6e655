"""Grid sampling: codes by hand, the slow twin, identities and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mxref.exact import samples as exact
from mxref.integer import QParams, grid_sample

ENDS = np.int16([[[x, y] for x in (-32767, 0, 32767)] for y in (-32767, 0, 32767)])


def test_q13_ties_go_to_the_even_code() -> None:
    centre = ENDS[1:2, 1:2]
    for align in (False, True):
        for image, code in (([[1, 2], [3, 4]], 2), ([[3, 4], [3, 4]], 4)):
            assert grid_sample(np.int8([image]), centre, align_corners=align).tolist() == [[[code]]]


def test_q13_ties_go_to_an_even_step_from_the_zero_point() -> None:
    """Dequantized, sampled and quantized: 1.5 steps above 3 are 2, and 0.5 steps below it are 0."""
    centre, image = ENDS[1:2, 1:2], np.int8([[[4, 5]], [[5, 6]], [[2, 3]], [[1, 2]], [[-8, -7]]])
    for ties, codes in (("even_code", [4, 6, 2, 2, -8]), ("even_step", [5, 5, 3, 1, -7])):
        got = grid_sample(image, centre, align_corners=True, zero_point=3, ties=ties)
        assert got.reshape(-1).tolist() == codes
        even = grid_sample(image, centre, align_corners=True, zero_point=4, ties=ties)
        assert even.reshape(-1).tolist() == [4, 6, 2, 2, -8]


def test_q13_the_ends_of_the_grid() -> None:
    image = np.int8([[[10, 20, 30], [40, 50, 60]]])
    aligned = grid_sample(image, ENDS, align_corners=True)[0]
    assert aligned.tolist() == [[10, 20, 30], [25, 35, 45], [40, 50, 60]]
    # Else the ends are edges: half of the weight is outside in each direction.
    edges = grid_sample(image, ENDS, align_corners=False)[0]
    assert edges.tolist() == [[2, 10, 8], [12, 35, 22], [10, 25, 15]]
    border = grid_sample(image, ENDS, align_corners=False, padding="border")[0]
    assert border.tolist() == aligned.tolist()
    # x is the first of a pair.
    right = grid_sample(image, np.int16([[[32767, -32767]]]), align_corners=True)
    assert right.tolist() == [[[30]]]


def test_q13_nearest_is_the_pixel_at_the_even_coordinate() -> None:
    image, row = np.int8([[[10, 20, 30, 40]]]), np.arange(-32767, 32768, 65534 // 3)
    # With aligned corners four codes of the grid are the four pixels.
    points = np.int16([[[g, 0] for g in row]])
    how: dict[str, Any] = {"align_corners": True, "mode": "nearest"}
    assert grid_sample(image, points, **how).tolist() == [[[10, 20, 30, 40]]]
    # 0 is 1.5 of four pixels, 0.5 of two and 2.5 of six: pixels 2, 0 and 2.
    for count, code in ((4, 2), (2, 0), (6, 2)):
        pixels = np.arange(count, dtype=np.int8)[np.newaxis, np.newaxis]
        for align in (False, True):
            how["align_corners"] = align
            assert grid_sample(pixels, np.int16([[[0, 0]]]), **how).item() == code
    # Half a pixel outside, -0.5, is rounded to pixel 0; a little more is outside.
    edge, beyond = np.int16([[[-32767, 0]]]), np.int16([[[-32768, 0]]])
    how["align_corners"] = False
    assert grid_sample(image, edge, zero_point=7, **how).item() == 10
    assert grid_sample(image, beyond, zero_point=7, **how).item() == 7


def test_q13_reflection_mirrors_at_the_ends() -> None:
    """-32768 is the one code beyond an end: aligned, it is as far inside as it was outside."""
    drawn = np.random.default_rng(3)
    image = drawn.integers(-128, 128, (1, 1, 32768)).astype(np.int8)
    image[0, 0, :3] = 0, 100, -100
    beyond, within = np.int16([[[-32768, 0]]]), np.int16([[[-32766, 0]]])
    how: dict[str, Any] = {"padding": "reflection", "align_corners": True}
    # One code is (32768 - 1)/65534 of a pixel, a half: of 0 and 100, 50.
    assert grid_sample(image, within, align_corners=True).item() == 50
    assert grid_sample(image, beyond, **how).item() == 50
    assert grid_sample(image, beyond, **how | {"padding": "border"}).item() == 0
    # Unaligned, -0.5 - 32768/65534 becomes a little more than 0.
    how["align_corners"] = False
    nearer = np.int8([[[0, 127]]])
    assert grid_sample(nearer, beyond, **how).item() == 0
    assert grid_sample(np.int8([[[5]]]), beyond, **how | {"align_corners": True}).item() == 5


def test_q13_a_batch_is_its_images_and_channels_may_be_last() -> None:
    drawn = np.random.default_rng(4)
    images = drawn.integers(-128, 128, (3, 2, 5, 4)).astype(np.int8)
    grids = drawn.integers(-32768, 32768, (3, 6, 7, 2)).astype(np.int16)
    whole = grid_sample(images, grids, align_corners=True, padding="border")
    assert whole.shape == (3, 2, 6, 7)
    for image, grid, samples in zip(images, grids, whole, strict=True):
        one = grid_sample(image, grid, align_corners=True, padding="border")
        assert one.tobytes() == samples.tobytes()
    how: dict[str, Any] = {"align_corners": True, "padding": "border", "channels_last": True}
    last = grid_sample(np.moveaxis(images, 1, 3), grids, **how)
    assert last.flags["C_CONTIGUOUS"]
    assert np.array_equal(np.moveaxis(last, 3, 1), whole)
    last = grid_sample(images[0].transpose(1, 2, 0), grids[0], **how)
    assert np.array_equal(last.transpose(2, 0, 1), whole[0])


@pytest.mark.parametrize("ties", ["even_code", "even_step"])
@pytest.mark.parametrize(
    "scales", [(0.5, 0.25), (0.25, 0.5), (3.0, 7.0), (0.3, 0.1), (1e30, 1e-30)]
)
def test_q13_another_scale(scales: tuple[float, float], ties: str) -> None:
    """Codes of another scale, zero point, range and type, at ties and next to them."""
    drawn, (source, target) = np.random.default_rng(5), scales
    image = drawn.integers(-128, 128, (1, 8, 9)).astype(np.int8)
    grid = np.concatenate([np.tile(ENDS, (2, 1, 1)), drawn.integers(-32768, 32768, (6, 3, 2))])
    grid[7] = ENDS[0] + np.int16([[1, 0], [-1, 1], [0, -1]])  # beside a tie
    bits = tuple(int(np.float32(each).view(np.uint32)) for each in scales)
    for zero_point, shift in ((0, 0), (3, 0), (2, 5)):
        output = QParams(target, shift, -1000, 900, np.int16)
        how: dict[str, Any] = {"align_corners": True, "zero_point": zero_point, "ties": ties}
        got = grid_sample(image, np.int16(grid), scale=source, output=output, **how)
        assert (got.dtype, got.shape) == (np.int16, (1, 12, 3))
        for i, j in np.ndindex(12, 3):
            x, y = grid[i, j].tolist()
            beside: dict[str, Any] = {"scale_bits": bits, "output": (shift, -1000, 900)}
            want = exact.grid_sample(image[0].tolist(), x, y, **how, **beside)
            assert got[0, i, j] == want, (x, y)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_codes_are_those_of_the_twin(dtype: Any, padding: str, mode: str, align: bool) -> None:
    drawn, info = np.random.default_rng(1), np.iinfo(dtype)
    for height, width in ((1, 1), (2, 2), (1, 3), (5, 4)):
        image = drawn.integers(info.min, info.max + 1, (2, height, width)).astype(dtype)
        image[1] = drawn.integers(0, 4, (height, width))  # neighbours that tie
        grid = drawn.integers(-32768, 32768, (4, 5, 2)).astype(np.int16)
        grid[0], grid[1:4, :3] = grid[0] // 16384 * 16384, ENDS
        grid[1, 3] = -32768
        for zero_point, ties in ((0, "even_code"), (3, "even_code"), (3, "even_step")):
            beside = {"padding": padding, "zero_point": zero_point, "ties": ties, "mode": mode}
            got = grid_sample(image, grid, align_corners=align, **beside)
            assert (got.shape, got.dtype) == ((2, 4, 5), dtype)
            for c, i, j in np.ndindex(got.shape):
                x, y = grid[i, j].tolist()
                pixels = image[c].tolist()
                want = exact.grid_sample(pixels, x, y, align_corners=align, **beside)
                assert got[c, i, j] == want, (image[c], x, y)


def test_rgb_padded_to_rgba_is_rgb() -> None:
    drawn = np.random.default_rng(2)
    image = drawn.integers(-127, 128, (3, 6, 7)).astype(np.int8)
    grid = drawn.integers(-32767, 32768, (9, 8, 2)).astype(np.int16)
    padded = np.concatenate([image, np.zeros((1, 6, 7), np.int8)])
    whole = grid_sample(padded, grid, align_corners=False)
    assert np.array_equal(whole[:3], grid_sample(image, grid, align_corners=False))
    assert not whole[3].any()
    swapped = grid_sample(image.astype(">i2"), grid.astype(">i2"), align_corners=False)
    assert np.array_equal(swapped, whole[:3])
    assert swapped.dtype == np.int16
