"""Steps of an adder by the processor's own additions, where these cannot differ from exact ones.

The numbers of a part are multiples of 2**unit, and no sum is larger than `most`. Between 2**-126
and 2**127 nothing is subnormal or infinite, and then

- float64 adds products of few bits exactly, in any order, so that a library of matrices may do it;
- a float64 number rounds to float32 as the sum that it is rounded from, unless it is a midpoint;
- terms that are cut at 2**(e - bits) are integers of 32 bits in that unit;
- an exponent of zero, or another e, may be raised as long as no bit of a term is cut by it.

Each step for which this is not known is taken by `mxref.products.steps`, and so is every one where
the processor does not round to nearest.

Source: SPEC_NOTES N47.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxref.bits.float32 import F64Array, fl_sum
from mxref.bits.floats import F32, LAYOUTS, Bool
from mxref.products.adders import Adder
from mxref.products.exact_sums import rounds_to_nearest
from mxref.products.quick_aligned import aligned, aligned_later
from mxref.products.spans import FLOOR, LARGEST, MOST, TOGETHER, Add, Spans, floor_of, wide
from mxref.products.steps import Factors, one_step

__all__ = ["added_up"]

_LEAST = 256  # outputs of a part below which nothing is won
_TIE = np.int64(-(1 << 63))  # of a midpoint of float32 numbers, the 29 bits that are rounded off


def added_up(a: Factors, b: Factors, total: F64Array, adder: Adder) -> F64Array:
    """The sums so far after all steps, without promotion: as `mxref.products.steps.stepped`.

    Args:
        a: whole steps of the rows of the result.
        b: those of its columns.
        total: (rows, columns), the sums before.
        adder: what adds.
    """
    step, slow = adder.step, one_step(adder)
    spans = Spans.of(a, b, total, adder) if total.size >= _LEAST and len(a.values) else None
    quick, known = None, np.zeros(len(a.values) // step, bool)
    if spans is not None and spans.most < _most(adder) and rounds_to_nearest():
        if adder.tree and "f32" not in adder.formats:  # others have 12 bits at most
            return _trees(a, b, total, adder)
        way = None if adder.tree else _way(adder, spans)
        if way is not None:
            quick, known = way(a, b, total, adder, spans), _known(adder, spans)
            total = total if step == 1 else total + 0.0  # only of two terms a zero may be -0
    for i, first in enumerate(range(0, len(a.values), step)):
        take = quick if known[i] and quick is not None else None
        total = slow(a, b, first, total, adder) if take is None else take(first, total)
    return total


def _most(adder: Adder) -> float:
    layout = LAYOUTS[adder.output]
    if adder.later_bits is not None:
        return 2.0**MOST
    return float(2.0 ** (layout.bias if layout != F32 else LARGEST))


def _way(adder: Adder, spans: Spans) -> Callable[..., Add] | None:
    if adder.fraction_bits is None:
        return _exact if adder.output == "f32" else None
    # 2**(bits - FLOOR) is a float32 number, and so is a product.
    if adder.group > 1 or adder.fraction_bits > LARGEST + FLOOR or spans.width > 24:
        return None
    if adder.later_bits is None:
        return aligned
    return aligned_later if adder.fraction_bits >= F32.mantissa_bits else None


def _known(adder: Adder, spans: Spans) -> Bool:
    """Which steps are right."""
    one = adder.step == 1 and spans.width < 53  # is exact
    if adder.fraction_bits is None and one:
        return np.ones(spans.own.shape, bool)
    if adder.fraction_bits is None:
        room = spans.own.clip(max=900) + 52
        exact: Bool = spans.sizes < np.ldexp(1.0, room)
        return exact
    raised: Bool = spans.units >= floor_of(adder) - adder.fraction_bits
    most = -FLOOR if adder.later_bits is None else MOST
    return raised & (spans.highest < most)


def _exact(a: Factors, b: Factors, total: F64Array, adder: Adder, spans: Spans) -> Add:
    """Products added exactly, and the sum so far to them in one addition of float64."""
    rows, step = np.ascontiguousarray(a.values.T), adder.step
    dot, sums, *turns = np.empty((4, *total.shape))
    single, bits = np.empty(total.shape, np.float32), np.empty(total.shape, np.int64)
    held = np.ldexp(1.0, spans.units.clip(max=900) + 52)  # what float64 holds of such multiples
    reach = [np.inf]

    def add(first: int, total: F64Array) -> F64Array:
        i = first // step
        most = reach[0] + spans.sizes[i]
        if not most < held[i]:
            most = np.abs(total).max() + spans.sizes[i]
        reach[0] = most * (1 + 2.0**-20)
        if step == 1:
            np.multiply(a.values[first, :, None], b.values[first], out=dot)
        else:
            np.matmul(rows[:, first : first + step], b.values[first : first + step], out=dot)
        np.add(total, dot, out=sums)
        np.copyto(single, sums, casting="same_kind")
        if not most < held[i]:
            np.left_shift(sums.view(np.int64), 35, out=bits)
            ties = bits == _TIE
            if ties.any():
                single[ties] = fl_sum(total[ties], dot[ties])
        return wide(single, turns)

    return add


def _trees(a: Factors, b: Factors, total: F64Array, adder: Adder) -> F64Array:
    """All steps of pairs in float32, whose products are exact and whose sums are not subnormal.

    A library of matrices adds such a pair with one rounding, whether its operations are fused or
    not, and to +0 first, which changes the sign of a zero alone: that of the sum is the same.
    """
    x, y = (side.values.astype(np.float32) for side in (a, b))
    rows = x.reshape(-1, 2, x.shape[1]).transpose(0, 2, 1)
    columns = y.reshape(-1, 2, y.shape[1])
    pairs, step = adder.step // 2, TOGETHER // 2
    each = np.empty((step, *total.shape), np.float32)
    single = total.astype(np.float32) + np.float32(0)
    for k in range(0, len(rows), step):
        some = rows[k : k + step], columns[k : k + step]
        terms = np.matmul(*some, out=each[: len(some[0])])
        if pairs == 2:
            np.add(terms[::2], terms[1::2], out=terms[::2])
        for term in terms[::pairs]:
            np.add(single, term, out=single)
    return single.astype(np.float64)
