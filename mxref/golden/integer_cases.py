"""Files of integer operations, with the answers of each policy that differs in one choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from mxref.cases.records import VectorFile
from mxref.golden.affine_inputs import axis_cases, code_cases, double_cases, value_cases
from mxref.golden.case_inputs import CaseInput, Words, cases_of
from mxref.golden.reasons import reason
from mxref.golden.rescale_inputs import grid_cases, int4_cases, rescale_cases
from mxref.golden.weight_only_inputs import weight_only_cases
from mxref.operations.registry import (
    INTEGER_FLOATS,
    INTEGER_OPERATIONS,
    INTEGERS,
    REGISTRY,
    WEIGHT_ONLY_OPERATIONS,
)
from mxref.operations.word_rows import padded

__all__ = ["integer_inputs", "integer_tasks"]


def integer_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of integer operations."""
    for op in INTEGER_OPERATIONS:
        for format in INTEGERS[op].formats:
            yield partial(_file, op, format)


def integer_inputs(op: str, format: str) -> Iterable[CaseInput]:
    """The inputs of the cases of an operation and format."""
    if op.endswith("_int4"):
        return int4_cases(op)
    if op == "rescale":
        return rescale_cases(format)
    if op in WEIGHT_ONLY_OPERATIONS:
        return weight_only_cases(op, format)
    if op == "grid_sample":
        return grid_cases(format)
    if format.endswith("_scale64"):
        return double_cases()
    if format.endswith("_axis"):
        return axis_cases(op, format)
    return value_cases(format) if op == "quantize_affine" else code_cases(format)


def _file(op: str, format: str) -> VectorFile:
    entries: dict[Words, CaseInput] = {}
    for entry in integer_inputs(op, format):
        entries.setdefault(entry.inputs, entry)
    cases = list(entries.values())
    columns = tuple(_columns(op, format, cases))
    answered = [
        [INTEGERS[op].exact_answer(format, case.inputs, c) for case in cases] for c in columns
    ]
    float = INTEGER_FLOATS[op]
    why = []
    for case, answer in zip(cases, answered[0], strict=True):
        required, rule, flags = reason(op, format, float, case.inputs, answer)
        why.append((required, rule, tuple(dict.fromkeys((*flags, *case.flags)))))
    made = cases_of(f"{op}.{format}.{float}", cases, answered, why)
    digits = INTEGERS[op].digits(format, float)
    return VectorFile(op, format, float, columns, len(columns), *digits, made)


def _columns(op: str, format: str, entries: list[CaseInput]) -> Iterator[str]:
    """The first policy, bounds, and the policies that differ in one choice and in an answer."""
    words = padded([entry.inputs for entry in entries])
    first = INTEGERS[op].first_policy(format)
    yield first
    yield from REGISTRY[op].bounds(format)
    own = REGISTRY[op].fast(format, "", words, first)
    for policy in INTEGERS[op].neighbours(format, first):
        try:
            found = REGISTRY[op].fast(format, "", words, policy)
        except ValueError:  # of nan=error
            continue
        if (found != own).any():
            yield policy
