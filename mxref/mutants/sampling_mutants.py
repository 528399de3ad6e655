"""Class I: further forms of `grid_sample` gone wrong.

A function gets five arguments by place, and then those of `NAMED`, None for what is not given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.integer.affine import QParams
from mxref.integer.sampled_values import grid_sample_values
from mxref.integer.sampler import grid_sample
from mxref.mutants.mutant import Function, Mutants, wrong

__all__ = ["SAMPLING"]

Array = NDArray[Any]
_UNIT = 65534


def _right(
    image: Array,
    grid: Array,
    align: Any,
    padding: str,
    zero: int,
    mode: str | None = None,
    channels_last: Any = None,
    scale: float | None = None,
    output_scale: float | None = None,
    output_zero: int | None = None,
    output_dtype: Any = None,
) -> Array:
    """A right one."""
    how: dict[str, Any] = {"align_corners": bool(align), "padding": padding}
    how |= {"mode": mode or "bilinear", "channels_last": bool(channels_last)}
    if scale is None:
        return grid_sample(image, grid, **how, zero_point=zero)
    if output_scale is None:
        return grid_sample_values(image, grid, _qparams(scale, zero, image.dtype), **how)
    output = _qparams(output_scale, output_zero or 0, output_dtype)
    return grid_sample(image, grid, **how, zero_point=zero, scale=scale, output=output)


def _qparams(scale: float, zero: int, dtype: Any) -> QParams:
    info = np.iinfo(dtype)
    return QParams(scale, zero, int(info.min), int(info.max), dtype)


def _given(**changed: Any) -> Function:
    """A right one that takes other padding, mode or layout."""

    def run(image: Array, grid: Array, align: Any, padding: str, zero: int, *named: Any) -> Array:
        padding = changed.get("padding", padding)
        return _right(image, grid, align, padding, zero, changed.get("mode", named[0]), *named[1:])

    return run


def _pixels(pick: Callable[[Array, Array], Array], *, mirrored: bool = False) -> Function:
    """One that takes the pixels which `pick` says, by whole coordinates and the rest over _UNIT."""

    def run(image: Array, grid: Array, align: Any, padding: str, zero: int, *named: Any) -> Array:
        index, inside = [], np.ones(grid.shape[:2], bool)
        for axis, size in ((1, image.shape[1]), (0, image.shape[2])):
            g = grid[..., axis].astype(np.int64) + 32767
            place = g * (size - 1) if align else g * size - 32767
            if padding != "zeros" and not mirrored:
                place = np.clip(np.abs(place) if align else place, 0, (size - 1) * _UNIT)
            at = pick(*np.divmod(place, _UNIT))
            if mirrored:
                at = size - 1 - np.abs(size - 1 - np.abs(at))
            inside &= (at >= 0) & (at < size)
            index.append(np.clip(at, 0, size - 1))
        pixel: Array = image[:, index[0], index[1]]
        return np.where(inside, pixel, zero).astype(image.dtype)

    return run


def _mirrored_pixels(image: Array, grid: Array, align: Any, padding: str, *rest: Any) -> Array:
    """Pixels beyond the ends are those as far inside of the outer ones."""
    ends = [(0, 0), *((side > 1, side > 1) for side in image.shape[1:])]
    sides = [side + 2 * (side > 1) for side in image.shape[1:]]
    wide = np.pad(image, [(int(a), int(b)) for a, b in ends], mode="reflect")
    moved = np.zeros(grid.shape, np.float64)
    for axis, (old, new) in enumerate(zip(image.shape[:0:-1], sides[::-1], strict=True)):
        g = grid[..., axis].astype(np.int64) + 32767
        place = (g * (old - 1) if align else g * old - 32767) + (new > old) * _UNIT
        moved[..., axis] = place
    return _mixed(wide, moved)


def _mixed(image: Array, places: Array) -> Array:
    """Exact means of four pixels at places in units, all of them inside or next to the ends."""
    total = np.zeros((len(image), *places.shape[:2]), np.int64)
    (x, right), (y, below) = (np.divmod(places[..., i].astype(np.int64), _UNIT) for i in (0, 1))
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row, column = np.clip(y + i, 0, image.shape[1] - 1), np.clip(x + j, 0, image.shape[2] - 1)
        weight = (below if i else _UNIT - below) * (right if j else _UNIT - right)
        total += weight * image[:, row, column].astype(np.int64)
    whole, rest = np.divmod(total, _UNIT**2)
    up = (2 * rest > _UNIT**2) | ((2 * rest == _UNIT**2) & (whole & 1 == 1))
    found: Array = (whole + up).astype(image.dtype)
    return found


def _batch(change: Callable[[Array, Array], tuple[Array, Array]]) -> Function:
    """One whose images and grids are changed."""

    def run(image: Array, grid: Array, *rest: Any) -> Array:
        return _right(*change(image, grid), *rest)

    return run


def _channels_first(image: Array, grid: Array, *rest: Any) -> Array:
    """The result with its channels first, where the image has them last."""
    found = _right(image, grid, *rest)
    return np.ascontiguousarray(np.moveaxis(found, 3, 1)).reshape(found.shape)


def _quantized(change: Callable[..., tuple[int, Any, Any, Any]]) -> Function:
    """One whose zero point, scale, output scale and output zero point are changed."""

    def run(image: Array, grid: Array, align: Any, padding: str, zero: int, *named: Any) -> Array:
        mode, last, *parameters, dtype = named
        zero, *more = change(zero, *parameters)
        given: tuple[Any, ...] = (image, grid, align, padding, zero, mode, last, *more)
        if parameters[1] is None:
            return _right(*(*given, dtype))
        info, wide = np.iinfo(dtype), _right(*(*given, np.dtype(np.int16)))
        return np.clip(wide, info.min, info.max).astype(dtype)

    return run


def _clipped(image: Array, grid: Array, *arguments: Any) -> Array:
    """A result that saturates at the ends of the image's type."""
    dtype = arguments[-1]
    wide = _right(*(image, grid, *arguments[:-1], np.dtype(np.int16)))
    info = np.iinfo(image.dtype)
    return np.clip(wide, info.min, info.max).astype(dtype)


