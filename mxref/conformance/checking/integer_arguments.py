"""The calls of integer operations that are asked in many sizes, with random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.drawn_integers import beside_values
from mxref.cases.draws import Draws
from mxref.operations.integer_operation import IntegerCall as Asked
from mxref.operations.registry import WEIGHT_ONLY_OPERATIONS

__all__ = ["drawn_call"]

_PADDINGS = ("zeros", "border")


def drawn_call(op: str, format: str, sizes: tuple[int, ...], draw: int) -> Asked:
    """A call with random numbers.

    Args:
        op: the operation.
        format: the format.
        sizes: (n,) values; scales along the axis, values for each, and the two other axes; rows and
            codes or channels; channels, height and width of an image and of the samples; or rows of
            x and of w, and columns, or groups and the columns of one.
        draw: the number of the set of random words.

    >>> drawn_call("unpack_int4", "int4", (5, 3), 0).shape
    (5, 3)
    """
    draws = Draws(f"{sizes} {draw}")
    if op.endswith("_affine"):
        return _affine(op, format, sizes, draws)
    if op.endswith("_int4"):
        return _int4(op, sizes, draws)
    if op == "rescale":
        return _rescale(format, sizes, draws)
    if op in WEIGHT_ONLY_OPERATIONS:
        return _layer(op, format, sizes, draws)
    return _grid_sample(format, sizes, draws)


def _folded(count: int, axes: int) -> tuple[int, ...]:
    """A shape of so many values and axes.

    >>> _folded(12, 1), _folded(12, 3), _folded(33, 2), _folded(7, 2)
    ((12,), (2, 2, 3), (3, 11), (7, 1))
    """
    shape: list[int] = []
    for _ in range(axes - 1):
        shape.append(next((n for n in (2, 3, 5, 7) if count % n == 0), 1))
        count //= shape[-1]
    return (*shape, count)


def _others(before: int, behind: int, kind: int) -> tuple[int, ...]:
    """The axes beside the one with scales: mostly these two, or all in one, or three."""
    if kind == 2:
        return (before * behind,)
    return (before, *_folded(behind, 2)) if kind == 3 else (before, behind)


def _affine(op: str, format: str, sizes: tuple[int, ...], draws: Draws) -> Asked:
    """Values at the midpoints of codes and beside them, a tenth of them beyond the range."""
    dtype = np.dtype(format.partition("_")[0])
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    dims, axis = _folded(sizes[0], 1 + sizes[0] % 4), None
    shape: tuple[int, ...] = ()
    if len(sizes) > 1:
        count, size, before, behind = sizes
        others = _others(before, behind, (count // 2 + behind) % 4)
        place = (count + before + size) % (len(others) + 1)
        axis = place - (len(others) + 1) * ((count + before) // 3 % 2)
        dims = (*others[:place], count * size, *others[place:])
        shape = (count,) if size == 1 else (*others[:place], count, *others[place:])
    some = (draws.between(0, 15, shape) - 12 + 127 << 23) | draws.between(0, (1 << 23) - 1, shape)
    scales: Any = some.astype(np.uint32).view(np.float32)
    reach = min(high, 1 << 20)
    zeros: Any = draws.between(max(low, -reach), reach, shape)
    if axis is None:
        scales, zeros = float(scales), int(zeros)
        if format.endswith("_scale64"):  # of which float32 does not hold all bits
            scales *= 1 + int(draws.between(1, 1 << 20)) * 2.0**-45
        scale, zero = scales, zeros
    else:
        scale, zero = (
            beside_values(scales, dims, axis).astype(np.float64),
            beside_values(zeros, dims, axis),
        )
    if op == "dequantize_affine":
        values: NDArray[Any] = draws.between(low, high, dims).astype(dtype)
    else:
        span = reach * 2 // 10
        codes = draws.between(-reach - span, reach + span, dims)
        steps = draws.between(-2, 2, dims) * (draws.between(0, 1, dims))
        near = ((codes - zero * (draws.between(0, 3, dims) > 0) + 0.5) * scale).astype(np.float32)
        values = (near.view(np.int32) + steps.astype(np.int32)).view(np.float32)
    arguments = (values, scales, zeros, low, high, dtype, axis)
    is_code = op == "quantize_affine"
    return Asked(arguments, dtype if is_code else np.dtype(np.float32), dims, 0)


def _int4(op: str, sizes: tuple[int, ...], draws: Draws) -> Asked:
    rows, k = sizes
    if op == "pack_int4":
        codes = draws.between(-8, 7, (rows, k)).astype(np.int8)
        return Asked((codes,), np.dtype(np.uint8), (rows, -(-k // 2)), 0)
    packed = draws.between(0, 255, (rows, -(-k // 2))).astype(np.uint8)
    return Asked((packed, k), np.dtype(np.int8), (rows, k), 0)


def _rescale(format: str, sizes: tuple[int, ...], draws: Draws) -> Asked:
    """Shifts that keep every result within int32, and values within 2**(S - 1)."""
    source, target = (np.dtype(one) for one in format.split("_")[0].split("-"))
    bits = 16 if format.endswith("_m16") else 32
    info, channels = np.iinfo(source), sizes[1:]
    q = draws.between(int(info.min), int(info.max), sizes).astype(source)
    least = {1: 10, 2: 18, 4: 33}[source.itemsize] if bits == 32 else 2
    near = draws.between(max(least, bits - 4), bits + 12, channels)
    shift = np.where(draws.between(0, 3, channels) > 0, near, draws.between(least, 62, channels))
    multiplier = draws.between(0, (1 << bits - 1) - 1, channels)
    zeros = [
        int(draws.between(int(np.iinfo(one).min), int(np.iinfo(one).max)))
        if one.itemsize == 1 else 0
        for one in (source, target)
    ]  # fmt: skip
    arguments = (q, multiplier.astype(np.int32), shift.astype(np.int8), *zeros, target, bits)
    return Asked(arguments, target, sizes, 0)


def _layer(op: str, format: str, sizes: tuple[int, ...], draws: Draws) -> Asked:
    """Small integers and powers of two, of which no order of additions rounds a sum."""
    m, n, *rest = sizes
    k = math.prod(rest)
    integers = draws.between(-12, 12, (m, k)) << draws.between(0, 1, (m, k))
    x = np.ldexp(integers.astype(np.float32), int(draws.between(-20, 20)))
    groups = (n, rest[0]) if format.endswith("_groups") else (n,)
    scales = np.ldexp(np.float32(1), draws.between(0, 2, groups) + int(draws.between(-9, 0)))
    if op == "linear_qcs8w":
        w: NDArray[Any] = draws.between(-128, 127, (n, k)).astype(np.int8)
    else:
        w = draws.between(0, 255, (n, -(-k // 2))).astype(np.uint8)
    return Asked((x, w, scales.astype(np.float32)), np.dtype(np.float32), (m, n), 0)


def _grid_sample(format: str, sizes: tuple[int, ...], draws: Draws) -> Asked:
    """Any coordinates, half of them at pixels, midway between two or at the ends."""
    channels, height, width, down, across = sizes
    dtype = np.dtype(format)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    image = draws.between(low, high, sizes[:3]).astype(dtype)
    grid = draws.between(-32768, 32767, (down, across, 2))
    steps = np.array([2 * max(width - 1, 1), 2 * max(height - 1, 1)])
    exact = -32767 + draws.between(0, 1 << 30, grid.shape) % (steps + 1) * 65534 // steps
    grid = np.where(draws.between(0, 1, grid.shape) == 0, exact, grid).astype(np.int16)
    which = int(draws.between(0, 3))
    zero = int(draws.between(low, high))
    arguments = (image, grid, bool(which & 1), _PADDINGS[which >> 1], zero)
    return Asked(arguments, dtype, (channels, down, across), 0)
