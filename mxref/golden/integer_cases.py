"""Files of integer operations, with the answers of each policy that differs in one choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from mxref.cases.records import VectorFile
from mxref.golden.affine_inputs import axis_cases, code_cases, double_cases, value_cases
from mxref.golden.case_inputs import CaseInput, Words, cases_of
from mxref.golden.reasons import reason
from mxref.golden.rescale_inputs import int4_cases, rescale_cases
from mxref.golden.sampling_inputs import grid_cases
from mxref.golden.weight_only_inputs import weight_only_cases
from mxref.operands.word_rows import padded
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY

__all__ = ["call_file", "call_tasks", "integer_inputs"]


def call_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of the operations of calls that mxref has."""
    for op, row in CALL_OPERATIONS.items():
        for format in row.formats if not row.is_own else ():
            yield partial(call_file, op, format)


def integer_inputs(op: str, format: str) -> Iterable[CaseInput]:
    """The inputs of the cases of an operation and format."""
    if op in _DESIGNED:
        return _DESIGNED[op](op, format)
    return CALL_OPERATIONS[op].designed(format)


def _affine(op: str, format: str) -> Iterable[CaseInput]:
    if format.endswith("_scale64"):
        return double_cases()
    if format.endswith("_axis"):
        return axis_cases(op, format)
    return value_cases(format) if op == "quantize_affine" else code_cases(format)


#: The designed inputs of the operations of mxref.
_DESIGNED: Mapping[str, Callable[[str, str], Iterable[CaseInput]]] = {
    "quantize_affine": _affine,
    "dequantize_affine": _affine,
    "pack_int4": lambda op, format: int4_cases(op),
    "unpack_int4": lambda op, format: int4_cases(op),
    "rescale": lambda op, format: rescale_cases(format),
    "grid_sample": lambda op, format: grid_cases(format),
    "linear_qcs8w": weight_only_cases,
    "linear_qcs4w": weight_only_cases,
}


def call_file(op: str, format: str) -> VectorFile:
    """The file of an operation of calls and a format."""
    entries: dict[Words, CaseInput] = {}
    for entry in integer_inputs(op, format):
        entries.setdefault(entry.inputs, entry)
    cases = list(entries.values())
    columns = tuple(_columns(op, format, cases))
    answered = [
        [CALL_OPERATIONS[op].exact_answer(format, case.inputs, c) for case in cases]
        for c in columns
    ]
    float = CALL_OPERATIONS[op].slot_of(format)
    why = []
    for case, answer in zip(cases, answered[0], strict=True):
        required, rule, flags = reason(op, format, float, case.inputs, answer)
        why.append((required, rule, tuple(dict.fromkeys((*flags, *case.flags)))))
    made = cases_of(f"{op}.{format}.{float}", cases, answered, why)
    digits = CALL_OPERATIONS[op].digits(format, float)
    return VectorFile(op, format, float, columns, len(columns), *digits, made)


def _columns(op: str, format: str, entries: list[CaseInput]) -> Iterator[str]:
    """The first policy, bounds, and the policies that differ in one choice and in an answer."""
    words = padded([entry.inputs for entry in entries])
    first = CALL_OPERATIONS[op].first_policy(format)
    yield first
    yield from REGISTRY[op].bounds(format)
    own = REGISTRY[op].fast(format, "", words, first)
    for policy in CALL_OPERATIONS[op].neighbours(format, first):
        try:
            found = REGISTRY[op].fast(format, "", words, policy)
        except ValueError:  # of nan=error
            continue
        if (found != own).any():
            yield policy
