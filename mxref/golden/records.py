"""Golden vectors as records: one file for an operation, a format and a float type.

A file is JSON Lines: a header object, then one case a line. Inputs and outputs are words, bit
patterns as fixed-width lower-case hex, several of them separated by spaces. `vectors/README.md` is
the contract.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref._version import VECTORS_VERSION
from mxref.golden.words import FLAGS, MODELS, RULES

__all__ = ["Case", "VectorFile"]

SPEC = "OCP MX v1.0"


@dataclass(frozen=True, slots=True)
class Case:
    """One golden case.

    Args:
        id: stable name: the file's name and the input (or the name of a block).
        inputs: bit patterns.
        outputs: for each of the file's policy columns, bit patterns.
        required: True where the standard requires this answer of everyone.
        rule: the clause that decides the answer.
        model: the coverage model that the input comes from.
        flags: what the case exercises.
    """

    id: str
    inputs: tuple[int, ...]
    outputs: tuple[tuple[int, ...], ...]
    required: bool
    rule: str
    model: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorFile:
    """All cases of one operation, format and float type.

    Args:
        op: operation.
        format: element, scale or block format.
        float: type of the float side: of the inputs, or of what is decoded to.
        columns: policies, one for each output of a case.
        in_digits: hex digits of an input word.
        out_digits: hex digits of an output word.
        cases: in order of their inputs.
    """

    op: str
    format: str
    float: str
    columns: tuple[str, ...]
    in_digits: int
    out_digits: int
    cases: tuple[Case, ...]

    @property
    def stem(self) -> str:
        """Path below `vectors/` without the ending."""
        return f"{self.op}/{self.format}.{self.float}"

    def input_words(self) -> NDArray[np.uint64]:
        """The inputs of all cases, one case a row."""
        return np.array([case.inputs for case in self.cases], np.uint64)

    def lines(self) -> Iterator[str]:
        """The canonical JSON Lines text, without line ends."""
        flags = {flag for case in self.cases for flag in case.flags}
        models = {case.model for case in self.cases}
        rules = {case.rule for case in self.cases}
        header = {
            "mxref_vectors": VECTORS_VERSION,
            "spec": SPEC,
            "op": self.op,
            "format": self.format,
            "float": self.float,
            "columns": list(self.columns),
            "in_digits": self.in_digits,
            "out_digits": self.out_digits,
            "cases": len(self.cases),
            "rules": {name: text for name, text in RULES.items() if name in rules},
            "models": {name: text for name, text in MODELS.items() if name in models},
            "flags": {name: text for name, text in FLAGS.items() if name in flags},
        }
        yield _json(header)
        for case in self.cases:
            outputs = [words(output, self.out_digits) for output in case.outputs]
            record: dict[str, Any] = {
                "id": case.id,
                "in": words(case.inputs, self.in_digits),
                "out": outputs[0] if case.required else outputs,
                "rule": case.rule,
                "model": case.model,
            }
            if case.flags:
                record["flags"] = list(case.flags)
            yield _json(record)

    def plain_lines(self) -> Iterator[str]:
        """The same as hex columns: the input words, then the output words of each policy."""
        for case in self.cases:
            outputs = " ".join(words(output, self.out_digits) for output in case.outputs)
            yield f"{words(case.inputs, self.in_digits)} {outputs}"


def words(values: tuple[int, ...], digits: int) -> str:
    """Bit patterns as hex words.

    >>> words((0, 255), 2)
    '00 ff'
    """
    return " ".join(f"{value:0{digits}x}" for value in values)


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"), ensure_ascii=True)
