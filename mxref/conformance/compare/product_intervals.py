"""Answers to products and linear layers compared with the intervals of float32 sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.linear_answers import layer_bounds
from mxref.cases.product_answers import bounds, groups
from mxref.cases.product_words import Side, pair_formats
from mxref.cases.records import VectorFile, stripped
from mxref.policy.choices import Accumulation
from mxref.policy.policy import Policy

__all__ = [
    "Rounding",
    "inside",
    "inside_all",
    "is_inside",
    "layer_inside",
    "layers_inside",
    "tolerated",
]

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


def layer_inside(
    file: VectorFile,
    inputs: Words,
    answer: Words,
    policy: Policy,
    rounding: Rounding,
    db_along: int | None = None,
) -> Bools:
    """Whether the numbers of an answer about a linear layer are inside their intervals.

    These are the intervals of the operands as the policy quantizes them. An answer of another
    number of words is outside.

    Args:
        file: operation, format and float type.
        inputs: the words of the case.
        answer: those of the answer.
        policy: the policy.
        rounding: as in `inside`.
        db_along: as in `layer_bounds`.
    """
    names = file.op, file.format, file.float
    low, high = layer_bounds(*names, stripped(inputs), policy, rounding, db_along=db_along)
    got = np.array(stripped(answer), np.uint64)
    if got.shape != low.shape:
        return np.zeros(len(low), bool)
    return is_inside(low, high, got, LAYOUTS[file.float])


def layers_inside(
    file: VectorFile,
    inputs: Words,
    answers: Words,
    policy: Policy,
    rounding: Rounding,
    db_along: int | None = None,
) -> Bools:
    """Whether all numbers of answers about linear layers are inside: see `layer_inside`."""
    pairs = zip(inputs, answers, strict=True)
    each = (layer_inside(file, *pair, policy, rounding, db_along).all() for pair in pairs)
    return np.fromiter(each, bool, len(inputs))