def _twice(image: Array, grid: Array, align: Any, padding: str, zero: int, *named: Any) -> Array:
    """Samples rounded to codes of the image, which get the scale of the result."""
    mode, last, scale, over, shift, dtype = named
    codes = _right(image, grid, align, padding, zero, mode, last)
    steps = (codes.astype(np.int64) - zero) * scale
    if over is None:
        numbers: Array = steps.astype(np.float32)
        return numbers
    info = np.iinfo(dtype)
    found: Array = np.clip(np.rint(steps / over) + shift, info.min, info.max).astype(dtype)
    return found


def _samples(run: Function, *options: str) -> Any:
    formats = tuple(f"{codes}_{option}" for codes in ("int8", "uint8") for option in options)
    return wrong(run, op="grid_sample", formats=formats, floats=("bytes",), model="M30")


_BATCHES, _MIRRORS = ("batch", "nhwc"), ("reflection", "nearest_reflection")
SAMPLING: Mutants = {
    "I28 nearest_half_up: takes the pixel after where the coordinate is midway": _samples(
        _pixels(lambda whole, rest: whole + (2 * rest >= _UNIT)), "nearest", "nearest_reflection"
    ),
    "I28b nearest_cut: takes the pixel before the coordinate": _samples(
        _pixels(lambda whole, rest: whole), "nearest", "nearest_reflection"
    ),
    "I28c bilinear_for_nearest: mixes four pixels": _samples(
        _given(mode="bilinear"), "nearest", "nearest_reflection"
    ),
    "I28d zeros_for_reflection: takes the zero point outside": _samples(
        _given(padding="zeros"), *_MIRRORS
    ),
    "I28e border_for_reflection: repeats the border": _samples(
        _given(padding="border"), "reflection"
    ),
    "I28f pixels_mirrored: mirrors pixels in place of coordinates": _samples(
        _mirrored_pixels, "reflection"
    ),
    "I28g one_grid_for_all: takes the first grid for all images": _samples(
        _batch(lambda image, grid: (image, np.repeat(grid[:1], len(grid), 0))), *_BATCHES
    ),
    "I28h one_image_for_all: samples the first image alone": _samples(
        _batch(lambda image, grid: (np.repeat(image[:1], len(image), 0), grid)), *_BATCHES
    ),
    "I28i channels_last_read_first: reads (N, H, W, C) as (N, C, H, W)": _samples(
        _batch(
            lambda image, grid: (
                np.moveaxis(image.reshape(np.array(image.shape)[[0, 3, 1, 2]]), 1, 3),
                grid,
            )
        ),
        "nhwc",
    ),
    "I28j channels_first_in_the_result: gives (N, C, h, w)": _samples(_channels_first, "nhwc"),
    "I28k zero_point_of_result_forgotten: leaves the zero point of the result out": _samples(
        _quantized(lambda zero, scale, over, shift: (zero, scale, over, 0)), "output"
    ),
    "I28l zero_point_of_image_taken: takes the zero point of the image for that of the result": (
        _samples(
            _quantized(lambda zero, scale, over, shift: (zero, scale, over, zero)),
            "output",
        )
    ),
    "I28m ratio_upside_down: multiplies by the scale of the result": _samples(
        _quantized(lambda zero, scale, over, shift: (zero, over, scale, shift)),
        "output",
    ),
    "I28n range_of_image: saturates at the ends of the image's type": _samples(_clipped, "output"),
    "I28o rounded_twice: rounds to codes of the image before it changes the scale": _samples(
        _twice, "output", "values"
    ),
    "I28p scale_left_out: gives the steps from the zero point": _samples(
        _quantized(lambda zero, scale, *rest: (zero, 1.0, *rest)), "values"
    ),
    "I28q zero_point_left_in: does not take the zero point off": _samples(
        _quantized(lambda zero, *rest: (0, *rest)), "values"
    ),
}
