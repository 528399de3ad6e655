"""Compared cases taken apart into what can be right or wrong by itself, with its features.

A unit is a case, or one word of an answer: the scale of a block, an element, a byte. Elements of a
block whose scale is wrong, and of NaN blocks, which are not compared, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, I64, LAYOUTS, Bool, Parts, split
from mxref.cases.records import NO_WORD, VectorFile
from mxref.cases.words import LAYOUT_OPERATIONS
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.conformance.verdict.describe.block_features import block_tables, place_table, spread
from mxref.conformance.verdict.describe.features import Table
from mxref.conformance.verdict.describe.layout_features import case_table, tensor_blocks, word_table
from mxref.conformance.verdict.describe.number_features import (
    code_table,
    encoding_table,
    number_table,
    product_table,
)
from mxref.formats.catalog import E8M0, CodeFormat, block_format
from mxref.numbers.codes import every_code
from mxref.policy.policy import Policy
from mxref.targets.calls import code_format

__all__ = ["Units", "units_of"]

U64 = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Units:
    """Units of one kind, one entry of every array each.

    Args:
        kind: what they are: `answer`, `scale`, `element`, `word` or `count` of words.
        codes: the format whose codes the words are; None for floats and for mere integers.
        table: their features.
        failed: which are wrong.
        want: the wanted word.
        got: the word that came.
        ids: the id of each one's case.
        words: and the number of its word in the answer; -1 for a whole case.
        floats: whether the words are floats, each of its own type.
    """

    kind: str
    codes: CodeFormat | None
    table: Table
    failed: Bool
    want: U64
    got: U64
    ids: NDArray[np.str_]
    words: I64
    floats: bool = False

    @classmethod
    def of_rows(
        cls,
        kind: str,
        codes: CodeFormat | None,
        table: Table,
        failed: Bool,
        answers: tuple[U64, U64],
        ids: NDArray[np.str_],
        first: int,
        *,
        floats: bool = False,
    ) -> Units:
        """Units of cases that are rows, `first` the number of the word in the first column."""
        count, width = failed.shape
        return cls(
            kind,
            codes,
            {name: column.reshape(-1) for name, column in table.items()},
            failed.reshape(-1),
            answers[0].reshape(-1),
            answers[1].reshape(-1),
            np.repeat(ids, width),
            np.tile(np.arange(first, first + width), count),
            floats,
        )

    def only(self, some: Bool) -> Units:
        """Some of them."""
        return Units(
            self.kind,
            self.codes,
            {name: column[some] for name, column in self.table.items()},
            self.failed[some],
            self.want[some],
            self.got[some],
            self.ids[some],
            self.words[some],
            self.floats,
        )

    def name(self, index: int) -> str:
        """A case's id, and the number of the word where it is not alone."""
        word = int(self.words[index])
        return f"{self.ids[index]}[{word}]" if word >= 0 else str(self.ids[index])


def units_of(outcomes: Sequence[Outcome], policy: Policy) -> list[Units]:
    """The units of one operation and format over float types, one entry for each kind."""
    found: dict[str, list[Units]] = {}
    for outcome in outcomes:
        for units in _units(outcome, policy):
            found.setdefault(units.kind, []).append(units)
    return [_joined(parts) for parts in found.values()]


def _joined(parts: list[Units]) -> Units:
    names = [name for name in parts[0].table if all(name in part.table for part in parts)]
    return Units(
        parts[0].kind,
        parts[0].codes,
        {name: np.concatenate([part.table[name] for part in parts]) for name in names},
        np.concatenate([part.failed for part in parts]),
        np.concatenate([part.want for part in parts]),
        np.concatenate([part.got for part in parts]),
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.words for part in parts]),
        parts[0].floats,
    )


