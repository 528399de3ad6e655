"""Products of plain arrays, added to a third one as a matrix unit does: D = A·B + C."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import F64Array, as_float64, fl
from mxref.bits.floats import (
    F32,
    F64,
    LAYOUTS,
    FloatLayout,
    Floats,
    compose,
    float_array,
    floats_from,
    layout_of,
    patterns,
    refuse_masked,
    split,
)
from mxref.bits.out import floats_out
from mxref.formats.catalog import CODE_FORMATS, ElementFormat
from mxref.products.adders import Adder, adder_of
from mxref.products.steps import Factors, every_code, exponents_of, stepped
from mxref.support.host_arrays import unpacked_array
from mxref.support.threads import for_each, thread_count

__all__ = ["mma"]

#: Outputs of a part: a few float64 arrays of so many numbers stay in the cache.
_ROWS, _COLUMNS = 64, 256
_SMALL = {fmt.dtype_name: fmt for fmt in CODE_FORMATS.values() if isinstance(fmt, ElementFormat)}
_TF32_MASK = np.uint32(0xFFFFE000)


def mma(
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike | None = None,
    *,
    adder: str | Adder,
    out: Floats | None = None,
    threads: int | None = None,
) -> Floats:
    """C + A·B of plain arrays, added step by step as a matrix unit does, bit for bit.

    Args:
        a: (M, K), numbers of a type of ml_dtypes, NumPy or torch that the adder multiplies: FP8,
            FP6, FP4, float16, bfloat16; float32 where the adder has tf32 (the last 13 bits are not
            read) or f32.
        b: (K, N), of such a type.
        c: (M, N) of the adder's output, float32 or float16; zeros if None.
        adder: an `Adder`, or the name of one of `ADDERS`.
        out: where the result goes: C-contiguous, of its shape and dtype.
        threads: on how many threads the parts of the product are computed; if None,
            MXREF_THREADS says it, or it is one.

    Returns:
        (M, N) of the adder's output. NaN where an element is NaN, an infinity meets a zero, or
        infinities of both signs meet, those of sums that overflow among them. A zero is +0, but -0
        where an adder of AMD rounds a negative sum to it.

    Raises:
        TypeError: elements or a c of another type.
        ValueError: shapes that do not fit; an unknown adder, or one for scaled blocks.

    Source: SPEC_NOTES N47; MMA-Sim, arXiv 2511.10909.

    >>> import ml_dtypes
    >>> a, b = np.zeros((2, 1, 64), ml_dtypes.float8_e4m3fn)
    >>> a[0, [0, 32]], b[0, [0, 32]] = (1, 2.0**-9), (1, 2.0**-6)
    >>> mma(a, b.T, adder="hopper_fp8"), mma(a, b.T, adder="blackwell_f8f6f4")
    (array([[1.]], dtype=float32), array([[1.0000305]], dtype=float32))
    """
    chosen = adder_of(adder)
    if chosen.blocks:
        raise ValueError(
            f"adder must have no scales for plain arrays, got {adder}: call matmul with an aligned "
            "accumulation"
        )
    some = [_matrix(a, "a"), _matrix(b, "b")]
    left, right = (_factors(one, name, chosen) for one, name in zip(some, "ab", strict=True))
    if len(left.values.T) != len(right.values):
        raise ValueError(
            f"b must have as many rows as a has columns, {len(left.values.T)}, "
            f"got {len(right.values)}"
        )
    left = Factors(np.ascontiguousarray(left.values.T), np.ascontiguousarray(left.exponents.T))
    left, right = left.filled(chosen.step), right.filled(chosen.step)
    shape = left.values.shape[1], right.values.shape[1]
    layout = LAYOUTS[chosen.output]
    before = np.zeros(shape)
    if c is not None:
        some.append(float_array(c, "c")[0])
        before = _numbers_of(some[-1], shape, layout)
    bits = floats_out(out, shape, layout, *some)

    def multiply(part: tuple[slice, slice]) -> None:
        rows, columns = part
        x, y = _some(left, rows), _some(right, columns)
        with np.errstate(over="ignore", invalid="ignore"):  # Inf minus Inf
            total = chained(x, y, before[part], chosen)
        total = np.where(np.isnan(total), np.nan, total)
        if chosen.zero_is_positive:
            total = np.where(total == 0, 0.0, total)
        bits[part] = compose(split(total.view(np.uint64), F64), layout)

    parts = itertools.product(_slices(shape[0], _ROWS), _slices(shape[1], _COLUMNS))
    for_each(multiply, parts, thread_count(threads))
    return floats_from(bits, layout)


def chained(a: Factors, b: Factors, total: F64Array, adder: Adder) -> F64Array:
    """The sums after all steps, with promotion if the adder has it."""
    if adder.promotion is None:
        return stepped(a, b, total, adder)
    for first in range(0, len(a.values), adder.promotion):
        some = [side.rows(first, first + adder.promotion) for side in (a, b)]
        total = fl(total + stepped(some[0], some[1], np.zeros(total.shape), adder))
    return total


def _slices(count: int, size: int) -> list[slice]:
    return [slice(n, n + size) for n in range(0, count, size)]


def _some(side: Factors, columns: slice) -> Factors:
    values, exponents = side.values[:, columns], side.exponents[:, columns]
    return Factors(np.ascontiguousarray(values), np.ascontiguousarray(exponents))


def _numbers_of(c: NDArray[Any], shape: tuple[int, int], layout: FloatLayout) -> F64Array:
    """The numbers of c in float64."""
    if layout_of(c.dtype) != layout:
        raise TypeError(f"c must be {layout.dtype}, which the adder gives, got {c.dtype}")
    if c.shape != shape:
        raise ValueError(f"c must have the shape of the product, {shape}, got {c.shape}")
    return as_float64(patterns(c, layout), layout).view(np.float64)


def _matrix(values: ArrayLike, parameter: str) -> NDArray[Any]:
    """A matrix on the host, of any type."""
    refuse_masked(values, parameter)
    array = unpacked_array(values, parameter)
    if array.ndim != 2:
        raise ValueError(f"{parameter} must have two axes, got shape {array.shape}")
    return array


def _factors(array: NDArray[Any], parameter: str, adder: Adder) -> Factors:
    """The numbers of a matrix and their exponents, as they lie."""
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
    numbers = as_float64(bits, layout).view(np.float64)
    least = 1 - layout.bias
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
