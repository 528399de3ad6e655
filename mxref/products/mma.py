"""Products of plain arrays, added to a third one as a matrix unit does: D = A·B + C."""

from __future__ import annotations

import itertools
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import F64Array, as_float64, fl
from mxref.bits.floats import (
    F32,
    F64,
    LAYOUTS,
    Bool,
    Floats,
    compose,
    floats_from,
    patterns,
    split,
)
from mxref.bits.out import floats_out
from mxref.blocks.fields import BlockFields
from mxref.products.adders import Adder, adder_of
from mxref.products.chains import ChainIntervals, Chains
from mxref.products.float_scales import plain_operands, scaled_total
from mxref.products.intervals import Bounds, bound_patterns
from mxref.products.quick_steps import added_up
from mxref.products.steps import NONE, Factors, outer
from mxref.products.unit_operands import arrays_of, matrix_of, slices, terms
from mxref.support.threads import for_each, thread_count

__all__ = ["mma", "mma_bounds"]

#: Rows and columns of a part: a few float64 arrays of its outputs stay in the cache. Threads share
#: the parts of fewer rows.
_SIDE, _FEWER = 128, 64
#: Scales of the rows of a, and of the columns of b, one for each part.
_Scales: TypeAlias = tuple[F64Array, F64Array]


def mma(
    a: ArrayLike | BlockFields,
    b: ArrayLike | BlockFields,
    c: ArrayLike | None = None,
    *,
    adder: str | Adder,
    scales: tuple[ArrayLike, ArrayLike] | None = None,
    out: Floats | None = None,
    threads: int | None = None,
) -> Floats:
    """C + A·B of plain arrays, added step by step as a matrix unit does, bit for bit.

    Args:
        a: (M, K), numbers of a type of ml_dtypes, NumPy or torch that the adder multiplies: FP8,
            FP6, FP4, float16, bfloat16; float32 where the adder has tf32 (the last 13 bits are not
            read) or f32. Or `Blocks` under float32 scales, of `promotion` products each.
        b: (K, N), of such a type; or `Blocks`, whose scales are then those of both.
        c: (M, N) of the adder's output, float32 or float16; zeros if None.
        adder: an `Adder`, or the name of one of `ADDERS`.
        scales: where the adder has a `scaling`, float32 scales of a, (M, P), and of b, (P, N): one
            for each row or column and each of the P parts of `promotion` products, K / promotion
            rounded up. Scales of blocks of 128 columns are repeated.
        out: where the result goes: C-contiguous, of its shape and dtype.
        threads: on how many threads the parts of the product are computed; if None,
            MXREF_THREADS says it, or it is one.

    Returns:
        (M, N) of the adder's output. NaN where an element is NaN, an infinity meets a zero, or
        infinities of both signs meet, those of sums that overflow among them. A zero is +0, but -0
        where an adder of AMD rounds a negative sum to it.

    Raises:
        TypeError: elements or a c of another type.
        ValueError: shapes that do not fit; an unknown adder, or one for scaled blocks; scales that
            are missing, or that the adder does not read.

    Source: SPEC_NOTES N47; MMA-Sim, arXiv 2511.10909.

    >>> import ml_dtypes
    >>> a, b = np.zeros((2, 1, 64), ml_dtypes.float8_e4m3fn)
    >>> a[0, [0, 32]], b[0, [0, 32]] = (1, 2.0**-9), (1, 2.0**-6)
    >>> mma(a, b.T, adder="hopper_fp8"), mma(a, b.T, adder="blackwell_f8f6f4")
    (array([[1.]], dtype=float32), array([[1.0000305]], dtype=float32))
    """
    chosen = adder_of(adder)
    if isinstance(a, BlockFields) or isinstance(b, BlockFields):
        if scales is not None:
            raise ValueError("scales must be None where a and b are Blocks, which have them")
        a, b, scales = plain_operands(a, b, chosen)
    some = arrays_of(a, b, c)
    left, right, before = terms(some, chosen, adder)
    factors = _scales(scales, chosen, len(left.values), before.shape)
    left, right = left.filled(chosen.step), right.filled(chosen.step)
    shape, layout = before.shape, LAYOUTS[chosen.output]
    bits = floats_out(out, shape, layout, *some)

    def multiply(part: tuple[slice, slice]) -> None:
        rows, columns = part
        x, y = _some(left, rows), _some(right, columns)
        of_part = factors and (factors[0][rows], factors[1][:, columns])
        with np.errstate(over="ignore", invalid="ignore"):  # Inf minus Inf
            total = chained(x, y, before[part], chosen, of_part)
        total = np.where(np.isnan(total), np.nan, total)
        if chosen.zero_is_positive:
            total = np.where(total == 0, 0.0, total)
        bits[part] = compose(split(total.view(np.uint64), F64), layout)

    count = thread_count(threads)
    height = _SIDE if count == 1 else _FEWER
    parts = itertools.product(slices(shape[0], height), slices(shape[1], _SIDE))
    for_each(multiply, parts, count)
    return floats_from(bits, layout)