def _units(outcome: Outcome, policy: Policy) -> Iterator[Units]:
    """The units of one outcome; cases that raised an error are none."""
    file, wanted = outcome.file, outcome.answers.copy()
    answered = np.ones(len(outcome.inputs), bool)
    answered[[*outcome.errors]] = False
    for failure in outcome.failures:
        wanted[failure.index] = NO_WORD
        wanted[failure.index, : len(failure.want)] = failure.want
    if not answered.any():
        return
    cases = _Cases(
        file,
        outcome.inputs[answered],
        wanted[answered],
        outcome.answers[answered],
        np.array([case.id for case in file.cases])[answered],
        np.array(["strided" in case.flags for case in file.cases])[answered],
        outcome.profile is not None,
    )
    parts = _KINDS.get(file.op, _numbers)(cases, policy)
    for units in parts:
        if file.float in LAYOUTS:
            slot = list(LAYOUTS).index(file.float)
            units.table["float type"] = np.full(len(units.failed), slot)
        yield units


@dataclass(frozen=True, slots=True)
class _Cases:
    """The answered cases of a file, a row each, their ids, and where `strided` is a flag.

    With `bits` codes of NaN and of NaN blocks were compared by their bits as well.
    """

    file: VectorFile
    inputs: U64
    want: U64
    got: U64
    ids: NDArray[np.str_]
    strided: Bool
    bits: bool


def _numbers(cases: _Cases, policy: Policy) -> Iterator[Units]:
    """Units of operations with one word out: the cases."""
    file, layout, fmt = cases.file, LAYOUTS[cases.file.float], code_format(cases.file)
    came, want = cases.inputs[:, 0], cases.want[:, 0]
    codes: CodeFormat | None = E8M0 if file.op == "shared_scale" else fmt
    if file.op in ("decode", "decode_scale"):
        table, codes = code_table(came.astype(np.int64), fmt), None
    else:
        bits = came.astype(layout.uint)
        table = number_table(bits, layout)
        if file.op == "shared_scale":
            table["wanted scale"] = want.astype(np.int64)
        else:
            table |= encoding_table(bits, layout, fmt, want.astype(np.int64))
    if file.op == "encode_stochastic":
        draw, width = cases.inputs[:, 1:3].astype(np.int64).T
        ends = np.select((draw == 0, draw == (1 << width) - 1), (0, 2), 1)
        table |= {"random bits": draw, "random width": width, "random ends": ends}
    failed, answers = _compared(cases, 0, 1)
    floats = codes is None
    yield Units.of_rows("answer", codes, table, failed, answers, cases.ids, -1, floats=floats)


def _compared(cases: _Cases, start: int, stop: int | None = None) -> tuple[Bool, tuple[U64, U64]]:
    """Which of some words of each case are wrong, and what was wanted and came."""
    failed = ~same_answers(cases.file, cases.want, cases.got, bits=cases.bits)
    part = np.s_[:, start:stop]
    return failed[part], (cases.want[part], cases.got[part])


def _quantized(cases: _Cases, policy: Policy) -> Iterator[Units]:
    """Scales and elements of blocks."""
    fmt, layout = block_format(cases.file.format), LAYOUTS[cases.file.float]
    scales = cases.want[:, 0].astype(np.int64)
    # Nobody says what the codes of a NaN block are.
    codes = np.minimum(cases.want[:, 1:], fmt.element.code_count - 1).astype(np.int64)
    values = cases.inputs[:, fmt.tensor_scale :].astype(layout.uint)
    block, elements = block_tables(values, layout, fmt, scales, codes)
    if fmt.tensor_scale:
        block |= _tensor_scale(cases)
        elements |= spread(_tensor_scale(cases), values.shape)
    failed, answers = _compared(cases, 0, 1)
    yield Units.of_rows("scale", fmt.scale, block, failed, answers, cases.ids, 0)
    known = ~failed[:, 0] & (cases.bits | ~np.isin(scales, fmt.scale.nan_codes))
    compared = _compared(cases, 1)
    units = Units.of_rows("element", fmt.element, elements, *compared, cases.ids, 1)
    yield units.only(np.repeat(known, values.shape[1]))


def _tensor_scale(cases: _Cases) -> Table:
    bits = cases.inputs[:, 0].astype(np.uint32)
    return {"tensor scale": number_table(bits, F32)["magnitude"]}


