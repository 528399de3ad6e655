"""Whole calls drawn like tensors: alone, then with one special in them, then once more.

A fast path that a kernel takes for finite numbers, numbers of one sign or equal scales is entered
by these calls alone: every call with cases of the vectors has specials in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mxref.cases.ordinary import (
    OPERATIONS,
    kinds_of,
    ordinary_words,
    sorts_of,
    special_words,
)
from mxref.cases.records import VectorFile
from mxref.conformance.checking.call_rules import Features, rule_of
from mxref.conformance.checking.computed import Compared, compare_computed, file_of
from mxref.conformance.checking.ordinary_features import features_of
from mxref.conformance.compare.compare import Failure, fast_right_answers, same_answers
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.compare.profile_bounds import nearest_admitted
from mxref.conformance.verdict.call_dependence import CallDependence, OrdinaryScope
from mxref.operands.ordinary import CODES
from mxref.operands.word_rows import same_width, stripped
from mxref.operations.operation import AnyPolicy
from mxref.operations.registry import REGISTRY
from mxref.targets.calls import call_operation, error_text, is_fault, quiet
from mxref.targets.target import PythonTarget

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["ask_ordinary"]

Words = NDArray[np.uint64]

#: Rows of calls of numbers or codes, and of blocks: small, middle, large.
_ROWS = {False: (64, 1024, 16_384), True: (8, 128, 512)}
#: The part of the largest call that one of these has at most, since there are many of them; and
#: the words that each may have.
_SHARE, _LEAST = 64, 256
#: The words of a call that are drawn at most where fewer are asked.
_DRAWN = 1 << 18
#: Wrong rows that are asked again among cases of the vectors.
_AGAIN = 64
#: Wrong rows that are put into other calls, to see which of these are wrong.
_PUT = 8


@dataclass(frozen=True, slots=True)
class _Asked:
    """One call and what is wrong with it.

    Args:
        file: the vector file, which says what the words are.
        kinds: its kinds.
        turn: 0 for the call itself, 1 with a special in it, 2 once more after that.
        words: its words.
        rows: the rows with a wrong answer.
        right: the right answers.
        got: the target's.
        error: what it raised instead.
    """

    file: VectorFile
    kinds: tuple[str, str]
    turn: int
    words: Words
    rows: NDArray[np.int64]
    right: Words
    got: Words
    error: str = ""

    @property
    def wrong(self) -> bool:
        return bool(self.error) or self.rows.size > 0

    @property
    def features(self) -> Features:
        return {
            self.file.row.unit: len(self.words),
            **features_of(self.file, self.words),
        }

    @property
    def text(self) -> str:
        """The first wrong answer, as reports show failures."""
        count = f"with {len(self.words):,} {self.file.row.unit}"
        if self.error:
            return f"{count}: {self.error}"
        row = int(self.rows[0])
        right, got = stripped(self.right[row]), stripped(self.got[row])
        (case,) = file_of(self.file, [stripped(self.words[row])], "ordinary").cases
        return f"{count}: {difference(self.file, Failure(row, case, right, got))}"


@dataclass(frozen=True, slots=True)
class _Subject:
    """The files of one operation and format, with what gives the target's answers to them."""

    target: PythonTarget
    files: Sequence[VectorFile]
    policy: AnyPolicy
    profile: Profile | None

    def calls(self, most: int, seed: int) -> Iterator[_Asked]:
        """The calls of all files: each kind in its sizes, three times."""
        is_block = bool(REGISTRY[self.files[0].op].blocks)
        every, longest = _ROWS[is_block], min(most, max(most // _SHARE, _LEAST))
        for number, file in enumerate(self.files):
            sorts = sorts_of(file)
            width = max(sorts.numbers.stop, sorts.codes.stop, 1)
            for place, kinds in enumerate(kinds_of(file)):
                is_every = number == 0 and not all(kinds)
                other = (place + place // len(CODES) + number) % 3  # of each pair of kinds
                for turn in range(3) if is_every else (other,):
                    rows = every[turn]
                    if rows * width > _DRAWN:  # of large tiles only what is asked is drawn
                        rows = min(rows, max(longest // width, 2))
                    words = ordinary_words(file, kinds, rows, seed)
                    words = words[: max(longest // words.shape[1], 2)]
                    special = special_words(file, words, place + turn + number)
                    for when, some in enumerate((words, special, words)):
                        yield self.asked(file, kinds, when, some)

    def asked(self, file: VectorFile, kinds: tuple[str, str], turn: int, words: Words) -> _Asked:
        """One call, compared with the right answers; what they refuse may be refused or not."""
        right = fast_right_answers(file, words, self.policy, self.profile)
        nothing = np.empty(0, np.int64)
        try:
            with quiet():
                got = call_operation(self.target.operations[file.op], file, words)
        except BaseException as error:
            if not is_fault(error):
                raise
            text = "" if right.errors else error_text(error)
            return _Asked(file, kinds, turn, words, nothing, right.words, right.words, text)
        wanted, given = same_width(right.words, got)
        wanted = nearest_admitted(file, words, wanted, given, self.profile)
        bits = self.profile is not None
        equal = np.all(same_answers(file, wanted, given, words, bits=bits), axis=1)
        equal[[*right.errors]] = True
        return _Asked(file, kinds, turn, words, np.flatnonzero(~equal), wanted, given)

    def alone(self, call: _Asked) -> Compared | None:
        """Wrong rows among cases of the vectors, compared like a search if they are wrong there."""
        beside = call.file.input_words()
        if call.file.row.random_bits:
            beside = beside[beside[:, 2] == call.words[0, 2]]
        some = call.words[call.rows[:_AGAIN]]
        mixed = np.concatenate([beside[: 2 * _AGAIN], some, beside[-_AGAIN:]])
        if not self.asked(call.file, call.kinds, 0, mixed).rows.size:
            return None
        by = self.policy, self.profile
        found = compare_computed(self.target, call.file, [mixed], *by, name="ordinary")
        return found if found.wrong else None

    def telling(self, calls: Sequence[_Asked], example: _Asked) -> list[_Asked]:
        """The calls once more with wrong rows of one of them, which show the fault in each kind."""
        rows = example.words[example.rows[:_PUT]]
        found = []
        for call in calls:
            if call.file is example.file:
                some = rows[: len(call.words) // 2]
                words = np.concatenate([some, call.words[len(some) :]])
                found.append(self.asked(call.file, call.kinds, call.turn, words))
        return found

    def finding(self, calls: Sequence[_Asked]) -> tuple[str, str, bool]:
        """What is wrong with calls whose rows are right among others: its kind and its text.

        Also whether every call that has some property is wrong.
        """
        bad = [call for call in calls if call.wrong]
        example = next((call for call in bad if not call.error), bad[0])
        if all(call.turn == 2 for call in bad):
            text = "a call has other answers after the same call with one special in it"
            return "state", f"not reproducible: {text}: {example.text}", False
        telling = self.telling(calls, example)
        rule = rule_of([call.features for call in telling], [call.wrong for call in telling])
        if rule is None:
            names = (" and ".join(filter(None, call.kinds)) for call in bad)
            kinds = ", ".join(dict.fromkeys(names))
            counts = f"{len(bad)} of {len(calls)} ordinary calls"
            return "data", f"wrong in {counts} ({kinds}): {example.text}", False
        wrong = [call.wrong for call in telling]
        kind = "size" if rule.unit else "data"
        text = f"wrong only in calls with {rule.text} ({rule.counts(wrong)}): {example.text}"
        return kind, text, kind == "data" and sum(wrong) == int(rule.inside.sum())


def ask_ordinary(
    target: PythonTarget,
    asked_by: Iterable[tuple[Sequence[VectorFile], AnyPolicy, Profile | None]],
    most: int,
    seed: int = 0,
    *,
    sure: bool = False,
) -> tuple[list[CallDependence], list[Compared], list[OrdinaryScope]]:
    """Ordinary calls of every operation on numbers or blocks, in every format and float type.

    The first float type of an operation and format is asked each kind in three sizes, or if a call
    has both codes and scale codes, each pair in one; the others each kind in one size, by turns.

    Args:
        target: the implementation.
        asked_by: vector files with the policy or profile that gives the target's answers to them.
        most: the largest number of elements in a call.
        seed: another seed gives other numbers.
        sure: whether only that counts which every call with some property has.

    Returns:
        What depends on the call, wrong answers that do not, and what was asked.
    """
    uses: list[CallDependence] = []
    computed: list[Compared] = []
    scopes: list[OrdinaryScope] = []
    for files, policy, profile in asked_by:
        some = [file for file in files if file.op in OPERATIONS]
        if not some:
            continue
        subject = _Subject(target, some, policy, profile)
        calls = list(subject.calls(most, seed))
        op, format = some[0].op, some[0].format
        sizes = [call.words.size for call in calls]
        sorts = "numbers" if sorts_of(some[0]).numbers.stop else "codes", "scales"
        kinds = dict.fromkeys(
            f"{sort} {kind}"
            for call in calls
            for sort, kind in zip(sorts, call.kinds, strict=True)
            if kind
        )
        scopes.append(OrdinaryScope(op, format, tuple(kinds), len(calls), sum(sizes), max(sizes)))
        bad = {call.file.stem: call for call in reversed(calls) if call.rows.size}
        alone = [found for found in map(subject.alone, bad.values()) if found is not None]
        if alone:
            computed += alone
        elif any(call.wrong for call in calls):
            kind, text, is_sure = subject.finding(calls)
            if is_sure or not sure:
                uses.append(CallDependence(op, format, kind, text))
    return uses, computed, scopes
