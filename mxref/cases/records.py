"""Golden vectors as records: one file for an operation, a format and a float type.

A file is JSON Lines: a header object, then one case a line. Inputs and outputs are words, bit
patterns as fixed-width lower-case hex, several of them separated by spaces. `vectors/README.md` is
the contract.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._version import VECTORS_VERSION
from mxref.cases.words import FLAGS, known_models, known_rules
from mxref.operands.word_rows import padded
from mxref.operations.operation import Operation
from mxref.operations.registry import row_of

__all__ = ["Case", "VectorFile"]

SPEC = "OCP MX v1.0"
#: Digits of `by`, each an index into `out`.
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Case:
    """One golden case.

    Args:
        id: unique and never changed: operation, format, float type, and a name, which is the input
            where that is one word.
        inputs: bit patterns.
        answers: the different answers of the file's policy columns, as bit patterns.
        by: for each column the index of its answer; empty where there is only one answer.
        required: True where the standard requires the first answer of everyone.
        rule: the clause that decides the answer.
        model: the coverage model that the input comes from.
        flags: what the case exercises.
    """

    id: str
    inputs: tuple[int, ...]
    answers: tuple[tuple[int, ...], ...]
    by: tuple[int, ...]
    required: bool
    rule: str
    model: str
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the id."""
        return self.id.rpartition(".")[2]

    def output(self, column: int) -> tuple[int, ...]:
        """The answer of a policy column.

        >>> case = Case("decode.e2m1.f32.07", (7,), ((1,), (2,)), (0, 1, 0), False, "N1", "M1")
        >>> case.output(0), case.output(1)
        ((1,), (2,))
        """
        return self.answers[self.by[column] if self.by else 0]


@dataclass(frozen=True, slots=True)
class VectorFile:
    """All cases of one operation, format and float type.

    Args:
        op: operation.
        format: element, scale or block format.
        float: type of the float side: of the inputs, or of the decoded numbers.
        columns: policies, `ocp` first.
        plain: number of columns, from the first on, in the plain file.
        in_digits: hex digits of an input word.
        out_digits: hex digits of an output word.
        cases: in order of their inputs.
    """

    op: str
    format: str
    float: str
    columns: tuple[str, ...]
    plain: int
    in_digits: int
    out_digits: int
    cases: tuple[Case, ...]

    @property
    def row(self) -> Operation:
        """Its operation's row."""
        return row_of(self.op)

    @property
    def rule(self) -> str:
        """The clause that decides most cases; only others are named in a case's line."""
        return Counter(case.rule for case in self.cases).most_common(1)[0][0]

    @property
    def stem(self) -> str:
        """Path below `vectors/` without the ending."""
        return f"{self.op}/{self.format}.{self.float}"

    def input_words(self) -> NDArray[np.uint64]:
        """The inputs of all cases, one case a row, padded with NO_WORD."""
        return padded([case.inputs for case in self.cases])

    def outputs(self, column: int) -> NDArray[np.uint64]:
        """The answers of a policy column, one case a row, padded with NO_WORD."""
        return padded([case.output(column) for case in self.cases])

    def lines(self) -> Iterator[str]:
        """The canonical JSON Lines text, without line ends."""
        flags = {flag for case in self.cases for flag in case.flags}
        models = {case.model for case in self.cases}
        rules = {case.rule for case in self.cases}
        required = {case.rule for case in self.cases if case.required}
        known = known_rules(self.op)
        header = {
            "mxref_vectors": VECTORS_VERSION,
            "spec": SPEC,
            "op": self.op,
            "format": self.format,
            "float": self.float,
            "columns": list(self.columns),
            "plain": self.plain,
            "in_digits": self.in_digits,
            "out_digits": self.out_digits,
            "cases": len(self.cases),
            "rule": self.rule,
            "required": [name for name in known if name in required],
            "rules": {name: text for name, text in known.items() if name in rules},
            "models": {k: text for k, text in known_models(self.op).items() if k in models},
            "flags": {name: text for name, text in FLAGS.items() if name in flags},
        }
        yield json_line(header)
        usual = self.rule
        for case in self.cases:
            yield json_line(self._record(case, usual))

    def _record(self, case: Case, usual: str) -> dict[str, Any]:
        inputs = words(case.inputs, self.in_digits)
        answers = [words(answer, self.out_digits) for answer in case.answers]
        name = case.name
        record: dict[str, Any] = {} if name == inputs else {"name": name}
        record["in"] = inputs
        record["out"] = answers if case.by else answers[0]
        if case.by:
            record["by"] = "".join(DIGITS[index] for index in case.by)
        if case.rule != usual:
            record["rule"] = case.rule
        record["model"] = case.model
        if case.flags:
            record["flags"] = list(case.flags)
        return record

    def plain_lines(self) -> Iterator[str]:
        """The cases as hex columns: input words, then output words of the first `plain` columns."""
        for case in self.cases:
            outputs = " ".join(words(case.output(i), self.out_digits) for i in range(self.plain))
            yield f"{words(case.inputs, self.in_digits)} {outputs}"


def words(values: tuple[int, ...], digits: int) -> str:
    """Bit patterns as hex words.

    >>> words((0, 255), 2)
    '00 ff'
    """
    return " ".join([f"%0{digits}x"] * len(values)) % tuple(values)


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


def json_line(record: dict[str, Any]) -> str:
    """The canonical spelling of an object in the vectors."""
    return _ENCODER.encode(record)
