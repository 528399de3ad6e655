"""Formats and float types of a target that no vector file has: only computed calls ask them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mxref.bits.floats import LAYOUTS
from mxref.conformance.checking.call_questions import CallQuestion, ask
from mxref.conformance.checking.computed_calls import SizeScope, ask_one_by_one, called
from mxref.conformance.checking.product_shapes import Product, ProductSubject
from mxref.conformance.checking.subjects import explaining
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.conformance.verdict.report import Report
from mxref.formats.catalog import MX_BLOCKS
from mxref.operations.registry import CALL_OPERATIONS, LAYER_OPERATIONS
from mxref.policy.policy import Policy
from mxref.support.text import a_few
from mxref.targets.calls import quiet
from mxref.targets.product_function import ProductFunction
from mxref.targets.target import PythonTarget

if TYPE_CHECKING:
    from mxref.conformance.checking.integer_questions import IntegerSubject
    from mxref.conformance.checking.layer_shapes import LayerQuestion
    from mxref.conformance.checking.layout_questions import LayoutSubject

__all__ = ["ask_unfiled", "unfiled_tensors"]

Asked = dict[tuple[str, str, str], None]

#: Most names in the note on what is refused.
_NAMES = 4


def ask_unfiled(
    target: PythonTarget, report: Report, elements: int
) -> tuple[list[CallDependence], SizeScope]:
    """What is wrong in formats and float types that no file has, with notes on what is refused.

    They are asked of operations whose answers to the vectors a policy gives: linear layers of every
    block format, products of every pair of them to every float type, and integers of every type.

    Args:
        target: the implementation.
        report: its answers to the vectors.
        elements: the largest number of elements in a call.
    """
    if report.profile is not None:
        return [], SizeScope()
    asked = _asked(report)
    refused: list[str] = []
    with quiet():
        some: list[CallQuestion] = [
            *_layers(target, report, asked),
            *(Product(one, (2, 3, 2)) for one in _products(target, report, asked)),
            *(one.first_question() for one in _integers(target, report)),
        ]
        taken = [one.subject for one in some if not _refuses(target, one, refused)]
    uses, scope = ask_one_by_one(target, taken, elements)
    return uses, SizeScope(notes=_notes(refused), ordinary=scope.ordinary)


def unfiled_tensors(target: PythonTarget, report: Report) -> Iterator[LayoutSubject]:
    """Tensors of float types that no file has, of operations that a policy gives the answers of."""
    op, asked = "quantize_tensor", _asked(report)
    policy = None if report.profile else _policy(report, op)
    for format in dict.fromkeys(format for other, format, _ in asked if other == op):
        for float in LAYOUTS:
            names = op, format, float
            if policy and names not in asked and target.covers(*names):
                from mxref.conformance.checking.layout_questions import LayoutSubject

                yield LayoutSubject(*names, policy)


def _notes(refused: Sequence[str]) -> tuple[str, ...]:
    few = a_few(refused, _NAMES)
    return (f"not in the vectors, and refused: {few}",) if refused else ()


def _asked(report: Report) -> Asked:
    """The operations, formats and float types of the files, in their order."""
    files = (one.file for row in report.rows for one in row.outcomes)
    return dict.fromkeys((file.op, file.format, file.float) for file in files)


def _policy(report: Report, op: str) -> Policy | None:
    """The policy that gives all answers of an operation to the vectors, if there is one."""
    policies = [explaining(row, report) for row in report.rows if row.op == op]
    first = policies[0] if policies and all(one is not None for one in policies) else None
    return first if isinstance(first, Policy) else None


def _refuses(target: PythonTarget, question: CallQuestion, refused: list[str]) -> bool:
    """Whether a target raises an exception, which is its right; it is added to the list."""
    one = question.subject
    reply = ask(called(target.operations[one.op]), question)
    if reply.error:
        refused.append(f"{one.op} {one.format} {getattr(one, 'float', '')}".rstrip())
    return bool(reply.error)


def _layers(target: PythonTarget, report: Report, asked: Asked) -> Iterator[LayerQuestion]:
    for op in (op for op in LAYER_OPERATIONS if op in target.operations):
        from mxref.conformance.checking.layer_shapes import LayerQuestion, LayerSubject

        policy, formats = _policy(report, op), {format for other, format, _ in asked if other == op}
        for format in MX_BLOCKS:
            if policy and format not in formats and target.covers(op, format, "f32"):
                yield LayerQuestion(LayerSubject(op, format, "f32", policy), (1, 2, 33, 3))


def _products(target: PythonTarget, report: Report, asked: Asked) -> Iterator[ProductSubject]:
    op = "matmul"
    policy, function = _policy(report, op), target.operations.get(op)
    if policy is None or not isinstance(function, ProductFunction):
        return
    for pair in itertools.product(MX_BLOCKS, repeat=2):
        for float in ("f32", "bf16", "f16"):
            names = op, "-".join(pair), float
            if names not in asked and target.covers(*names):
                yield ProductSubject(*names, function, is_rare=True)


def _integers(target: PythonTarget, report: Report) -> Iterator[IntegerSubject]:
    """Formats of integers, with the choices of those that decide them."""
    for op in (op for op in CALL_OPERATIONS if op in target.operations):
        from mxref.conformance.checking.integer_questions import IntegerSubject

        operation = CALL_OPERATIONS[op]
        rows = {row.format: row.policy for row in report.rows if row.op == op}
        has_policy = all(explaining(row, report) for row in report.rows if row.op == op)
        for format, like in operation.further.items():
            decided = has_policy and {*like.values()} <= {*rows} and format not in rows
            if decided and target.covers(op, format, operation.slot_of(format)):
                known = operation.choices(format)
                given = {name: operation.parse(one, rows[one]) for name, one in like.items()}
                chosen = {name: one[name] for name, one in given.items() if name in one}
                own = {name: one for name, one in chosen.items() if one in known.get(name, ())}
                policy = operation.spell(format, own)
                with contextlib.suppress(ValueError):  # choices that have no meaning together
                    operation.parse(format, policy)
                    yield IntegerSubject(op, format, policy, is_rare=True)