def mma_bounds(
    a: ArrayLike, b: ArrayLike, c: ArrayLike | None = None, *, adder: str | Adder
) -> Bounds:
    """What a matrix unit may give for C + A·B, in whatever order its steps take the products.

    Steps may be of fewer products than the adder's if there are no more of them than K / step,
    rounded up. They may be chains of any lengths, whose results float32 adds to nearest, as it does
    where sums are promoted. Of K products the distance is at most
    (1 + 4 u N) ((K + N) 2**-fraction_bits + N (w + 2**-24)) (A' + 2**least) in N steps: w is
    2**-output_bits, or u of a sum rounded to nearest, u is 2**-24, or 2**-11 in float16, and
    A' is the sum of magnitudes, in which a subnormal number counts as the smallest normal one.
    `least` is the exponent of the smallest normal sum, or that of a zero if it is larger.

    Args:
        a: as in `mma`.
        b: as in `mma`.
        c: as in `mma`.
        adder: as in `mma`, one that aligns the sum so far with the products; its `promotion` makes
            no difference.

    Returns:
        `lo`, `hi` and `overflow`, as `matmul_bounds` gives them, of the adder's output.

    Raises:
        TypeError, ValueError: as `mma`; an adder that does not align the sum so far; more steps
            than 2**23, or 2**10 with sums in float16.

    Source: SPEC_NOTES N47.

    >>> import ml_dtypes
    >>> a, b = np.zeros((2, 1, 64), ml_dtypes.float8_e4m3fn)
    >>> a[0, [0, 32]], b[0, [0, 32]] = (1, 2.0**-9), (1, 2.0**-6)
    >>> low, high, _ = mma_bounds(a, b.T, adder="hopper_fp8")
    >>> low.item(), high.item()
    (0.9917275905609131, 1.008333444595337)
    """
    chosen = adder_of(adder)
    if chosen.scaling is not None:
        raise ValueError(f"adder must have no scaling, got {adder}: call mma, whose order is known")
    if not chosen.is_aligned:
        raise ValueError(
            f"adder must align the sum so far with the products, got {adder}: call mma, whose "
            "order is known"
        )
    left, right, before = terms(arrays_of(a, b, c), chosen, adder)
    chains = Chains.of(chosen)
    columns = chosen.step << chains.layout.mantissa_bits
    if len(left.values) > columns:
        raise ValueError(f"a must have at most {columns} columns, got {len(left.values)}")
    bits: NDArray[Any] = np.empty((3, *before.shape), chains.layout.uint)
    for rows, some in itertools.product(*(slices(n, _FEWER) for n in before.shape)):
        x, y = _some(left, rows), _some(right, some)
        nan, infinite = _special(x, y, before[rows, some])
        finite = (_finite(x), _finite(y), _finite_only(before[rows, some]))
        intervals = ChainIntervals(*finite, chains)
        bits[:, rows, some] = bound_patterns(intervals, nan, infinite, chains.layout)
    return Bounds(*(floats_from(end, chains.layout) for end in bits))


def _special(a: Factors, b: Factors, before: F64Array) -> tuple[Bool, NDArray[np.int64]]:
    """Where sums are NaN, and elsewhere the signs of those that are infinite."""
    total = np.where(np.isfinite(before), 0, before)
    some = ~(np.isfinite(a.values).all(axis=1) & np.isfinite(b.values).all(axis=1))
    with np.errstate(invalid="ignore"):
        for x, y in zip(a.values[some], b.values[some], strict=True):
            total = total + outer(x, y)
    return np.isnan(total), np.where(np.isinf(total), np.sign(total), 0).astype(np.int64)


def _finite(side: Factors) -> Factors:
    values = _finite_only(side.values)
    return Factors(values, np.where(values == 0, NONE, side.exponents).astype(np.int16))


def _finite_only(values: F64Array) -> F64Array:
    """Zeros in place of Inf and NaN."""
    return np.where(np.isfinite(values), values, 0.0)


def chained(
    a: Factors, b: Factors, total: F64Array, adder: Adder, scales: _Scales | None = None
) -> F64Array:
    """The sums after all steps, with promotion if the adder has it."""
    if adder.promotion is None:
        return added_up(a, b, total, adder)
    for part, first in enumerate(range(0, len(a.values), adder.promotion)):
        some = [side.rows(first, first + adder.promotion) for side in (a, b)]
        own = added_up(some[0], some[1], np.zeros(total.shape), adder)
        if scales is None:
            total = fl(total + own)
        else:
            total = scaled_total(
                own, total, scales[0][:, part, None], scales[1][part], adder.scaling
            )
    return total


def _scales(
    given: tuple[ArrayLike, ArrayLike] | None, adder: Adder, k: int, shape: tuple[int, ...]
) -> _Scales | None:
    """Scales as numbers, if the adder reads any."""
    if adder.scaling is None or adder.promotion is None:
        if given is not None:
            raise ValueError("scales must be None for an adder without a scaling")
        return None
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError(
            "scales must be two arrays, of a and of b, since the adder has a scaling, got "
            f"{type(given).__name__}"
        )
    parts = -(-k // adder.promotion)
    numbers = []
    for one, side, wanted in zip(given, "ab", ((shape[0], parts), (parts, shape[1])), strict=True):
        array = matrix_of(one, f"scales of {side}")
        if array.dtype != np.float32:
            raise TypeError(f"scales of {side} must be float32, got {array.dtype}")
        if array.shape != wanted:
            raise ValueError(f"scales of {side} must have shape {wanted}, got {array.shape}")
        numbers.append(as_float64(patterns(array, F32), F32).view(np.float64))
    return numbers[0], numbers[1]


def _some(side: Factors, columns: slice) -> Factors:
    values, exponents = side.values[:, columns], side.exponents[:, columns]
    return Factors(np.ascontiguousarray(values), np.ascontiguousarray(exponents))
