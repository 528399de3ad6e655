"""Grid sampling: codes by hand, the slow twin, identities and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mxref.exact import integer as exact
from mxref.integer import grid_sample

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


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_codes_are_those_of_the_twin(dtype: Any, padding: str, align: bool) -> None:
    drawn, info = np.random.default_rng(1), np.iinfo(dtype)
    for height, width in ((1, 1), (2, 2), (1, 3), (5, 4)):
        image = drawn.integers(info.min, info.max + 1, (2, height, width)).astype(dtype)
        image[1] = drawn.integers(0, 4, (height, width))  # neighbours that tie
        grid = drawn.integers(-32768, 32768, (4, 5, 2)).astype(np.int16)
        grid[0], grid[1:4, :3] = grid[0] // 16384 * 16384, ENDS
        grid[1, 3] = -32768
        for zero_point, ties in ((0, "even_code"), (3, "even_code"), (3, "even_step")):
            beside = {"padding": padding, "zero_point": zero_point, "ties": ties}
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
