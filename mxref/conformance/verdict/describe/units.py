"""Compared cases taken apart into what can be right or wrong by itself, with its features.

A unit is a case, or one word of an answer: the scale of a block, an element, a byte. Elements of a
block whose scale is wrong, and of NaN blocks, which are not compared, are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, I64, LAYOUTS, Bool, split
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.conformance.verdict.describe import tables
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.integer_tables import integer_table
from mxref.formats.catalog import E8M0, CodeFormat, block_format
from mxref.numbers.codes import are_nan
from mxref.operands.word_rows import NO_WORD, stripped
from mxref.operations.registry import CALL_OPERATIONS, LAYOUT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import code_format

U64 = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Units:
    """Units of one kind, one entry of every array each."""

    kind: str  #: `answer` (a case), `scale`, `element`, `word`, or `count` of words
    codes: CodeFormat | None  #: the format whose codes the words are, if they are codes
    table: Table  #: the features
    failed: Bool  #: which units are wrong
    want: U64  #: the wanted word
    got: U64  #: the word of the answer
    ids: NDArray[np.str_]  #: the id of each unit's case
    words: I64  #: the number of each unit's word in the answer; -1 for a whole case
    integer: np.dtype[Any] | None = None  #: the dtype of words that are integers

    def name(self, index: int) -> str:
        """A case's id, and the number of the word where it is not alone."""
        word = int(self.words[index])
        return f"{self.ids[index]}[{word}]" if word >= 0 else str(self.ids[index])


def units_of(outcomes: Sequence[Outcome], policy: Policy) -> list[Units]:
    """The units of one operation and format over float types, one entry for each kind."""
    found: dict[str, list[Units]] = {}
    for outcome in outcomes:
        if len(_apart(outcome)) < len(outcome.inputs):
            for units in _Cases.of(outcome).taken_apart(policy):
                found.setdefault(units.kind, []).append(units)
    return [_joined(parts) for parts in found.values()]


def features_of(file: VectorFile, inputs: U64, want: U64, policy: Policy) -> Table:
    """The features of each word of right answers, of operations with one kind of unit.

    Args:
        file: operation, format and float type.
        inputs: the questions, a row each.
        want: the right answers.
        policy: what is right.
    """
    ids = np.zeros(len(inputs), np.int8)
    (units,) = _Cases(file, str(policy), inputs, want, want, ids, bits=False).taken_apart(policy)
    return units.table


def _apart(outcome: Outcome) -> set[int]:
    """The cases that raised an error, and those answered where the right result is an error."""
    return {*outcome.errors, *(f.index for f in outcome.failures if f.refused)}


def _joined(parts: list[Units]) -> Units:
    names = [name for name in parts[0].table if all(name in part.table for part in parts)]
    table = {name: np.concatenate([part.table[name] for part in parts]) for name in names}
    arrays = ("failed", "want", "got", "ids", "words")
    join: dict[str, Any] = {n: np.concatenate([getattr(p, n) for p in parts]) for n in arrays}
    return replace(parts[0], table=table, **join)


