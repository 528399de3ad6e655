"""An image, and where it is sampled: coordinates as integers, weighted sums of pixels.

Source: SPEC_NOTES Q13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.single import integer_array
from mxref.integer.integer_choices import Mode, Padding, chosen

#: Coordinates are multiples of 1/UNIT of a pixel.
UNIT = 2 * 32767
#: The weights of a sample add up to this.
EXACT_PIXEL = UNIT**2

Array = NDArray[Any]


@dataclass(frozen=True)
class Image:
    """A batch of images, one grid of points for each, and how they are sampled.

    Args:
        pixels: codes (N, C, H, W).
        points: SNORM16 codes (N, h, w, 2), x first.
        align_corners: whether -32767 and 32767 are the centres of the outer pixels.
        padding: what is outside.
        mode: how pixels are mixed.
        channels_last: whether the result has its channels last.
        batch: whether the result keeps its first axis.
    """

    pixels: Array
    points: Array
    align_corners: bool
    padding: Padding
    mode: Mode
    channels_last: bool
    batch: bool

    @classmethod
    def of(
        cls,
        q: ArrayLike,
        grid: ArrayLike,
        padding: str | Padding,
        mode: str | Mode,
        *,
        align_corners: bool,
        channels_last: bool,
    ) -> Image:
        """Read the arguments of a call; TypeError or ValueError for what they may not be."""
        pixels, points = integer_array(q, "q"), integer_array(grid, "grid")
        choices = chosen(Padding, padding, "padding"), chosen(Mode, mode, "mode")
        if pixels.dtype.itemsize > 2 or points.dtype != np.int16:
            got = f"{pixels.dtype}, {points.dtype}"
            raise TypeError(f"q must be 8 or 16 bits and grid int16, got {got}")
        shapes = f"{pixels.shape} and {points.shape}"
        batch = pixels.ndim == 4
        if pixels.ndim not in (3, 4) or points.ndim != pixels.ndim or points.shape[-1] != 2:
            one, all = (
                ("(H, W, C)", "(N, H, W, C)") if channels_last else ("(C, H, W)", "(N, C, H, W)")
            )
            raise ValueError(
                f"q must be {one} and grid (h, w, 2), or {all} and (N, h, w, 2), got {shapes}"
            )
        if not batch:
            pixels, points = pixels[np.newaxis], points[np.newaxis]
        if channels_last:
            pixels = np.moveaxis(pixels, 3, 1)
        if 0 in pixels.shape[2:] or len(pixels) != len(points):
            raise ValueError(f"q must have pixels and a grid for each image, got {shapes}")
        return cls(pixels, points, bool(align_corners), *choices, bool(channels_last), batch)

    def laid(self, samples: Array) -> Array:
        """Samples (N, C, h, w) as the caller has images."""
        samples = np.moveaxis(samples, 1, 3) if self.channels_last else samples
        return np.ascontiguousarray(samples if self.batch else samples[0])

    def places(self) -> list[NDArray[np.int64]]:
        """Columns and rows of the points, in units, before anything is done at the ends."""
        sizes = self.pixels.shape[:1:-1]
        places = []
        for axis, size in enumerate(sizes):
            from_end = self.points[..., axis].astype(np.int64) + 32767
            aligned = from_end * (size - 1)
            places.append(aligned if self.align_corners else from_end * size - 32767)
        return places

    def totals(
        self, zero_point: int, places: Sequence[Array] | None = None, unit: int = UNIT
    ) -> NDArray[np.int64]:
        """Sums of (code - zero_point) * weight at places, (N, C, h, w); weights add up to unit**2.

        >>> image = Image.of(np.int8([[[4, 7]]]), np.int16([[[0, 0]]]), "zeros", "bilinear",
        ...     align_corners=True, channels_last=False)  # midway
        >>> (image.totals(3) / EXACT_PIXEL).item()
        2.5
        """
        taps = []
        for place, size in zip(places or self.places(), self.pixels.shape[:1:-1], strict=True):
            padded = self._padded(place, size, unit)
            if self.mode is Mode.NEAREST:
                whole, rest = np.divmod(padded, unit)
                whole += (2 * rest > unit) | ((2 * rest == unit) & (whole & 1 == 1))
                padded = whole * unit
            first, rest = np.divmod(padded, unit)
            taps.append([(first, unit - rest), (first + 1, rest)])
        total = np.zeros(self.pixels.shape[:2] + self.points.shape[1:3], np.int64)
        for j, across in taps[0]:
            for i, down in taps[1]:
                pixel, inside = self.gathered(i, j)
                weight = np.where(inside, across * down, 0)[:, np.newaxis]
                total += weight * (pixel.astype(np.int64) - zero_point)
        return total

    def gathered(self, i: Array, j: Array) -> tuple[Array, Array]:
        """Pixels (N, C, h, w) in rows i and columns j, any where there is none; where there is."""
        height, width = self.pixels.shape[2:]
        inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
        number = np.arange(len(self.pixels))[:, np.newaxis, np.newaxis]
        found = self.pixels[number, :, np.where(inside, i, 0), np.where(inside, j, 0)]
        return np.moveaxis(found, 3, 1), inside

    def _padded(self, place: Array, size: int, unit: int) -> Array:
        """Places after what is done at the ends."""
        if self.padding is Padding.ZEROS:
            return place
        if self.padding is Padding.REFLECTION:
            low, span = (0, size - 1) if self.align_corners else (-unit // 2, size)
            around = np.abs(place - low) % (2 * max(span, 1) * unit)
            place = np.minimum(around, 2 * span * unit - around) + low
        return np.clip(place, 0, (size - 1) * unit)
