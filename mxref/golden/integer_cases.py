"""Files of integer operations, with the answers of each policy that differs in one choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mxref.cases.records import VectorFile
from mxref.golden.case_inputs import CaseInput, Words, cases_of
from mxref.golden.reasons import reason
from mxref.operands.word_rows import padded
from mxref.operations.call_operation import CallOperation
from mxref.operations.registry import CALL_OPERATIONS

__all__ = ["call_file", "call_tasks"]


def call_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of the operations of calls that mxref has."""
    for op, row in CALL_OPERATIONS.items():
        for format in row.formats if not row.is_own else ():
            yield partial(call_file, op, format)


def call_file(op: str, format: str) -> VectorFile:
    """The file of an operation of calls and a format."""
    row = CALL_OPERATIONS[op]
    entries: dict[Words, CaseInput] = {}
    for entry in row.designed(format):
        entries.setdefault(entry.inputs, entry)
    cases = list(entries.values())
    columns = tuple(_columns(row, format, cases))
    answered = [[row.exact_answer(format, case.inputs, c) for case in cases] for c in columns]
    float = row.slot_of(format)
    why = []
    for case, answer in zip(cases, answered[0], strict=True):
        required, rule, flags = reason(op, format, float, case.inputs, answer)
        why.append((required, rule, tuple(dict.fromkeys((*flags, *case.flags)))))
    made = cases_of(f"{op}.{format}.{float}", cases, answered, why)
    digits = row.digits(format, float)
    return VectorFile(op, format, float, columns, len(columns), *digits, made)


def _columns(row: CallOperation, format: str, entries: list[CaseInput]) -> Iterator[str]:
    """The first policy, bounds, and the policies that differ in one choice and in an answer."""
    words = padded([entry.inputs for entry in entries])
    first = row.first_policy(format)
    yield first
    yield from row.bounds(format)
    own = row.fast(format, "", words, first)
    for policy in row.neighbours(format, first):
        try:
            found = row.fast(format, "", words, policy)
        except ValueError:  # of nan=error
            continue
        if (found != own).any():
            yield policy
