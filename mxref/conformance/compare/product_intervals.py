"""Answers to products and layers compared with the intervals that float32 sums stay in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.integer_layers import interval
from mxref.cases.linear_answers import layer_bounds
from mxref.cases.product_answers import bounds, groups
from mxref.cases.product_words import Side, pair_formats
from mxref.cases.records import VectorFile, stripped
from mxref.policy.choices import Accumulation
from mxref.policy.policy import Policy

__all__ = ["inside", "inside_all", "is_inside", "layers_inside", "sums_inside", "tolerated"]

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Rounding = Literal["nearest", "any"]


def tolerated(policy: Policy) -> bool:
    """Whether answers may differ from those of a policy as the order of additions makes them.

    They may unless the policy names an accumulation.
    """
    return policy.products.accumulation is Accumulation.EXACT


def is_inside(low: Words, high: Words, got: Words, layout: FloatLayout) -> Bools:
    """Whether patterns are numbers of intervals; NaN is in those from -Inf to Inf alone.

    >>> from mxref.bits.floats import F32
    >>> ends = [np.array([n], np.uint64) for n in (0xBF800000, 0x3F800000, 0x80000000)]
    >>> is_inside(*ends, F32).tolist()
    [True]
    """
    ends, value = [_ordered(bits, layout) for bits in (low, high)], _ordered(got, layout)
    lowest, highest, magnitude = -layout.inf_bits, layout.inf_bits, layout.sign_bit - 1
    nan = (got & np.uint64(magnitude)) > layout.inf_bits
    wants_nan = (low & np.uint64(magnitude)) > layout.inf_bits
    whole = (ends[0] == lowest) & (ends[1] == highest)
    between: Bools = (ends[0] <= value) & (value <= ends[1])
    return np.where(wants_nan, nan, np.where(nan, whole, between))


def _ordered(bits: Words, layout: FloatLayout) -> NDArray[np.int64]:
    """Patterns as integers in the order of the numbers; both zeros are 0."""
    magnitude = (bits & np.uint64(layout.sign_bit - 1)).astype(np.int64)
    return np.where(bits & np.uint64(layout.sign_bit), -magnitude, magnitude)


def inside_all(
    file: VectorFile, a: Sequence[Side], b: Sequence[Side], got: Words, rounding: Rounding
) -> Bools:
    """Whether the outputs of every row with every row are inside their intervals."""
    low, high, _ = bounds(a, b, pair_formats(file.format), file.float, rounding)
    return is_inside(low, high, got, LAYOUTS[file.float])


def inside(file: VectorFile, inputs: Words, answers: Words, rounding: Rounding) -> Bools:
    """Whether the answers to dot products are inside their intervals.

    Args:
        file: the pair of formats and the float type.
        inputs: the words of the cases, one a row.
        answers: a word for each case.
        rounding: `nearest`, or `any` for adders that truncate.
    """
    found = np.zeros(len(inputs), bool)
    if not answers.shape[1:] or not answers.shape[1]:
        return found
    for some, a, b in groups(inputs):
        got = answers[some, :1] + np.zeros(len(some), np.uint64)
        found[some] = np.diagonal(inside_all(file, a, b, got, rounding))
    return found


def layers_inside(file: VectorFile, inputs: Words, answers: Words, policy: Policy) -> Bools:
    """Whether all numbers of answers about linear layers are inside their intervals.

    These are the intervals of the operands as the policy quantizes them, with additions that round
    to nearest.
    """
    return _all_inside(
        lambda words: layer_bounds(file.op, file.format, file.float, words, policy),
        file,
        inputs,
        answers,
    )


def sums_inside(
    file: VectorFile, inputs: Words, answers: Words, nibbles: str, order: str = "offset"
) -> Bools:
    """Whether all numbers of answers about weight-only layers are inside the intervals of an order.

    Those of `offset` hold those of the other orders.
    """
    return _all_inside(
        lambda words: interval(file.op, file.format, words, order, nibbles), file, inputs, answers
    )


def _all_inside(
    ends: Callable[[tuple[int, ...]], tuple[Words, Words]],
    file: VectorFile,
    inputs: Words,
    answers: Words,
) -> Bools:
    """Whether all numbers of each answer are inside the intervals of its case."""
    found = np.zeros(len(inputs), bool)
    for i, (row, answer) in enumerate(zip(inputs, answers, strict=True)):
        low, high = ends(stripped(row))
        got = np.array(stripped(answer), np.uint64)
        same = got.shape == low.shape
        found[i] = same and bool(is_inside(low, high, got, LAYOUTS[file.float]).all())
    return found
