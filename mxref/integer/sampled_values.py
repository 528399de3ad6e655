"""Samples of integer images as float32 numbers: exact, as float32 computes them, and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import fl, fl_sum
from mxref.bits.single import CAREFUL
from mxref.integer.affine import SNORM16, QParams
from mxref.integer.integer_choices import Arithmetic, Mode, Padding, chosen
from mxref.integer.sampled_images import EXACT_PIXEL, UNIT, Image

__all__ = ["grid_sample_bounds", "grid_sample_values"]

Array = NDArray[Any]
Float64 = NDArray[np.float64]

#: In bounds a box of coordinates meets one boundary of pixels at most.
_LARGEST_SIDE = 1 << 18
#: Bounds count in this part of a unit.
_FINE = 64


def grid_sample_values(
    q: ArrayLike,
    grid: ArrayLike,
    qparams: QParams,
    *,
    align_corners: bool,
    padding: str | Padding = "zeros",
    mode: str | Mode = "bilinear",
    channels_last: bool = False,
    arithmetic: str | Arithmetic = "exact",
) -> NDArray[np.float32]:
    """Samples of a dequantized image, not quantized again: float32.

    Args:
        q: codes of the parameters' dtype, (C, H, W) or (N, C, H, W), 8 or 16 bits.
        grid: SNORM16 codes (h, w, 2) or (N, h, w, 2), x first.
        qparams: one scale and one zero point; what no code of the dtype lifts to 2**127.
        align_corners: as in `grid_sample`; so are padding, mode and channels_last.
        padding: see there.
        mode: see there.
        channels_last: see there.
        arithmetic: `exact`, the exact mean times the scale, rounded once; or `float32`, as torch
            computes it on x86 from the dequantized image and grid.

    Returns:
        float32 (C, h, w), or (N, C, h, w); with channels_last (h, w, C) or (N, h, w, C).

    Raises:
        TypeError: codes or a grid of another dtype.
        ValueError: another shape, an empty image, an unknown choice, more than one scale, a scale
            that lifts a code to 2**127.

    Source: SPEC_NOTES Q13; torch 2.13 `grid_sample`.

    >>> image, points = np.int8([[[4, 7]]]), np.int16([[[-32500, 0]]])
    >>> for arithmetic in ("exact", "float32"):
    ...     how = {"align_corners": True, "arithmetic": arithmetic}
    ...     grid_sample_values(image, points, QParams(0.3), **how).item().hex()
    '0x1.3423820000000p+0'
    '0x1.3423840000000p+0'
    """
    layout = {"align_corners": align_corners, "channels_last": channels_last}
    image = Image.of(q, grid, padding, mode, **layout)
    scale, zero = _one_scale(image, qparams)
    if chosen(Arithmetic, arithmetic, "arithmetic") is Arithmetic.FLOAT32:
        numbers = _in_float32(image, scale, zero)
    else:
        numbers = _exact(image.totals(zero), scale)
    return image.laid(CAREFUL.write(numbers).view(np.float32))


def grid_sample_bounds(
    q: ArrayLike,
    grid: ArrayLike,
    qparams: QParams,
    *,
    align_corners: bool,
    padding: str | Padding = "zeros",
    mode: str | Mode = "bilinear",
    channels_last: bool = False,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The least and the greatest number that float32 arithmetic may give for a sample.

    Whatever the order of the sums, with fused operations or without, if image and grid are
    dequantized first and each operation is rounded to nearest. Arguments are those of
    `grid_sample_values`; images have sides of at most 2**18.

    Raises:
        TypeError: as there.
        ValueError: as there, and an image with a longer side.

    Source: SPEC_NOTES Q13, with the proof.

    >>> image, points = np.int8([[[4, 7]]]), np.int16([[[-32500, 0]]])
    >>> low, high = grid_sample_bounds(image, points, QParams(0.3), align_corners=True)
    >>> low.item().hex(), high.item().hex()
    ('0x1.3423400000000p+0', '0x1.3423b60000000p+0')
    """
    layout = {"align_corners": align_corners, "channels_last": channels_last}
    image = Image.of(q, grid, padding, mode, **layout)
    scale, zero = _one_scale(image, qparams)
    sizes = image.pixels.shape[:1:-1]
    if max(sizes) > _LARGEST_SIDE:
        raise ValueError(f"q must have sides of at most {_LARGEST_SIDE} pixels, got {max(sizes)}")
    across, down = (
        _reached(place, size) for place, size in zip(image.places(), sizes, strict=True)
    )
    every = np.stack([image.totals(zero, (x, y), _FINE * UNIT) for x in across for y in down])
    reach = np.abs(image.pixels.astype(np.int64) - zero).max((1, 2, 3), initial=0)
    slack = reach[:, np.newaxis, np.newaxis, np.newaxis] * (scale * 13 * 2.0**-24) + 2.0**-147
    each = scale / (_FINE**2 * EXACT_PIXEL)
    low, high = every.min(0) * each, every.max(0) * each
    # An ulp more, since the ends are rounded, too.
    low, high = low - slack - np.abs(low) * 2.0**-23, high + slack + np.abs(high) * 2.0**-23
    low, high = (image.laid(CAREFUL.write(fl(end)).view(np.float32)) for end in (low, high))
    return low, high


