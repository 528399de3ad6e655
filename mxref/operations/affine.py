"""Affine quantization: `quantize_affine` and `dequantize_affine`.

Words of a case: quant_min, quant_max, scale, zero point, and values, or codes in their place.
Formats that end in `_axis` have, between quant_max and the scale: the axis, the number of scales
along it, and three sizes; then all scales, all zero points, and the values. The scale of formats
that end in `_scale64` is a float64 in two words, the high one first.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact import integer as slow
from mxref.integer import affine as affine_quantization
from mxref.integer import integer_choices as c
from mxref.operations.integer_operation import (
    DEFAULT,
    IntegerCall,
    IntegerOperation,
    integers_of,
    result_type,
    signed,
)
from mxref.operations.operation import Words

__all__ = ["Affine", "DequantizeAffine", "QuantizeAffine", "affine", "scale_numbers"]

#: 1.0
_ONE = 0x3F800000
_FORMATS = ("int8", "uint8", "int16", "int32", "int8_axis", "uint8_axis")


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
        places: how many words stand before the values.
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
    places: int


def affine(format: str, words: Sequence[int]) -> Affine:
    """The parts of a case of `quantize_affine` or `dequantize_affine`.

    Raises:
        ValueError: another number of words than the sizes say, or sizes that do not fit.
    """
    if len(words) < 5:
        raise ValueError(f"an affine case must have at least 5 words, got {len(words)}")
    low, high, rest = signed(words[0]), signed(words[1]), tuple(words[2:])
    if format.endswith("_scale64"):
        rest = (rest[0] << 32 | rest[1], *rest[2:])
    if not format.endswith("_axis"):
        one, zero, values = rest[:1], (signed(rest[1]),), rest[2:]
        which, places = (0,) * len(values), len(words) - len(values)
        return Affine(low, high, None, (len(values),), (), one, zero, values, which, places)
    axis, count, *sizes = signed(rest[0]), *rest[1:5]
    if len(sizes) != 3 or not -3 <= axis < 3 or not count or sizes[axis] % count:
        raise ValueError("axis, count and sizes must be those of a tensor with three axes")
    dims, place = tuple(sizes), axis % 3
    grouped = tuple(count if i == place else size for i, size in enumerate(dims))
    total = count if count == dims[place] else math.prod(grouped)
    if len(rest) != 5 + 2 * total + math.prod(dims):
        raise ValueError(f"sizes {dims} with {total} scales must have other words")
    beside = tuple(count if i == place else 1 for i in range(3))
    numbers = np.arange(total).reshape(beside if total == count else grouped)
    numbers = np.repeat(numbers, dims[place] // count, place)
    which = tuple(np.broadcast_to(numbers, dims).reshape(-1).tolist())
    zeros = tuple(map(signed, rest[5 + total : 5 + 2 * total]))
    shape = (count,) if count == dims[place] else grouped
    scales, values = rest[5 : 5 + total], rest[5 + 2 * total :]
    return Affine(low, high, axis, dims, shape, scales, zeros, values, which, 7 + 2 * total)


def scale_numbers(format: str, parts: Affine) -> NDArray[np.float64]:
    """The scales of a case as float64.

    >>> scale_numbers("int8", affine("int8", (0, 1, 0x3F800000, 0, 0)))
    array([1.])
    """
    if format.endswith("_scale64"):
        return np.array(parts.scales, np.uint64).view(np.float64)
    return np.array(parts.scales, np.uint32).view(np.float32).astype(np.float64)


class _AffineOperation(IntegerOperation):
    """One of both directions."""

    slot = "f32"

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One zero, from 0 to 1 under the scale 1."""
        if format.endswith("_scale64"):
            return 0, 1, 0x3FF00000, 0, 0, 0
        return (0, 1, *((0, 1, 1, 1, 1) if format.endswith("_axis") else ()), _ONE, 0, 0)

    def _arguments(self, format: str, parts: Affine, values: NDArray[Any]) -> tuple[Any, ...]:
        """The arguments of a call, where a scale for all is a number and no array."""
        scales: Any = scale_numbers(format, parts).reshape(parts.shape).astype(np.float32)
        zeros: Any = np.array(parts.zero_points, np.int32).reshape(parts.shape)
        if parts.axis is None:
            scales, zeros = float(scale_numbers(format, parts)[0]), int(zeros)
        ends = parts.low, parts.high
        return values.reshape(parts.dims), scales, zeros, *ends, result_type(format), parts.axis


