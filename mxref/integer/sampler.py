"""Bilinear sampling of integer images at integer coordinates, exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.single import integer_array
from mxref.integer.integer_choices import Padding, Ties, chosen
from mxref.support.integers import integer

__all__ = ["grid_sample"]

#: Coordinates are multiples of 1/_UNIT of a pixel.
_UNIT = 2 * 32767


def grid_sample(
    q: ArrayLike,
    grid: ArrayLike,
    *,
    align_corners: bool,
    padding: str | Padding = "zeros",
    zero_point: int = 0,
    ties: str | Ties = "even_code",
) -> NDArray[Any]:
    """Samples of an image at SNORM16 coordinates: the exact mean of four pixels, rounded once.

    Args:
        q: codes (C, H, W), int8, uint8, int16 or uint16; the result has their scale.
        grid: int16 codes (h, w, 2), x first; -32767 and 32767 are the ends of the image.
        align_corners: whether the ends are the centres of the outer pixels, or their outer edges.
        padding: outside is the zero point (`zeros`) or the nearest pixel (`border`).
        zero_point: the code of 0.
        ties: `even_code`, or `even_step`, as dequantizing, sampling and quantizing have it.

    Returns:
        Codes (C, h, w).

    Raises:
        TypeError: codes or a grid of another dtype.
        ValueError: another shape, an empty image, a zero point that is no code, an unknown choice.

    Source: SPEC_NOTES Q13; torch 2.13 `grid_sample`, bilinear.

    >>> grid_sample(np.int8([[[1, 2], [3, 4]]]), np.int16([[[0, 0]]]), align_corners=True).item()
    2
    >>> image, centre = np.int8([[[4, 5]]]), np.int16([[[0, 0]]])
    >>> for ties in ("even_code", "even_step"):  # 4.5 is 1.5 steps above the zero point
    ...     grid_sample(image, centre, align_corners=True, zero_point=3, ties=ties).item()
    4
    5
    """
    image, points = integer_array(q, "q"), integer_array(grid, "grid")
    zero_point = integer(zero_point, "zero_point")
    border = chosen(Padding, padding, "padding") is Padding.BORDER
    origin = zero_point if chosen(Ties, ties, "ties") is Ties.EVEN_STEP else 0
    if image.dtype.itemsize > 2 or points.dtype != np.int16:
        raise TypeError(f"q must be 8 or 16 bits and grid int16, got {image.dtype}, {points.dtype}")
    if image.ndim != 3 or 0 in image.shape[1:] or points.ndim != 3 or points.shape[2] != 2:
        shapes = f"{image.shape} and {points.shape}"
        raise ValueError(f"q must be (C, H, W) and grid (h, w, 2), got {shapes}")
    if not np.iinfo(image.dtype).min <= zero_point <= np.iinfo(image.dtype).max:
        raise ValueError(f"zero_point must be a value of {image.dtype}, got {zero_point}")
    taps: list[list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = []
    for g, size in ((points[..., 0], image.shape[2]), (points[..., 1], image.shape[1])):
        from_end = g.astype(np.int64) + 32767
        place = from_end * (size - 1) if align_corners else from_end * size - 32767
        place = np.clip(place, 0, (size - 1) * _UNIT) if border else place
        first, rest = np.divmod(place, _UNIT)
        taps.append([(first, _UNIT - rest), (first + 1, rest)])
    total = np.zeros((image.shape[0], *points.shape[:2]), np.int64)
    for j, across in taps[0]:
        for i, down in taps[1]:
            inside = (i >= 0) & (i < image.shape[1]) & (j >= 0) & (j < image.shape[2])
            pixel = image[:, np.where(inside, i, 0), np.where(inside, j, 0)].astype(np.int64)
            total += across * down * np.where(inside, pixel, zero_point)
    whole, rest = np.divmod(total, _UNIT**2)
    up = (2 * rest > _UNIT**2) | ((2 * rest == _UNIT**2) & (whole - origin & 1 == 1))
    return np.asarray((whole + up).astype(image.dtype))
