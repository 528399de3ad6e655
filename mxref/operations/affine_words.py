"""The words of `quantize_affine` and `dequantize_affine`, as fields and taken apart."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.operands import fields as of_fields
from mxref.operands.fields import Field
from mxref.operands.kinds import Floats, Integers, Scales, Size, signed

__all__ = ["Affine", "affine", "fields_of", "scale_numbers"]

_DIMS = ("d0", "d1", "d2")


@dataclass(frozen=True, slots=True)
class Affine:
    """The words of `quantize_affine` and `dequantize_affine`: patterns as they stand there.

    Args:
        low: quant_min.
        high: quant_max.
        axis: of the scales, or None for one.
        dims: the shape of the values.
        shape: the shape of the scales.
        scales: float32 patterns, or a float64 pattern of formats that end in `_scale64`.
        zero_points: one for each scale.
        values: float32 patterns, or codes in two's complement.
        which: for each value the number of its scale.
    """

    low: int
    high: int
    axis: int | None
    dims: tuple[int, ...]
    shape: tuple[int, ...]
    scales: tuple[int, ...]
    zero_points: tuple[int, ...]
    values: tuple[int, ...]
    which: tuple[int, ...]


def affine(format: str, words: Sequence[int]) -> Affine:
    """The parts of a case of `quantize_affine` or `dequantize_affine`.

    Raises:
        ValueError: another number of words than the sizes say, or sizes that do not fit.
    """
    parts = of_fields.parts_of(fields_of(format), words)
    ends = signed(int(parts["quant_min"])), signed(int(parts["quant_max"]))
    if format.endswith("_scale64"):
        scales = np.array(parts["scale_high"] << np.uint64(32) | parts["scale_low"])
    else:
        scales = parts["scale"]
    values, shape, axis = parts["values"], scales.shape, None
    numbers = np.zeros(values.shape, int)
    if "axis" in parts:
        axis, size = signed(int(parts["axis"])), int(parts["count"])
        place = axis % 3
        beside = tuple(size if i == place else 1 for i in range(3))
        numbers = np.arange(scales.size).reshape(beside if len(shape) == 1 else shape)
        numbers = np.repeat(numbers, values.shape[place] // size, place)
    which = tuple(np.broadcast_to(numbers, values.shape).reshape(-1).tolist())
    flat = (one.reshape(-1).tolist() for one in (scales, parts["zero_point"], values))
    patterns, zeros, given = (tuple(one) for one in flat)
    zeros = tuple(map(signed, zeros))
    return Affine(*ends, axis, values.shape, shape, patterns, zeros, given, which)


@functools.cache
def fields_of(format: str, codes: str = "") -> tuple[Field, ...]:
    """The fields of both directions: of that back with the dtype of its codes."""
    values = Integers(codes) if codes else Floats()
    ends = Field("quant_min", Integers("int32")), Field("quant_max", Integers("int32"))
    zero = Integers("int32")
    if format.endswith("_axis"):
        return (
            *ends,
            Field("axis", Integers("int32", -3, 2)),
            Field("count", Size()),
            *(Field(name, Size(5, least=0)) for name in _DIMS),
            Field("scale", Scales(), _shape_of_scales),
            Field("zero_point", zero, _shape_of_scales),
            Field("values", values, _DIMS),
        )
    one = [Field("scale", Scales())]
    if format.endswith("_scale64"):
        one = [Field(name, Integers("int32")) for name in ("scale_high", "scale_low")]
    return (*ends, *one, Field("zero_point", zero), Field("values", values, ("*",)))


def _shape_of_scales(sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of the scales: one axis, or three with groups along one of them."""
    place, count = signed(sizes["axis"]) % 3, sizes["count"]
    dims = tuple(sizes[name] for name in _DIMS)
    if dims[place] % count:
        raise ValueError("axis, count and sizes must be those of a tensor with three axes")
    if count == dims[place]:
        return (count,)
    return tuple(count if i == place else size for i, size in enumerate(dims))


def scale_numbers(format: str, parts: Affine) -> NDArray[np.float64]:
    """The scales of a case as float64.

    >>> scale_numbers("int8", affine("int8", (0, 1, 0x3F800000, 0, 0)))
    array([1.])
    """
    if format.endswith("_scale64"):
        return np.array(parts.scales, np.uint64).view(np.float64)
    return np.array(parts.scales, np.uint32).view(np.float32).astype(np.float64)
