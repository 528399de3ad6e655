"""Answers to products and layers compared with the intervals that float32 sums stay in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.operands.word_rows import stripped
from mxref.operations.product_words import DotSide, pair_formats
from mxref.operations.registry import (
    CALL_OPERATIONS,
    DOT_OPERATIONS,
    LAYER_OPERATIONS,
    WEIGHT_ONLY_OPERATIONS,
)
from mxref.policy.choices import Accumulation
from mxref.policy.policy import Policy

if TYPE_CHECKING:
    from mxref.operations.asked_call import AskedCall
    from mxref.products.intervals import Bounds

__all__ = [
    "Rounding",
    "admitted",
    "inside",
    "inside_all",
    "layer_inside",
    "layers_inside",
    "nibbles_of",
    "sums_inside",
    "tolerated",
    "widened",
]

Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
Rounding = Literal["nearest", "any"]


def tolerated(policy: Policy | str) -> TypeGuard[Policy]:
    """Whether answers may differ from those of a policy as the order of additions makes them.

    They may unless the policy names an accumulation.
    """
    if isinstance(policy, str):  # of an integer operation
        return False
    return policy.products.accumulation is Accumulation.EXACT


def widened(
    file: VectorFile, same: Bools, inputs: Words, answers: Words, policy: Policy | str
) -> Bools:
    """Which answers are right: equal ones, and sums of another order where the order is open.

    It is open in products and layers unless the policy names an accumulation, and in weight-only
    layers.

    Args:
        file: operation, format and float type.
        same: which answers are equal to those of the policy.
        inputs: the words of the cases, one a row.
        answers: those of the answers.
        policy: the policy.
    """
    rest = np.flatnonzero(~same)
    if not rest.size:
        return same
    found, some = same.copy(), (inputs[rest], answers[rest])
    if file.op in WEIGHT_ONLY_OPERATIONS and isinstance(policy, str):
        found[rest] = sums_inside(file, *some, nibbles_of(file, policy))
    elif file.op in DOT_OPERATIONS and tolerated(policy):
        found[rest] = inside(file, *some, "any")
    elif file.op in LAYER_OPERATIONS and tolerated(policy):
        found[rest] = layers_inside(file, *some, policy, "any")
    elif file.row.own_choices and file.format in CALL_OPERATIONS[file.op].admitting:
        admits = CALL_OPERATIONS[file.op].admits
        found[rest] = [admitted(file, *one, admits) for one in zip(*some, strict=True)]
    return found


def admitted(
    file: VectorFile, words: Words, answer: Words, admits: Callable[[AskedCall, Any], bool]
) -> bool:
    """Whether an answer to a call is one that may be given, by a function of call and result."""
    call, got = CALL_OPERATIONS[file.op].call(file.format, stripped(words)), stripped(answer)
    if len(got) != math.prod(call.shape):
        return False
    patterns = np.array(got, np.uint64).astype(f"u{call.dtype.itemsize}")
    return admits(call, patterns.view(call.dtype).reshape(call.shape))


def nibbles_of(file: VectorFile, policy: str) -> str:
    """The order of nibbles under a policy of a weight-only layer; of 8 bits no matter."""
    return CALL_OPERATIONS[file.op].parse(file.format, policy).get("nibbles", "high_first")


def inside_all(
    file: VectorFile, a: Sequence[DotSide], b: Sequence[DotSide], got: Words, rounding: Rounding
) -> Bools:
    """Whether the outputs of every row with every row are inside their intervals.

    Those of `nearest` are inside of those of `any`, which are computed only where they decide.
    """
    from mxref.operations.intervals import held  # which imports all products
    from mxref.operations.products import bounds

    found = np.zeros(got.shape, bool)
    for one in _least_first(rounding):
        found = held(bounds(a, b, pair_formats(file.format), file.float, one), got, file.float)
        if found.all():
            break
    return found


def _least_first(rounding: Rounding) -> tuple[Rounding, ...]:
    return ("nearest",) if rounding == "nearest" else ("nearest", "any")


def inside(file: VectorFile, inputs: Words, answers: Words, rounding: Rounding) -> Bools:
    """Whether the answers to dot products are inside their intervals.

    Args:
        file: the pair of formats and the float type.
        inputs: the words of the cases, one a row.
        answers: a word for each case.
        rounding: `nearest`, or `any` for adders that truncate.
    """
    from mxref.operations.intervals import held
    from mxref.operations.products import bounds, groups
    from mxref.products.intervals import Bounds

    found = np.zeros(len(inputs), bool)
    if not answers.shape[1:] or not answers.shape[1]:
        return found
    for some, a, b in groups(inputs, file.format):
        for one in _least_first(rounding):
            every = bounds(a, b, pair_formats(file.format), file.float, one)
            ends = Bounds(*map(np.diagonal, every))
            found[some] = held(ends, answers[some, 0], file.float)
            if found[some].all():
                break
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
    from mxref.operations.layers import layer_bounds

    names = file.op, file.format, file.float
    return _inside(
        layer_bounds(*names, stripped(inputs), policy, rounding, db_along=db_along), file, answer
    )


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


def sums_inside(
    file: VectorFile, inputs: Words, answers: Words, nibbles: str, order: str = "offset"
) -> Bools:
    """Whether all numbers of answers about weight-only layers are inside the intervals of an order.

    Those of `offset` hold those of the other orders.
    """
    layer = WEIGHT_ONLY_OPERATIONS[file.op]
    each = (
        _inside(layer.interval(file.format, stripped(row), order, nibbles), file, answer).all()
        for row, answer in zip(inputs, answers, strict=True)
    )
    return np.fromiter(each, bool, len(inputs))


def _inside(bounds: Bounds, file: VectorFile, answer: Words) -> Bools:
    """Whether each number of an answer is inside; none is of an answer of another length."""
    from mxref.operations.intervals import held

    got = np.array(stripped(answer), np.uint64)
    if got.shape != bounds.lo.shape:
        return np.zeros(len(bounds.lo), bool)
    return held(bounds, got, file.float)
