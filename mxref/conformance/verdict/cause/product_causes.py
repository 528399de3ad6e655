"""Why dot products are wrong: a named accumulation, or wrong operands in any accumulation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Outcome
from mxref.conformance.compare.product_intervals import layers_inside
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.cause.suspects import unless_it_fails
from mxref.conformance.verdict.describe.product_description import named_accumulations, same_product
from mxref.mutants import Mutant, mutants_of
from mxref.mutants.matmul_mutants import float32_numbers
from mxref.mutants.matmul_operands import OPERANDS
from mxref.mutants.scaled_product_mutants import NUMBERS, wrong_numbers
from mxref.operations.intervals import held
from mxref.operations.product_words import DotSide, pair_formats
from mxref.operations.products import bounds, groups
from mxref.operations.registry import DOT_OPERATIONS, LAYER_OPERATIONS
from mxref.policy.policy import Policy
from mxref.products.float_products import float_product_bounds
from mxref.products.intervals import Bounds
from mxref.targets.calls import call_operation

Words = NDArray[np.uint64]
#: Mutants of narrower sums, which no clause forbids: the description of a product tells of them.
_PRECISION = ("H1", "H1b", "H2")
#: The mutant whose numbers are those that float32 holds.
_OF_FLOAT32 = "H3b"
#: The axis along which the gradient is quantized before it is summed for the bias.
BIAS_GRADIENTS = {1: "H21b", 0: "H21"}
#: Choices that other axes or operands of linear layers show.
_LAYER_CHOICES = {
    "linear": ("weight_axis", "activations"),
    "linear_gradients": ("backward_operands", "gradient_rows"),
}


def product_causes(outcomes: Sequence[Outcome]) -> tuple[Cause, ...]:
    """What gives all answers to products, if something known does.

    A named accumulation and most mutants have to give their bits. Where a mutant reads the wrong
    operands, the answers have to be inside the intervals of these, whatever the order. So they have
    to for choices of linear layers, and for a gradient of the bias that is summed after it was
    quantized.
    """
    if any(one.errors for one in outcomes):
        return ()
    file, total = outcomes[0].file, sum(len(one.inputs) for one in outcomes)
    of_layers = file.op in LAYER_OPERATIONS
    if of_layers:
        policies = (one for one in _choices(outcomes) if _inside_layers(outcomes, one))
    else:
        named = named_accumulations(outcomes)
        policies = (Policy().replace(accumulation=name) for name in named)
    if policy := next(policies, None):
        name = str(policy)
        return (Cause("policy", name, "", "", "", (), name, (), total, total),)
    mutants = mutants_of(file.op)
    if file.op == "linear_gradients":
        for (axis, id), policy in itertools.product(BIAS_GRADIENTS.items(), _choices(outcomes)):
            if _inside_layers(outcomes, policy, axis):
                (m,) = (m for m in mutants if m.id == id)
                told = m.id, m.name, m.text, m.op, m.seen
                return (Cause("mutant", *told, str(policy), (), total, total),)
    # Rows of other calls have other neighbours than those of the vectors.
    asked = [one for one in outcomes if of_layers or one.file.cases[0].model]
    return tuple(
        Cause("mutant", m.id, m.name, m.text, m.op, m.seen, "ocp", (), total, total)
        for m in mutants
        if m.id not in _PRECISION
        and file.format in m.formats
        and all(_gives(m, one) for one in asked)
    )


def _choices(outcomes: Sequence[Outcome]) -> Iterator[Policy]:
    """The policies that other axes or operands of linear layers show."""
    names = _LAYER_CHOICES[outcomes[0].file.op]
    members = [[(name, m.value) for m in Policy.members(name)] for name in names]
    own = Policy.parse(outcomes[0].policy)
    yield from (own.replace(**dict(chosen)) for chosen in itertools.product(*members))


def _inside_layers(
    outcomes: Sequence[Outcome], policy: Policy, db_along: int | None = None
) -> bool:
    """Whether all answers are inside the intervals of a policy, with adders that truncate."""
    return all(
        layers_inside(one.file, one.inputs, one.answers, policy, "any", db_along).all()
        for one in outcomes
    )


def _gives(mutant: Mutant, outcome: Outcome) -> bool:
    """Whether a mutant gives all answers to a vector file."""
    if mutant.op == "matmul" and outcome.answers.shape[1] != 1:
        return False
    if mutant.id in (*OPERANDS, *NUMBERS, _OF_FLOAT32):
        return _inside(mutant.id, outcome)
    if mutant.run is None:
        return False
    found = unless_it_fails(partial(call_operation, mutant.run, outcome.file, outcome.inputs), None)
    return found is not None and same_product(outcome, found)


def _inside(id: str, outcome: Outcome) -> bool:
    """Whether all answers are inside the intervals of a mutant's operands, as a call has them."""
    file = outcome.file
    for some, a, b in groups(outcome.inputs, file.format):
        with np.errstate(all="ignore"):
            ends = _ends(id, file, a, b[::-1])
        ends = Bounds(*(np.diagonal(end[:, ::-1]) for end in ends))
        if not held(ends, outcome.answers[some, 0], file.float).all():
            return False
    return True


def _ends(id: str, file: VectorFile, a: Sequence[DotSide], b: Sequence[DotSide]) -> Bounds:
    """The intervals of every row of a side with every row of the other, as a mutant reads them."""
    if id in NUMBERS:
        call = DOT_OPERATIONS[file.op].call(file.format, file.float, a, b)
        x, y = wrong_numbers(id, *call.arguments.values())
        return Bounds(*float_product_bounds(x, y.T, LAYOUTS[file.float], "any"))
    names = [fmt.name for fmt in pair_formats(file.format)]
    arrays = [
        np.array([getattr(row, part) for row in rows], np.uint8)
        for rows in (a, b)
        for part in ("scales", "codes")
    ]
    if id == _OF_FLOAT32:
        x, y = (float32_numbers(arrays[2 * i], arrays[2 * i + 1], names[i]) for i in (0, 1))
        return Bounds(*float_product_bounds(x, y.T, LAYOUTS[file.float], "any"))
    *changed, left, right = OPERANDS[id][0](*arrays, *names)
    one, other = (
        [DotSide(tuple(s), tuple(c)) for s, c in zip(scales.tolist(), codes.tolist(), strict=True)]
        for scales, codes in (changed[:2], changed[2:])
    )
    return bounds(one, other, pair_formats(f"{left}-{right}"), file.float, "any")
