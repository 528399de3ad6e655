"""Questions with computed answers: the fast path answers them, and the target is compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mxref.cases.answers import exact_answers, fast_answers
from mxref.cases.records import Case, VectorFile
from mxref.conformance.compare.compare import (
    Failure,
    Outcome,
    fast_right_answers,
    judged,
    same_answers,
)
from mxref.conformance.compare.product_intervals import (
    widened,
)
from mxref.conformance.compare.profile_bounds import nearest_admitted
from mxref.conformance.verdict.failure_kinds import (
    Change,
    change_of,
    kind_of,
    listed_as,
    outermost,
)
from mxref.operands.word_rows import padded, same_width, stripped
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import (
    CALL_OPERATIONS,
    PRODUCT_OPERATIONS,
)
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers, without_cases
from mxref.targets.target import Target

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["KEPT", "Compared", "compare_computed", "file_of"]

Words = NDArray[np.uint64]
#: The words of a question, those of the answer, and the error if there was one.
_Row = tuple[Words, Words, str]

#: Wrong answers, and right ones beside them, that are kept of a set of questions.
KEPT = 200
#: Wrong answers of each part that are looked at to keep some of every kind.
_LOOKED_AT = 1 << 14


@dataclass(frozen=True, slots=True)
class Compared:
    """A set of computed questions after it was put to a target.

    Args:
        op: the operation.
        format: the format.
        float: the float type, or the layout of the bytes.
        cases: number of questions.
        wrong: number of wrong answers.
        outcome: some wrong and some right answers as cases of a file; None if none was wrong.
    """

    op: str
    format: str
    float: str
    cases: int
    wrong: int
    outcome: Outcome | None


def compare_computed(
    target: Target,
    like: VectorFile,
    chunks: Iterable[Words],
    policy: AnyPolicy,
    profile: Profile | None = None,
    known: Collection[str] = (),
    *,
    name: str,
    cause: Callable[[VectorFile, Words], Words] | None = None,
) -> Compared:
    """Put computed questions to a target and compare its answers with the fast path's.

    With a cause its answers are compared instead; those that are kept are judged by the policy all
    the same, so that another cause can be looked for.

    What is wrong by the fast path is judged again by the slow twin. Of many wrong answers some of
    every kind are kept, those first that are not known.

    Args:
        target: the implementation.
        like: the vector file of the same operation, format and float type.
        chunks: the input words, one question a row, in parts.
        policy: what to compare with.
        profile: what to compare with instead, if it speaks of this.
        known: kinds of known divergences.
        name: the last part of the ids of cases, before a number.
        cause: what gives answers to questions of a file.
    """
    file = without_cases(like.op, like.format, like.float)
    total = wrong = 0
    kept: dict[bool, list[_Row]] = {True: [], False: []}
    for words in chunks:
        asked = target.ask(file, words)
        if cause is None:
            right = fast_right_answers(file, words, policy, profile)
        else:
            right = Answers(cause(file, words))
        wanted, answers = same_width(right.words, asked.words)
        wanted = nearest_admitted(file, words, wanted, answers, profile)
        equal = same_answers(file, wanted, answers, words, bits=profile is not None)
        same = widened(file, np.all(equal, axis=1), words, asked.words, policy)
        same[[*asked.errors]] = False
        same[[i for i in asked.errors if i in right.errors]] = True
        total, wrong = total + len(words), wrong + int((~same).sum())
        rights = np.flatnonzero(same)[: KEPT - len(kept[True])]
        wrongs = _some(np.flatnonzero(~same), _LOOKED_AT)
        for which, some in ((rights, kept[True]), (wrongs, kept[False])):
            some += [(words[i], asked.words[i], asked.errors.get(i, "")) for i in which.tolist()]
    if not wrong:
        return Compared(like.op, like.format, like.float, total, 0, None)
    rows = [*_of_every_kind(like, kept[False], known), *kept[True]]
    cases = file_of(like, [stripped(row) for row, _, _ in rows], name)
    errors = {i: error for i, (_, _, error) in enumerate(rows) if error}
    given = Answers(padded([stripped(answer) for _, answer, _ in rows]), errors)
    outcome = judged(cases, cases.input_words(), given, policy, profile)
    return Compared(like.op, like.format, like.float, total, wrong, outcome)


def _some(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Not more rows than some number, evenly from all of them."""
    return rows if rows.size <= most else rows[np.arange(most) * rows.size // most]


def _of_every_kind(like: VectorFile, rows: list[_Row], known: Collection[str]) -> list[_Row]:
    """At most `KEPT` wrong answers, some of every kind, those first that are not known."""
    if len(rows) <= KEPT:
        return rows
    names = like.op, like.format, like.float
    from mxref.golden.reasons import reason

    inputs_of = np.stack([words for words, _, _ in rows])
    answers = fast_answers(*names, inputs_of, _parsed(like, like.columns[0]))
    kinds = [key for key in known if " " in key]
    alike: dict[Hashable, list[tuple[int, Change | None]]] = {}
    is_known = []
    for i, ((words, given, error), answer) in enumerate(zip(rows, answers, strict=True)):
        inputs, right = stripped(words), stripped(answer)
        required, rule, flags = reason(*names, inputs, right)
        case = Case("", inputs, (right,), (), required, rule, "", flags)
        failure = Failure(i, case, right, None if error else stripped(given), error)
        change = change_of(like, failure)
        is_known.append(listed_as(like, failure, kinds) is not None)
        alike.setdefault((kind_of(like, failure), change and change.alike), []).append((i, change))
    order = []
    for some in alike.values():
        first = outermost(some)  # so that a kind listed from what is kept is as wide as all of it
        order += [(is_known[i], 0 if i in first else at, i) for at, (i, _) in enumerate(some, 1)]
    return [rows[i] for i in sorted(i for _, _, i in sorted(order)[:KEPT])]


def file_of(like: VectorFile, inputs: list[tuple[int, ...]], name: str) -> VectorFile:
    """A vector file of these questions, with the columns of the plain files."""
    alone = like.op in (
        *PRODUCT_OPERATIONS,
        *CALL_OPERATIONS,
    )  # the others are bounds, or refuse
    plain = 1 if alone else like.plain
    columns = like.columns[:plain]
    names = like.op, like.format, like.float
    from mxref.golden.reasons import reason

    by_column = [exact_answers(*names, inputs, _parsed(like, column)) for column in columns]
    cases = []
    for i, words in enumerate(inputs):
        each = [column[i] for column in by_column]
        answers = tuple(dict.fromkeys(each))
        by = tuple(map(answers.index, each)) if len(answers) > 1 else ()
        why = reason(*names, words, each[0])
        id = f"{like.op}.{like.format}.{like.float}.{name}_{i}"
        cases.append(Case(id, words, answers, by, *why[:2], "", why[2]))
    return VectorFile(*names, columns, plain, like.in_digits, like.out_digits, tuple(cases))


def _parsed(like: VectorFile, column: str) -> AnyPolicy:
    """The policy of a column."""
    return column if like.row.own_choices else Policy.parse(column)