@dataclass(frozen=True)
class _Cases:
    """The answered cases of a file, a row each, without those that raised or should have."""

    file: VectorFile
    policy: str
    inputs: U64
    want: U64
    got: U64
    ids: Any
    bits: bool  #: whether codes of NaN and of NaN blocks were compared by their bits as well

    @functools.cached_property
    def failed(self) -> Bool:
        """Which words are wrong."""
        return ~same_answers(self.file, self.want, self.got, self.inputs, bits=self.bits)

    @classmethod
    def of(cls, outcome: Outcome) -> _Cases:
        """The cases of an outcome."""
        file, wanted, apart = outcome.file, outcome.answers.copy(), _apart(outcome)
        for failure in outcome.failures:
            wanted[failure.index] = NO_WORD
            wanted[failure.index, : len(failure.want)] = failure.want
        some = [i for i in range(len(wanted)) if i not in apart]
        ids = np.array([file.cases[i].id for i in some])
        rows = outcome.inputs[some], wanted[some], outcome.answers[some]
        return cls(file, outcome.policy, *rows, ids, bits=outcome.profile is not None)

    def taken_apart(self, policy: Policy) -> Iterator[Units]:
        """The units of all kinds."""
        if self.file.op in LAYOUT_OPERATIONS:
            yield from self._layouts(policy)
        elif self.file.op in CALL_OPERATIONS:
            yield self._integers()
        elif self.file.row.blocks == "codes":
            yield self._dequantized()
        elif self.file.row.blocks == "numbers":
            at = np.arange(self.want.size).reshape(self.want.shape)
            first = int(block_format(self.file.format).tensor_scale)
            more = tables.tensor_scale_table(self.inputs[:, :first])
            yield from self._blocks(self.inputs[:, first:], at[:, :1], at[:, 1:], more)
        else:
            yield self._numbers()

    def _units(self, kind: str, table: Table, at: I64, codes: CodeFormat | None = None) -> Units:
        """The units of words, numbered through all rows of answers, -1 for none, and features."""
        here = at >= 0
        table = {name: np.broadcast_to(column, at.shape)[here] for name, column in table.items()}
        at = at[here]
        rows, words = np.divmod(at, self.want.shape[1])
        if self.file.float in LAYOUTS:
            table["float type"] = np.full(len(at), list(LAYOUTS).index(self.file.float))
        if kind in ("answer", "count"):
            words = np.full(len(at), -1)
        failed, want, got = self.failed.reshape(-1), self.want.reshape(-1), self.got.reshape(-1)
        return Units(kind, codes, table, failed[at], want[at], got[at], self.ids[rows], words)

    def _numbers(self) -> Units:
        """Cases with one word out."""
        file, layout, fmt = self.file, LAYOUTS[self.file.float], code_format(self.file)
        came, want = self.inputs[:, 0], self.want[:, 0].astype(np.int64)
        at = np.arange(len(want))
        if file.row.from_codes:
            table = tables.code_table("code", came.astype(np.int64), fmt)
            return self._units("answer", table, at)
        table = tables.number_table(split(came, layout))
        if file.op == "shared_scale":
            return self._units("answer", {**table, "scale code": want}, at, E8M0)
        known = np.minimum(want, fmt.code_count - 1)  # a target may give others
        table |= tables.encoding_table(split(came, layout), fmt, known)
        if file.op == "encode_stochastic":
            table["random bits"], table["random width"] = self.inputs[:, 1:3].astype(np.int64).T
        return self._units("answer", table, at, fmt)

    def _dequantized(self) -> Units:
        """Elements of blocks as floats, with features of their blocks."""
        fmt, layout = block_format(self.file.format), LAYOUTS[self.file.float]
        first = int(fmt.tensor_scale)
        scales, codes = np.split(self.inputs[:, first:].astype(np.int64), [1], axis=1)
        factors = [tables.parts_at(fmt.element, codes), tables.parts_at(fmt.scale, scales)]
        factors += [split(self.inputs[:, :first], F32)] * first
        table = tables.code_table("code", codes, fmt.element) | {"scale code": scales}
        table |= tables.product_table(factors, layout)
        table |= tables.index_table("position", np.arange(codes.shape[1]))
        table |= tables.tensor_scale_table(self.inputs[:, :first])
        return self._units("element", table, np.arange(codes.size).reshape(codes.shape))

    def _blocks(self, values: U64, scales: I64, places: I64, more: Table) -> Iterator[Units]:
        """Scales and elements of quantized blocks, a block a row, with `more` features of these.

        The words of both are numbered as in `_units`.
        """
        fmt, layout = block_format(self.file.format), LAYOUTS[self.file.float]
        want, failed = self.want.reshape(-1), self.failed.reshape(-1)[scales]
        wanted = want[scales].astype(np.int64)
        # No choice says what the codes of a NaN block are.
        codes = np.minimum(want[places], fmt.element.code_count - 1).astype(np.int64)
        block, elements = tables.block_tables(values, layout, fmt, wanted, codes)
        shared = {name: column for name, column in more.items() if column.shape != values.shape}
        yield self._units("scale", block | shared, scales, fmt.scale)
        compared = ~failed & (self.bits | ~are_nan(wanted, fmt.scale))
        places = np.where(compared, places, -1)
        yield self._units("element", block | elements | more, places, fmt.element)

    def _integers(self) -> Units:
        """The words of calls of integer operations."""
        file, width = self.file, self.want.shape[1]
        found: list[Units] = []
        for i, row in enumerate(self.inputs):
            words, want = stripped(row), np.array(stripped(self.want[i]), np.uint64)
            table = integer_table(file.op, file.format, words, want, self.policy)
            found.append(self._units("element", table, i * width + np.arange(len(want))))
        integer = CALL_OPERATIONS[file.op].call(file.format, stripped(self.inputs[0])).dtype
        return replace(_joined(found), integer=integer if integer.kind in "iu" else None)

    def _layouts(self, policy: Policy) -> Iterator[Units]:
        """The number of words of each case, and the words or blocks of those where it is right."""
        file, width = self.file, self.want.shape[1]
        inputs = [row[row != NO_WORD].tolist() for row in self.inputs]
        want, got = ((w != NO_WORD).sum(axis=1).astype(np.uint64) for w in (self.want, self.got))
        shapes = [tables.case_table(file.op, words) for words in inputs]
        table = {name: np.array([shape[name] for shape in shapes]) for name in shapes[0]}
        units = self._units("count", table, width * np.arange(len(inputs)))
        yield replace(units, failed=want != got, want=want, got=got)
        for i in np.flatnonzero(want == got).tolist():
            first, words = i * width, inputs[i]
            if file.op == "quantize_tensor":
                values, scales, places, more = tables.tensor_blocks(file, words, policy)
                places = np.where(places < 0, places, first + places)
                yield from self._blocks(values, first + scales, places, more)
            else:
                table = tables.word_table(file, words, self.want[i, : int(want[i])], policy)
                yield self._units("word", table, first + np.arange(int(want[i])))
