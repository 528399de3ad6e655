"""Products of tensors in blocks: the exact value, rounded once, and bounds of float32 sums."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref.bits.float32 import wide
from mxref.bits.floats import (
    F32,
    F64,
    Bool,
    FloatLayout,
    Floats,
    bits_of,
    compose,
    floats_from,
    layout_of,
    split,
)
from mxref.bits.out import floats_out
from mxref.blocks.fields import BlockFields
from mxref.policy.choices import Accumulation
from mxref.policy.keywords import ProductChoices
from mxref.policy.policy import Policy, resolve
from mxref.products.accumulation import BY_RUNS, accumulated, check_adder
from mxref.products.chains import Chains, block_ends, chains_of
from mxref.products.epilogue import Epilogue, epilogue_of, steps_of
from mxref.products.exact_sums import ExactSums, infinities, known_multiples, patterns_of
from mxref.products.float_scales import has_float_scales, scaled_bounds
from mxref.products.intervals import Bounds, interval_ends
from mxref.products.operand import Operand, in_common_runs, operand
from mxref.products.run_products import (
    integer_sum,
    special_values,
    sums_of_products,
    times_rows,
)
from mxref.products.tensor_factors import TensorFactors, check_float32
from mxref.support.threads import for_each, thread_count

#: A sum by its row and column: an integer, and the exponent of its unit, negative.
_Integers = Callable[[int, int], tuple[int, int]]
#: Rows and columns of a part of the product: its sums stay in the cache.
_ROWS, _COLUMNS = 128, 128
#: Rows of a part that is worth a thread.
_FEWEST = 16


def matmul(
    a: BlockFields,
    b: BlockFields,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    *,
    alpha: float | None = None,
    beta: float | None = None,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
    epilogue: str | None = None,
    out: Floats | None = None,
    threads: int | None = None,
    **choices: Unpack[ProductChoices],
) -> Floats:
    """The product of two matrices in blocks: exact and rounded once, or as a named adder gives it.

    Args:
        a: (M, K), or (K,) for one row; blocks along K, or tiles over both axes.
        b: (K, N), or (K,) for one column; blocks along K, or tiles. Weights of shape (N, K) with
            blocks along K are `w.T`. Its elements, scales and blocks may be others.
        dtype: float64, float32, float16 or bfloat16.
        policy: a `Policy` or its spelling.
        alpha: a finite number that the sums are multiplied by.
        beta: a finite number that C is multiplied by, 1 if it is None. If it is 0, C is not read.
        c: floats of the shape of the result that are added, times beta.
        bias: floats (N,), one for each column, that are added; of shape () if b is one column.
        epilogue: how an adder's float32 sums meet these: `source_first`, FMAs with beta C rounded
            first (if None), `sum_first`, FMAs of C last, `separate`, each operation rounded, all in
            float32; `rounded`, in the dtype, to which the sum is rounded first.
        out: where the result goes: C-contiguous, of its shape and the dtype.
        threads: on how many threads the parts of the product are computed; if None,
            MXREF_THREADS says it, or it is one.
        choices: `accumulation`; see `mxref.choices`.

    Returns:
        Floats (M, N), without the axis of a matrix that is one row or column. NaN where a scale of
        the row or the column is NaN, its elements zeros or not, where an element is NaN, an
        infinity times zero, or infinities of both signs meet; else an infinity where a product is
        one. An exact zero is +0. The scales of both tensors, or of their rows, are part of the
        numbers; a named adder multiplies its sum by their product, rounded to float32, and rounds
        again. alpha, C and the bias are part of the exact sum; adders take them as float32.

    Raises:
        TypeError: no `Blocks`, or dtype is not supported.
        ValueError: more axes, blocks along another axis, another K, formats of a user that are not
            computed exactly; unknown choice, or an adder that does not have these elements, scales
            or blocks, or float32 products of tensor scales that are not normal; alpha or beta that
            is not finite, beta without C, C or a bias of another shape, `epilogue` of an exact sum;
            `out` of another shape or dtype.

    Source: OCP MX v1.0 6.1, 6.2; SPEC_NOTES N26, N27, N28, N30, N42, N43, N52.

    >>> import mxref
    >>> x = mxref.quantize(np.float32([[1.0, 2.0], [3.0, -4.0]]), "mxfp8_e4m3", axis=1)
    >>> w = mxref.quantize(np.float32([[0.5, 1.0]]), "mxfp4_e2m1", axis=1)
    >>> matmul(x, w.T)
    array([[ 2.5],
           [-2.5]], dtype=float32)
    >>> matmul(x, w.T, alpha=0.5, beta=-1, c=np.float32([[1.0], [2.0]]), bias=[10])
    array([[10.25],
           [ 6.75]], dtype=float32)
    >>> x, w = np.float32([[1.0, 2.0], [3.0, -4.0]]), np.float32([[0.5, 1.0], [3.0, 2.0]])
    >>> tiles = mxref.quantize(w, "nvfp4_16x16")
    >>> matmul(mxref.quantize(x, "nvfp4", axis=1), tiles.T)
    array([[ 2.5000002,  7.0000005],
           [-2.6666667,  0.       ]], dtype=float32)
    """
    how = resolve("matmul", policy, choices).products.accumulation
    left, right, shape = _operands(a, b, equal=how in BY_RUNS)
    if how is not Accumulation.EXACT:
        check_adder(left, right, how)
    layout, more = layout_of(dtype), epilogue_of(alpha, beta, c, bias, shape, b.shape[1:])
    steps = steps_of(epilogue, more, exact=how is Accumulation.EXACT)
    given = (one for one in (c, bias) if isinstance(one, np.ndarray))
    bits = floats_out(out, shape, layout, a.codes, a.scale_codes, b.codes, b.scale_codes, *given)
    whole = bits.reshape(len(left.codes), len(right.codes))
    mixed = how is Accumulation.EXACT and left.has_plain_rows and right.has_plain_rows

    def multiply(part: tuple[slice, slice]) -> None:
        some = left.part(part[0], mixed=mixed), right.part(part[1], mixed=mixed)
        if more is not None:
            whole[part] = _with_more(*some, more.part(*part), how, steps, layout)
            return
        if how is Accumulation.EXACT:
            sums = _exact(*some, layout)
        else:
            sums = compose(split(*bits_of(accumulated(*some, how))), layout)
        whole[part] = _with_special_values(sums, *some, layout)

    count = thread_count(threads)
    for_each(multiply, _parts(left, right, count, mixed=mixed), count)
    return floats_from(bits, layout)


def matmul_bounds(
    a: BlockFields,
    b: BlockFields,
    dtype: DTypeLike = np.float32,
    *,
    rounding: Literal["nearest", "any"] = "nearest",
    bits: int | None = None,
    step: int | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    c: ArrayLike | None = None,
    bias: ArrayLike | None = None,
) -> Bounds:
    """What accumulations of a product may give, in any order: intervals, and overflow.

    With n nonzero products of magnitudes that add up to A, a sum in float32 lies within
    (n - 1) 2**-24 A + n 2**-150 of the exact one (`nearest`), or (2K + 2) 2**-23 A + K 2**-149
    (`any`). It is exact if all products are multiples of a power of two u, at least 2**-149, and A
    is at most 2**24 u (`nearest`), or 2**19 u (`any`). The ends are rounded to the dtype, as the
    sums are. `bits` and `step` are for adders that keep fewer bits. Scales of tensors multiply the
    sum or its terms, in up to five operations; unless they are powers of two, n + 6 is in place of
    n - 1, and 2K + 14 of 2K + 2. So do float32 scales of blocks, powers of two or not.

    Args:
        a: as in `matmul`.
        b: as in `matmul`.
        dtype: as in `matmul`.
        rounding: `nearest`: each addition rounds to nearest, in any order or tree, with FMA or not;
            `any`: adders that truncate and do not normalize, too.
        bits: 1 to 44, under `any`, with `step`: adders that cut terms so many bits below the
            largest exponent, and sums to as many fraction bits or 23. A subnormal element counts as
            the smallest normal one in the sum A' of magnitudes. The distance is
            (1 + 2**-22 N) ((K + N) 2**-bits + N (2**-min(bits, 23) + 2**-24)) (A' + 2**-126), with
            N = K / step, rounded up.
        step: how many products, and one sum, such an adder adds at once.
        alpha: as in `matmul`, with beta, C and the bias. The float32 sum meets them in float32,
            with FMAs or without, C first or last; not rounded to a narrower type before.
        beta: as in `matmul`.
        c: as in `matmul`.
        bias: as in `matmul`.

    Returns:
        `lo` and `hi`, the ends, and `overflow`: floats of the shape that `matmul` gives. -0 and +0
        are one number here. All three are NaN where the product is NaN. Elsewhere `overflow` is
        `lo` where no float32 sum may overflow on the way, and Inf or -Inf where sums may in that
        direction. It is NaN where sums may overflow in both directions: Inf, -Inf and NaN are then
        allowed. `hold` of the three says which numbers of an array are allowed.

    Raises:
        TypeError, ValueError: as `matmul` by a named adder; another rounding; bits or step without
            the other, under `nearest`, or out of range, or with float32 scales; float32 scales so
            small or large that a product might not be normal; K of 2**22 and more.

    Source: Jeannerod and Rump, SIAM J. Matrix Anal. Appl. 34 (2013) 338; SPEC_NOTES N43, N47, N52.

    >>> import mxref
    >>> a = mxref.quantize(np.float32([256.0, 2.0**-7]), "mxfp8_e4m3")
    >>> bounds = matmul_bounds(a, a)
    >>> float(bounds.lo), float(bounds.hi)
    (65535.99609375, 65536.0078125)
    >>> bounds.hold(np.float32([65536.0, 65536.02])).tolist()
    [True, False]
    >>> float(matmul_bounds(a, a, rounding="any", bits=13, step=32).lo)
    65503.99609375
    """
    if rounding not in ("nearest", "any"):
        raise ValueError(f"rounding must be nearest or any, got {rounding!r}")
    layout, chains = layout_of(dtype), chains_of(rounding, bits, step)
    shape = (*a.shape[:-1], *b.shape[1:])
    more = epilogue_of(alpha, beta, c, bias, shape, b.shape[1:])
    if has_float_scales(a, b):
        if chains is not None:
            raise ValueError("bits must be None under float32 scales, which end a chain: see mma")
        found = scaled_bounds(a, b, layout if more is None else F32, rounding)
        return found if more is None else more.bounds(found, layout)
    ends, _, shape = _bounds(a, b, layout if more is None else F32, rounding, chains)
    if more is None:
        return Bounds(*(floats_from(end.reshape(shape), layout) for end in ends))
    found = more.bounds(Bounds(*(floats_from(end, F32) for end in ends)), layout)
    return Bounds(*(end.reshape(shape) for end in found))


def exact_in_every_order(a: BlockFields, b: BlockFields, dtype: DTypeLike = np.float32) -> Bool:
    """Where float32 additions are exact in every order, and in the adders of 25 and 35 bits.

    That is so where the sums of `any` in `matmul_bounds` are exact, and no sum may overflow unless
    the result does.

    Args:
        a: as in `matmul`.
        b: as in `matmul`.
        dtype: as in `matmul_bounds`.

    Returns:
        bool, of the shape that `matmul` gives. True where the product is NaN, and where it is an
        infinity and no float32 sum of the other products may overflow in the other direction.

    Raises:
        TypeError, ValueError: as `matmul_bounds`, and float32 scales.

    Source: SPEC_NOTES N43.

    >>> import mxref
    >>> ones = mxref.quantize(np.ones(32, np.float32), "mxfp8_e4m3")
    >>> exact_in_every_order(ones, ones).item()
    True
    """
    _, free, shape = _bounds(a, b, layout_of(dtype), "any")
    return free.reshape(shape)


def _bounds(
    a: BlockFields,
    b: BlockFields,
    layout: FloatLayout,
    rounding: str,
    chains: Chains | None = None,
) -> tuple[NDArray[Any], Bool, tuple[int, ...]]:
    """Patterns of the bounds; where every order of additions gives one sum; the shape of both.

    Of chains, only the patterns and the shape.
    """
    left, right, shape = _operands(a, b)
    if has_float_scales(a, b):
        raise ValueError("a and b must have no float32 scales here: take matmul or matmul_bounds")
    parts = [(part, (left.part(part[0]), right.part(part[1]))) for part in _parts(left, right)]
    for _, some in parts:
        check_float32(*some)
    fewer = 8 * any(TensorFactors.of(*some).rounds for _, some in parts)
    if left.length >= (1 << 22) - fewer:
        limit = (
            "2**22 - 8 elements in a row of tensors with scales"
            if fewer
            else "2**22 elements in a row"
        )
        raise ValueError(f"a must have fewer than {limit}, got {left.length}")
    ends: NDArray[Any] = np.empty((3, len(left.codes), len(right.codes)), layout.uint)
    free = np.empty(ends.shape[1:], bool)
    for part, some in parts:
        if chains is None:
            ends[(slice(None), *part)], free[part] = interval_ends(*some, layout, rounding)
        else:
            ends[(slice(None), *part)] = block_ends(*some, chains, layout)
    return ends, free, shape


def _operands(
    a: BlockFields, b: BlockFields, *, equal: bool = False
) -> tuple[Operand, Operand, tuple[int, ...]]:
    """Both operands, and the shape of their product."""
    left, right = in_common_runs(operand(a, -1, "a"), operand(b, 0, "b"), equal=equal)
    return left, right, (*a.shape[:-1], *b.shape[1:])


def _parts(
    left: Operand, right: Operand, threads: int = 1, *, mixed: bool = False
) -> Iterator[tuple[slice, slice]]:
    """Parts of the product, of fewer rows where else a thread would have none."""
    size = min(_ROWS, max(-(-len(left.codes) // threads), _FEWEST))
    return itertools.product(left.parts(size, mixed=mixed), right.parts(_COLUMNS, mixed=mixed))


def _exact(a: Operand, b: Operand, layout: FloatLayout) -> NDArray[Any]:
    """Patterns of the exact dot products, without special values."""
    return patterns_of(known_multiples(*_sums(a, b), to_odd=layout != F64), layout)


def _sums(a: Operand, b: Operand) -> tuple[ExactSums, Fraction, _Integers]:
    """The sums of products, the factor of both tensors, and how integers give a sum."""
    sums, factor = times_rows(sums_of_products(a, b), a, b), TensorFactors.of(a, b).factor
    return sums, factor, functools.partial(integer_sum, a, b)


def _with_more(
    a: Operand, b: Operand, more: Epilogue, how: Accumulation, steps: str, layout: FloatLayout
) -> NDArray[Any]:
    """Patterns of the product with alpha, beta, C and bias."""
    if how is Accumulation.EXACT:
        return more.exactly(*_sums(a, b), special_values(a, b), layout)
    found = _with_special_values(accumulated(a, b, how).view(np.uint32), a, b, F32)
    return more.stepped(wide(found, F32), steps, layout)


def _with_special_values(
    bits: NDArray[Any], a: Operand, b: Operand, layout: FloatLayout
) -> NDArray[Any]:
    """The patterns, but Inf and NaN where special values make the product one."""
    nan, infinite = special_values(a, b)
    bits = np.where(infinite != 0, infinities(infinite, layout), bits)
    return np.where(nan, layout.uint.type(layout.nan_bits), bits)
