"""Inputs, right answers and answers as numbers, for plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import FloatLayout
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.conformance.verdict.row import VerifyRow
from mxref.operands.word_rows import NO_WORD, same_width
from mxref.reports.bit_fields import Kind, sides

__all__ = ["Points", "numbers", "points"]


@dataclass(frozen=True, slots=True)
class Points:
    """The numbers of a row's cases, one for each element, as float64; quotients are rounded.

    Args:
        x: the input; for elements of a block the input over the right scale; for decoded numbers
            the right number.
        want: the right number; for elements of a block in units of the scale.
        got: the answer in the same unit.
        lane: the element's place in its block, 0 where there is no block.
        wrong: whether the bits are wrong.
    """

    x: NDArray[np.float64]
    want: NDArray[np.float64]
    got: NDArray[np.float64]
    lane: NDArray[np.int64]
    wrong: NDArray[np.bool_]

    @property
    def binades(self) -> NDArray[np.int64]:
        """The exponent of each x that is finite and not zero; others are left out by `plain`."""
        exponents: NDArray[np.int64] = np.frexp(self.x[self.plain])[1].astype(np.int64) - 1
        return exponents

    @property
    def plain(self) -> NDArray[np.bool_]:
        """Which x are finite and not zero."""
        found: NDArray[np.bool_] = np.isfinite(self.x) & (self.x != 0)
        return found


def numbers(words: NDArray[np.uint64], kind: Kind) -> NDArray[np.float64]:
    """The numbers of words; NaN where a word is no code or missing."""
    if isinstance(kind, FloatLayout):
        with np.errstate(invalid="ignore"):
            own = words.astype(kind.uint).view(kind.dtype).astype(np.float64)
        return np.where(words == np.uint64(NO_WORD), np.nan, own)
    table = np.array([kind.value(code) for code in range(kind.code_count)] + [np.nan])
    return table[np.minimum(words, np.uint64(kind.code_count)).astype(np.int64)]


def points(row: VerifyRow) -> Points | None:
    """The numbers of a row; None if its words are not numbers one by one."""
    found = [_of_outcome(one) for one in row.outcomes if all(sides(one.file))]
    if not found or not all(some.x.size for some in found):
        return None
    names = ("x", "want", "got", "lane", "wrong")
    return Points(*(np.concatenate([getattr(one, name) for one in found]) for name in names))


def _of_outcome(outcome: Outcome) -> Points:
    file = outcome.file
    wanted = outcome.answers.copy()
    answers = outcome.answers
    if outcome.failures:
        width = max(answers.shape[1], *(len(f.want) for f in outcome.failures))
        wanted, answers = (
            same_width(a, np.empty((0, width), np.uint64))[0].copy() for a in (wanted, answers)
        )
    for failure in outcome.failures:
        wanted[failure.index] = NO_WORD
        wanted[failure.index, : len(failure.want)] = failure.want
        if failure.got is None:
            answers[failure.index] = NO_WORD
    wrong = np.zeros(wanted.shape, bool)
    failing = [failure.index for failure in outcome.failures]
    if failing:
        bits = outcome.failures[0].bits
        wrong[failing] = ~same_answers(
            file, wanted[failing], answers[failing], outcome.inputs[failing], bits=bits
        )
    with np.errstate(all="ignore"):
        return _numbers(file, outcome.inputs, wanted, answers, wrong)


def _numbers(
    file: VectorFile,
    inputs: NDArray[np.uint64],
    wanted: NDArray[np.uint64],
    answers: NDArray[np.uint64],
    wrong: NDArray[np.bool_],
) -> Points:
    asked, answered = sides(file)
    want, got = numbers(wanted, answered[-1]), numbers(answers, answered[-1])
    if file.row.blocks == "numbers":
        scale, own = (numbers(some[:, :1], answered[0]) for some in (wanted, answers))
        x = numbers(inputs[:, len(asked) - 1 :], asked[-1])
        if len(asked) > 1:
            x = x / numbers(inputs[:, :1], asked[0])
        x = x / scale
        want, got, wrong = want[:, 1:], got[:, 1:] * (own / scale), wrong[:, 1:] | wrong[:, :1]
    elif file.row.from_codes:
        x = want
    else:
        x = numbers(inputs, asked[-1])
    lanes = np.broadcast_to(np.arange(x.shape[1]), x.shape)
    flat: Sequence[NDArray[np.float64]] = [
        np.ascontiguousarray(a).reshape(-1) for a in (x, want, got)
    ]
    return Points(flat[0], flat[1], flat[2], lanes.reshape(-1), wrong.reshape(-1))
