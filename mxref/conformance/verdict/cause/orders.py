"""Right codes in a wrong order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import I64
from mxref.conformance.compare.compare import with_one_nan
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words
from mxref.conformance.verdict.cause.hypotheses import told
from mxref.formats.catalog import BLOCK_FORMATS, OTHER_BLOCK_FORMATS
from mxref.operands.word_rows import NO_WORD
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.distinct import distinct


@dataclass(frozen=True, slots=True)
class CodeOrder:
    """An order of the codes of a block.

    Args:
        name: a short name in words.
        text: what it does to the right order.
        sources: from the places of a unit those from which its codes come.
        unit: how many codes it concerns; 0 for a whole block.
    """

    name: str
    text: str
    sources: Callable[[NDArray[np.intp]], NDArray[np.intp]]
    unit: int = 0

    def of(self, count: int, block: int = 32) -> NDArray[np.intp]:
        """The place that each of `count` codes comes from; codes beyond the last whole unit stay.

        >>> ORDERS[0].of(5).tolist()
        [1, 0, 3, 2, 4]
        """
        unit, places = self.unit or block, np.arange(count)
        whole = count // unit * unit
        lines = places[:whole].reshape(-1, unit)
        moved = lines[:, self.sources(np.arange(unit))].reshape(-1)
        return np.concatenate([moved, places[whole:]])


#: How many codes each order concerns, and from which of their places they come.
_SOURCES: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "pairs_exchanged": (2, lambda i: i ^ 1),
    "last_of_four_exchanged": (4, lambda i: i ^ i >> 1),
    "middle_of_four_exchanged": (4, lambda i: i[[0, 2, 1, 3]]),
    "pairs_of_four_exchanged": (4, lambda i: i ^ 2),
    "fours_of_eight_exchanged": (8, lambda i: i ^ 4),
    "eights_of_sixteen_exchanged": (16, lambda i: i ^ 8),
    "fours_reversed": (4, lambda i: i[::-1]),
    "eights_reversed": (8, lambda i: i[::-1]),
    "block_reversed": (0, lambda i: i[::-1]),
    "halves_exchanged": (0, lambda i: np.roll(i, len(i) // 2)),
    "halves_interleaved": (0, lambda i: i.reshape(2, -1).T.reshape(-1)),
    "halves_separated": (0, lambda i: i.reshape(-1, 2).T.reshape(-1)),
    "one_later": (0, lambda i: np.roll(i, 1)),
    "one_earlier": (0, lambda i: np.roll(i, -1)),
}
ORDERS = tuple(
    CodeOrder(name, text, sources, unit) for name, text, (unit, sources) in told("order", _SOURCES)
)

#: Operations whose answers have the lanes of a block, and how many changed ones are told.
_OF_LANES, _TOLD = ("quantize", "dequantize", "unpack_blocks"), 4
#: The most lanes of which any order is looked for.
_MOST_LANES = 1024
#: Operations that codes lie in a row in, as inputs or as outputs, and how many words come first.
REORDERED = {
    "quantize": ("out", 1),
    "dequantize": ("out", 0),
    "pack": ("in", 0),
    "unpack": ("out", 0),
    "pack_blocks": ("in", 1),
    "unpack_blocks": ("out", 1),
}


def reordered(order: CodeOrder) -> Callable[[Questions, Policy], Words]:
    """The answers of an implementation that is right except for the order of codes."""

    def answer(questions: Questions, policy: Policy) -> Words:
        file = questions.file
        side, first = REORDERED[file.op]
        blocks = {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}
        size = blocks[file.format].elements_per_block if file.format in blocks else 32

        def moved(rows: Words) -> Words:
            found, counts = rows.copy(), (rows != np.uint64(NO_WORD)).sum(axis=1)
            for count in distinct(counts).tolist():
                some, places = counts == count, order.of(count - first, size)
                found[some, first:count] = rows[some][:, first + places]
            return found

        if side == "in":
            return Questions(file, moved(questions.inputs)).answers(policy)
        return moved(questions.answers(policy))

    return answer


def lanes_of(op: str, whole: Sequence[Evidence], policy: Policy) -> CodeOrder | None:
    """The order in which all right codes or numbers of blocks are given, whatever it is.

    A lane may have the answer of another one that has it, too.

    Args:
        op: the operation.
        whole: all of a target's answers.
        policy: what is right otherwise.
    """
    if op not in _OF_LANES or not all(one.answered.all() for one in whole):
        return None
    first = REORDERED[op][1]
    pairs = []
    for one in whole:
        sides, asked = (one.questions.answers(policy), one.answers), one.questions
        if sides[0].shape != sides[1].shape:
            return None
        pairs.append([with_one_nan(asked.file, each, asked.inputs)[:, first:] for each in sides])
    width = pairs[0][0].shape[1]
    if width > _MOST_LANES:  # every pair of lanes is compared
        return None
    fits = np.all([matches(*pair) == len(pair[0]) for pair in pairs], axis=0)
    lanes = np.arange(width)
    sources = np.where(fits.diagonal(), lanes, fits.argmax(axis=1))
    moved = np.flatnonzero(sources != lanes)
    if not fits.any(axis=1).all() or not moved.size:
        return None
    return lane_order(sources, "numbers" if REGISTRY[op].from_codes else "codes")


def matches(right: Words, got: Words) -> I64:
    """How many answers of each lane, a row, are what is right in each other one, a column.

    >>> matches(np.array([[1, 2], [3, 4]]), np.array([[2, 2], [4, 0]])).tolist()
    [[0, 2], [0, 1]]
    """
    return np.stack([(right == one[:, np.newaxis]).sum(axis=0) for one in got.T])


def lane_order(sources: NDArray[np.intp], what: str) -> CodeOrder:
    """The order in which each lane has what is right in another one."""
    for order in ORDERS:
        if (order.of(len(sources), len(sources)) == sources).all():
            return order
    moved = np.flatnonzero(sources != np.arange(len(sources)))
    breaks = (np.diff(moved) != 1) | (np.diff(sources[moved]) != 1)
    runs = np.split(moved, np.flatnonzero(breaks) + 1)
    told = [_run(run, sources) for run in runs[:_TOLD]]
    more = sum(run.size for run in runs[_TOLD:])
    others = f", and {more} more lanes those of others" * (more > 0)
    name = f"lane_{moved[0]}_from_{sources[moved[0]]}"
    name += f"_and_{moved.size - 1}_more" * (moved.size > 1)
    text = f"gives {what} in other lanes of a block: {', '.join(told)}{others}"
    return CodeOrder(name, text, lambda _: sources)


def _run(run: NDArray[np.intp], sources: NDArray[np.intp]) -> str:
    """Lanes that follow each other, and from which ones they are."""
    ends, come = (run[0], run[-1]), (sources[run[0]], sources[run[-1]])
    if run.size == 1:
        return f"lane {ends[0]} has that of lane {come[0]}"
    return f"lanes {ends[0]} to {ends[1]} have those of lanes {come[0]} to {come[1]}"
