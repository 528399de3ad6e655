"""Answers to products and linear layers compared with the intervals of float32 sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, floats_from
from mxref.cases.linear_answers import layer_bounds
from mxref.cases.product_answers import bounds, groups
from mxref.cases.product_words import Side, pair_formats
from mxref.cases.records import VectorFile, stripped
from mxref.policy.choices import Accumulation
from mxref.policy.policy import Policy
from mxref.products.intervals import Bounds

__all__ = [
    "Rounding",
    "held",
    "inside",
    "inside_all",
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


def held(bounds: Bounds, got: Words, float: str) -> Bools:
    """Whether patterns of a float type are numbers that bounds allow."""
    layout = LAYOUTS[float]
    found: Bools = bounds.hold(floats_from(got, layout))
    return found & (got <= np.iinfo(layout.uint).max)


def inside_all(
    file: VectorFile, a: Sequence[Side], b: Sequence[Side], got: Words, rounding: Rounding
) -> Bools:
    """Whether the outputs of every row with every row are inside their intervals."""
    return held(bounds(a, b, pair_formats(file.format), file.float, rounding), got, file.float)


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
    ends = layer_bounds(*names, stripped(inputs), policy, rounding, db_along=db_along)
    got = np.array(stripped(answer), np.uint64)
    if got.shape != ends.lo.shape:
        return np.zeros(len(ends.lo), bool)
    return held(ends, got, file.float)


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