class QuantizeAffine(_AffineOperation):
    """Floats to integers."""

    name = "quantize_affine"
    parameters = "values, scale, zero_point, quant_min, quant_max, dtype, axis"
    formats = (*_FORMATS, "int8_scale64")

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The choices, some of one format alone."""
        found: dict[str, type[enum.Enum]] = {
            "scaling": c.Scaling,
            "zero_point": c.ZeroPoint,
            "nan": c.NaN,
            "infinite": c.Infinite,
        }
        found |= {"int32": c.Int32} if format == "int32" else {}
        return found | ({"scale_type": c.ScaleType} if format.endswith("_scale64") else {})

    def choices(self, format: str) -> dict[str, tuple[str, ...]]:
        """The members; the lowest int32 is none of int32's own."""
        found = super().choices(format)
        if format == "int32":
            for name in ("nan", "infinite"):
                found[name] = tuple(one for one in found[name] if one != "int32_min")
        return found

    def first_policy(self, format: str) -> str:
        """Of one scale a policy that takes NaN."""
        return DEFAULT if "_" in format else "nan=zero"

    def refuse(self, found: Mapping[str, str]) -> None:
        """Refuse what the int32 of a number is not asked for, and quotients of two types."""
        beyond = "int32_min" in (found.get("nan"), found.get("infinite"))
        if beyond and found.get("zero_point") == "before":
            raise ValueError("int32_min must be chosen with zero_point=after")
        if {"scaling", "scale_type"} <= {*found}:
            raise ValueError("scale_type=float64 must be chosen with scaling=reciprocal")

    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case."""
        parts = affine(format, words)
        values = np.array(parts.values, np.uint32).view(np.float32)
        arguments = self._arguments(format, parts, values)
        return IntegerCall(arguments, result_type(format), parts.dims, parts.places)

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        values, *rest = call.arguments
        qparams = affine_quantization.QParams(*rest)
        return affine_quantization.quantize_affine(values, qparams, **choices)

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The codes, by the slow twin."""
        parts = affine(format, words)
        bits = int(format.removeprefix("u").removeprefix("int").split("_")[0])
        order = ("scaling", "zero_point", "nan", "infinite")
        choices = [*(chosen[name] for name in order), chosen.get("int32", "saturate")]
        choices.append(chosen.get("scale_type", "float32"))
        ends = parts.low, parts.high
        return [
            slow.quantize_affine(x, s, z, *ends, bits, choices) for x, s, z in _each(format, parts)
        ]


class DequantizeAffine(_AffineOperation):
    """Integers back to floats."""

    name = "dequantize_affine"
    parameters = "codes, scale, zero_point, quant_min, quant_max, dtype, axis"
    formats = _FORMATS

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words of 32 bits."""
        return 8, 8

    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case."""
        parts = affine(format, words)
        codes = integers_of(parts.values, result_type(format))
        arguments = self._arguments(format, parts, codes)
        return IntegerCall(arguments, np.dtype(np.float32), parts.dims, parts.places)

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The numbers, by the fast path."""
        codes, *rest = call.arguments
        return affine_quantization.dequantize_affine(codes, affine_quantization.QParams(*rest))

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The numbers, by the slow twin."""
        each = _each(format, affine(format, words))
        return [slow.dequantize_affine(signed(code), s, z) for code, s, z in each]


def _each(format: str, parts: Affine) -> list[tuple[int, int, int]]:
    """Each value with the float64 pattern of its scale and its zero point."""
    scales = scale_numbers(format, parts).view(np.uint64).tolist()
    return [
        (value, scales[i], parts.zero_points[i])
        for value, i in zip(parts.values, parts.which, strict=True)
    ]