def _dequantized(cases: _Cases, policy: Policy) -> Iterator[Units]:
    """Elements that are read."""
    fmt, layout = block_format(cases.file.format), LAYOUTS[cases.file.float]
    scales, codes = np.split(cases.inputs[:, fmt.tensor_scale :].astype(np.int64), [1], axis=1)
    factors = [_at(every_code(fmt.element), codes), _at(every_code(fmt.scale), scales)]
    shared = {"scale code": scales[:, 0], "scale parity": scales[:, 0] & 1}
    if fmt.tensor_scale:
        factors.append(split(cases.inputs[:, :1], F32))
        shared |= _tensor_scale(cases)
    table = {
        **code_table(codes, fmt.element),
        **product_table(factors, layout),
        **place_table(codes.shape),
        **spread(shared, codes.shape),
    }
    compared = _compared(cases, 0)
    yield Units.of_rows("element", None, table, *compared, cases.ids, 0, floats=True)


def _at(parts: Parts, codes: I64) -> Parts:
    """The parts of some codes."""
    names = (field.name for field in fields(Parts))
    return Parts(*(getattr(parts, name)[codes] for name in names))


def _laid_out(cases: _Cases, policy: Policy) -> Iterator[Units]:
    """The number of words of each case, and the words where it is right."""
    rows = _stripped(cases)
    yield _counts(cases, rows)
    for i, (words, want, got) in enumerate(rows):
        if len(want) == len(got):
            table = word_table(cases.file, words.tolist(), want, policy)
            ids = np.repeat(cases.ids[i], len(want))
            yield Units("word", None, table, want != got, want, got, ids, table["word"])


def _stripped(cases: _Cases) -> list[tuple[U64, U64, U64]]:
    """Words in, wanted and got of each case, without what fills them up."""
    table = (cases.inputs, cases.want, cases.got)
    return [
        (one[one != NO_WORD], two[two != NO_WORD], three[three != NO_WORD])
        for one, two, three in zip(*table, strict=True)
    ]


def _counts(cases: _Cases, rows: list[tuple[U64, U64, U64]]) -> Units:
    """The number of words of each case."""
    shapes = [case_table(cases.file.op, words.tolist()) for words, _, _ in rows]
    table = {name: np.concatenate([shape[name] for shape in shapes]) for name in shapes[0]}
    want, got = (np.array([[len(row[i])] for row in rows], np.uint64) for i in (1, 2))
    return Units.of_rows("count", None, table, want != got, (want, got), cases.ids, -1)


def _tensors(cases: _Cases, policy: Policy) -> Iterator[Units]:
    """Scales and elements of tensors whose answers have the right number of words."""
    rows = _stripped(cases)
    yield _counts(cases, rows)
    fmt, layout = block_format(cases.file.format), LAYOUTS[cases.file.float]
    for i, (words, want, got) in enumerate(rows):
        if len(want) != len(got):
            continue
        values, scales, places, *more = tensor_blocks(cases.file, words.tolist(), policy)
        tables = block_tables(
            values.astype(layout.uint),
            layout,
            fmt,
            want[scales].astype(np.int64),
            want[places].astype(np.int64),
        )
        failed, known = want != got, places >= 0
        known &= ~failed[scales][:, np.newaxis]
        for kind, where, table, extra in zip(
            ("scale", "element"), (scales, places), tables, more, strict=True
        ):
            some = known if kind == "element" else np.ones(len(scales), bool)
            table |= extra | {"memory": np.full(where.shape, int(cases.strided[i]))}
            flat = {name: column[some] for name, column in table.items()}
            at = where[some]
            ids = np.repeat(cases.ids[i], len(at))
            codes = fmt.element if kind == "element" else fmt.scale
            yield Units(kind, codes, flat, failed[at], want[at], got[at], ids, at)


_KINDS: Mapping[str, Callable[[_Cases, Policy], Iterator[Units]]] = {
    "quantize": _quantized,
    "dequantize": _dequantized,
    **dict.fromkeys(LAYOUT_OPERATIONS, _laid_out),
    "quantize_tensor": _tensors,
}