def _one_scale(image: Image, qparams: QParams) -> tuple[float, int]:
    """The scale as float32 and the zero point."""
    if not isinstance(qparams, QParams):
        raise TypeError(f"qparams must be QParams, got {type(qparams).__name__}")
    if qparams.axis is not None:
        raise ValueError(f"qparams must have one scale, got axis={qparams.axis}")
    if image.pixels.dtype.newbyteorder("=") != qparams.dtype:
        raise TypeError(f"q must be {qparams.dtype}, as qparams says, got {image.pixels.dtype}")
    scale, info = qparams.single.item(), np.iinfo(qparams.dtype)
    if scale * (int(info.max) - int(info.min)) >= 2.0**127:
        raise ValueError(f"qparams must keep all codes below 2**127, got the scale {scale}")
    return scale, int(qparams.zero_point)


def _exact(total: NDArray[np.int64], scale: float) -> Float64:
    """Totals times the scale, rounded once to float32.

    The estimate is off by less than 2**-50 of it; where the ends of that interval are rounded
    apart, integers are compared with the number midway between the two.
    """
    number = total * scale / EXACT_PIXEL
    low, high = (fl(number * (1 + off)) for off in (-(2.0**-50), 2.0**-50))
    numerator, denominator = scale.as_integer_ratio()
    for place in np.flatnonzero(low != high).tolist():
        ends = low.flat[place].item(), high.flat[place].item()
        n, d = (sum(ends) / 2).as_integer_ratio()
        exact, midway = int(total.flat[place]) * numerator * d, n * denominator * EXACT_PIXEL
        even = ends[int(CAREFUL.write(np.array(ends[0]))) & 1]
        smaller, larger = sorted(ends, key=abs)
        nearer = larger if abs(exact) > abs(midway) else smaller
        low.flat[place] = even if exact == midway else nearer
    return low


def _in_float32(image: Image, scale: float, zero: int) -> Float64:
    """The vectorised kernel of torch: coordinates and sums with fused multiply-adds."""
    grid = SNORM16.single.item()
    columns: list[tuple[Float64, Float64]] = []
    rows: list[tuple[Float64, Float64]] = []
    for axis, size, found in (
        (0, image.pixels.shape[3], columns),
        (1, image.pixels.shape[2], rows),
    ):
        from_end = fl(fl(image.points[..., axis] * grid) + 1)
        if image.align_corners:
            place = fl(from_end * ((size - 1) / 2))
        else:
            place = fl_sum(from_end * (size / 2), np.array(-0.5))
        place = _padded(image, place, size)
        if image.mode is Mode.NEAREST:
            place = CAREFUL.nearest(place)
        first = np.floor(place)
        after = fl(place - first)
        found += [(first, fl(1 - after)), (first + 1, after)]
    total = np.zeros(())
    for i, down in rows:
        for j, across in columns:
            pixel, inside = image.gathered(i.astype(np.int64), j.astype(np.int64))
            number = fl((pixel.astype(np.float64) - zero) * scale)
            number = np.where(inside[:, np.newaxis], number, 0.0)
            weight = fl(across * down)[:, np.newaxis]
            total = fl_sum(number * weight, total) if total.ndim else fl(number * weight)
    return total


def _padded(image: Image, place: Float64, size: int) -> Array:
    """Coordinates after what is done at the ends, in float32."""
    if image.padding is Padding.ZEROS:
        return place
    if image.padding is Padding.REFLECTION:
        low, twice = (0.0, 2.0 * (size - 1)) if image.align_corners else (-0.5, 2.0 * size)
        around = np.abs(fl(place - low))
        rest = fl(around - twice * np.floor(fl(around / max(twice, 1.0))))
        nearer: Float64 = np.minimum(rest, fl(twice - rest))
        place = fl(nearer + low)
    return np.asarray(np.clip(place, 0, size - 1), np.float64)


def _reached(place: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """The ends of what a coordinate may become in float32, and the boundary of pixels between."""
    unit = _FINE * UNIT
    off = 12 * size * unit // (1 << 24) + 1
    low, high = place * _FINE - off, place * _FINE + off
    line = high // unit * unit
    return [low, np.where(line > low, line, low), high]
