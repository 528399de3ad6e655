"""What a matrix unit reads of plain arrays: numbers, and their exponents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import F64Array, as_float64
from mxref.bits.floats import (
    F32,
    LAYOUTS,
    FloatLayout,
    float_array,
    layout_of,
    patterns,
)
from mxref.formats.catalog import CODE_FORMATS, ElementFormat
from mxref.products.adders import Adder
from mxref.products.steps import Factors, every_code, every_number, exponents_of
from mxref.support.host_arrays import refuse_masked, unpacked_array

__all__ = ["arrays_of", "matrix_of", "slices", "terms"]

_CHUNK = 1 << 14  # elements that are converted at once
_SMALL = {fmt.dtype_name: fmt for fmt in CODE_FORMATS.values() if isinstance(fmt, ElementFormat)}
_TF32_MASK = np.uint32(0xFFFFE000)


def arrays_of(a: ArrayLike, b: ArrayLike, c: ArrayLike | None) -> list[NDArray[Any]]:
    """The matrices of a product, on the host: a, b and, if it is given, c."""
    some = [matrix_of(a, "a"), matrix_of(b, "b")]
    return some if c is None else [*some, float_array(c, "c")[0]]


def terms(
    arrays: list[NDArray[Any]], adder: Adder, name: str | Adder
) -> tuple[Factors, Factors, F64Array]:
    """Both factors, k first, and the sums before: of a, b and, if it is given, c."""
    if adder.blocks:
        raise ValueError(
            f"adder must have no scales for plain arrays, got {name}: call matmul with an aligned "
            "accumulation"
        )
    sides = zip("ab", (arrays[0].T, arrays[1]), strict=True)
    left, right = (_factors(np.ascontiguousarray(one), name, adder) for name, one in sides)
    if len(left.values) != len(right.values):
        raise ValueError(
            f"b must have as many rows as a has columns, {len(left.values)}, "
            f"got {len(right.values)}"
        )
    shape = left.values.shape[1], right.values.shape[1]
    before = np.zeros(shape)
    if len(arrays) > 2:
        before = _numbers_of(arrays[2], shape, LAYOUTS[adder.output])
    return left, right, before


def slices(count: int, size: int) -> list[slice]:
    """Parts of at most so many.

    >>> slices(5, 4)
    [slice(0, 4, None), slice(4, 8, None)]
    """
    return [slice(n, n + size) for n in range(0, count, size)]


def _numbers_of(c: NDArray[Any], shape: tuple[int, int], layout: FloatLayout) -> F64Array:
    """The numbers of c in float64."""
    if layout_of(c.dtype) != layout:
        raise TypeError(f"c must be {layout.dtype}, which the adder gives, got {c.dtype}")
    if c.shape != shape:
        raise ValueError(f"c must have the shape of the product, {shape}, got {c.shape}")
    return as_float64(patterns(c, layout), layout).view(np.float64)


def matrix_of(values: ArrayLike, parameter: str) -> NDArray[Any]:
    """A matrix on the host, of any type."""
    refuse_masked(values, parameter)
    array = unpacked_array(values, parameter)
    if array.ndim != 2:
        raise ValueError(f"{parameter} must have two axes, got shape {array.shape}")
    return array


def _factors(array: NDArray[Any], parameter: str, adder: Adder) -> Factors:
    """The numbers of a contiguous matrix and their exponents."""
    small = _SMALL.get(array.dtype.name)
    name = _name(array, small, adder)
    if name not in adder.formats:
        known = ", ".join(dict.fromkeys(map(_dtype_name, adder.formats)))
        raise TypeError(
            f"{parameter} must have elements of {known}, which the adder multiplies, "
            f"got {array.dtype}: convert explicitly"
        )
    if small is not None:
        table, codes = every_code(small), array.view(np.uint8) & np.uint8(small.code_count - 1)
        return Factors(table.values[codes], table.exponents[codes])
    layout = F32 if name == "tf32" else LAYOUTS[name]
    bits = patterns(array, layout)
    if name == "tf32":
        bits = bits & _TF32_MASK
    least = 1 - layout.bias
    if layout.width == 16:
        every = every_number(layout)
        numbers, exponents = every.values[bits], every.exponents[bits]
    else:
        numbers = np.empty(bits.shape)
        for rows in slices(len(bits), max(_CHUNK // max(bits.shape[1], 1), 1)):
            numbers[rows] = as_float64(bits[rows], layout).view(np.float64)
        exponents = exponents_of(numbers, least)
    if adder.flush:
        numbers = np.where(np.abs(numbers) < np.ldexp(1.0, least), 0.0, numbers)
    return Factors(numbers, exponents)


def _name(array: NDArray[Any], small: ElementFormat | None, adder: Adder) -> str:
    """What the elements are called among the formats of adders."""
    if small is not None:
        return small.name
    native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    found = next((name for name, layout in LAYOUTS.items() if native == layout.dtype), "")
    return "tf32" if found == "f32" and "tf32" in adder.formats else found


def _dtype_name(name: str) -> str:
    """The dtype of a format of adders."""
    if name in CODE_FORMATS:
        return str(CODE_FORMATS[name].dtype_name)
    return str(LAYOUTS["f32" if name == "tf32" else name].dtype)
