"""Ask a target few questions: those that split the remaining policies, until none does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.compare.compare import with_one_nan
from mxref.conformance.identification.policy_sets import PolicySet, simplest
from mxref.conformance.identification.pools import Pool, Words
from mxref.conformance.identification.predicted import comparable, hashed, predicted, shown
from mxref.conformance.identification.setting import Setting
from mxref.operands.word_rows import NO_WORD, padded, same_width, stripped
from mxref.targets.calls import without_cases
from mxref.targets.target import Target

__all__ = ["PROBES", "AnsweredQuestions", "Probe", "narrowed", "separating"]

#: The most probes of an operation, format and float type.
PROBES = 64
#: Questions of a pool that are considered first, and questions asked before choosing again.
_FEW, _ROUND = 48, 3
#: The most combinations of members compared at a time once answers contradict each other. They rule
#: out little then, so that all combinations would be compared with each pool.
_CONTRADICTED = 32
#: Choices that may matter only together: truncation hides an overflow that is not clamped before,
#: and a number that pre-rounding makes subnormal can then be flushed.
_TOGETHER = (("overflow", "clamp"), ("pre_rounding", "subnormal_inputs"))


@dataclass(frozen=True, slots=True)
class Probe:
    """A question and its answer, None if the target raised an error."""

    words: tuple[int, ...]
    answer: tuple[int, ...] | None
    error: str = ""


class AnsweredQuestions:
    """The questions asked so far, with their answers."""

    def __init__(self, target: Target, setting: Setting) -> None:
        self.target, self.setting = target, setting
        self.file = without_cases(setting.op, setting.format, setting.float)
        self.probes: list[Probe] = []
        self.number: dict[tuple[int, ...], int] = {}
        self.looked_at = 0  #: how many questions members of choices were compared on
        self.contradicted = False  #: whether some answers were found to be of no policy

    def ask(self, words: Words) -> list[Probe]:
        """The probes of some questions, asked if new; only the first ones when probes run out."""
        new = [row for row in words if stripped(row) not in self.number]
        new = new[: PROBES - len(self.probes)]
        if new:
            answers = self.target.ask(self.file, np.array(new, np.uint64))
            given = comparable(self.setting, answers.words, np.array(new, np.uint64))
            for i, row in enumerate(new):
                error = answers.errors.get(i)
                answer = None if error is not None else stripped(given[i])
                self.number[stripped(row)] = len(self.probes)
                self.probes.append(Probe(stripped(row), answer, error or ""))
        keys = itertools.takewhile(self.number.__contains__, map(stripped, words))
        return [self.probes[self.number[key]] for key in keys]

    def words(self) -> list[Words]:
        """The questions asked so far, in one array for each number of words."""
        parts: dict[int, list[tuple[int, ...]]] = {}
        for probe in self.probes:
            parts.setdefault(len(probe.words), []).append(probe.words)
        return [np.array(some, np.uint64) for some in parts.values()]

    def agree(
        self, members: Mapping[str, str], some: Sequence[int] | None = None, shows: str = "all"
    ) -> NDArray[np.bool_]:
        """Whether a policy gives the answers to some probes, or to all."""
        differ = self.difference(members, some, shows)
        return differ < 0

    def difference(
        self, members: Mapping[str, str], some: Sequence[int] | None = None, shows: str = "all"
    ) -> NDArray[np.int64]:
        """For some probes the first word in which a policy differs from the answer, or -1."""
        probes = self.probes if some is None else [self.probes[i] for i in some]
        if not probes:
            return np.zeros(0, np.int64)
        want = self.predicted(members, probes)
        got = padded([probe.answer or () for probe in probes])
        want, got = same_width(want, got)
        asked = padded([probe.words for probe in probes])
        unequal = self.compared(want, asked, shows) != self.compared(got, asked, shows)
        if self.setting.row.unpacks:  # a policy has no answer to bytes of another size
            unequal &= (want != np.uint64(NO_WORD)).any(axis=1, keepdims=True)
        return np.where(unequal.any(axis=1), unequal.argmax(axis=1), -1)

    def compared(self, answers: Words, questions: Words, shows: str) -> Words:
        """What is compared of answers to questions, one a row."""
        if self.setting.one_nan:
            answers = with_one_nan(self.file, answers, questions)
        return shown(answers, shows)

    def predicted(self, members: Mapping[str, str], probes: Sequence[Probe]) -> NDArray[np.uint64]:
        """The answers of a policy to probes."""
        parts: dict[int, list[int]] = {}
        for i, probe in enumerate(probes):
            parts.setdefault(len(probe.words), []).append(i)
        rows: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)] * len(probes)
        for some in parts.values():
            words = np.array([probes[i].words for i in some], np.uint64)
            for i, row in zip(some, predicted(self.setting, words, members), strict=True):
                rows[i] = row
        return padded(rows)


def narrowed(space: PolicySet, pool: Pool, asked: AnsweredQuestions) -> PolicySet:
    """The policies of a set that remain after the useful questions of a pool."""
    names = pool.reads or asked.setting.choices
    must = pool.words[list(pool.always)]
    step = max(1, len(pool.words) // _FEW)
    few = _Questions(asked, np.concatenate([must, pool.words[::step]]), pool.shows)
    few.ask(range(len(must)))
    whole = _Questions(asked, pool.words, pool.shows)
    for questions in (few, whole):
        while True:
            if asked.probes and not any(probe.answer for probe in asked.probes):
                return space  # nothing to go by, and all policies would remain
            candidates = _candidates(space, names, questions, whole)
            closest = questions.closest(candidates, simplest(space))
            if closest is None:
                return space
            space = space.keep(candidates[0], closest)
            base = simplest(space)
            left = _candidates(space, names, questions, whole)
            chosen = separating([questions[base | one] for one in left])
            if not questions.ask(chosen[:_ROUND]):
                break
    return space


class _Questions:
    """Some questions with hashed answers of policies, and of the target where it was asked."""

    def __init__(self, asked: AnsweredQuestions, words: Words, shows: str) -> None:
        self.asked, self.words, self.shows = asked, words, shows
        self.known: dict[tuple[tuple[str, str], ...], NDArray[np.uint64]] = {}
        self.rows: list[int] = []
        self.got = np.zeros(0, np.uint64)

    def __getitem__(self, members: Mapping[str, str]) -> NDArray[np.uint64]:
        key = tuple(sorted(members.items()))
        if key not in self.known:
            answers = predicted(self.asked.setting, self.words, members, self.shows)
            self.known[key] = hashed(self.asked.compared(answers, self.words, self.shows))
        return self.known[key]

    def ask(self, rows: Iterable[int]) -> bool:
        """Ask some of them; returns whether any was new and a probe was left for it."""
        new = [row for row in rows if row not in self.rows]
        probes = self.asked.ask(self.words[new])
        answers = padded([probe.answer or () for probe in probes])
        compared = self.asked.compared(answers, self.words[new[: len(probes)]], self.shows)
        self.got = np.append(self.got, hashed(compared))
        self.rows += new[: len(probes)]
        return bool(probes)

    def closest(
        self, candidates: Sequence[Mapping[str, str]], base: Mapping[str, str]
    ) -> list[Mapping[str, str]] | None:
        """The candidates that give the most answers; None if no candidate gives any of them."""
        wrong = []
        for one in candidates:
            want = self[{**base, **one}][self.rows]
            differ = want != self.got
            if self.asked.setting.row.unpacks:  # no answer to bytes of another size
                differ &= want != np.uint64(0)
            wrong.append(int(differ.sum()))
        self.asked.contradicted |= min(wrong) > 0
        if self.rows and min(wrong) == len(self.rows):  # as of a target that only raises
            return None
        return [one for one, some in zip(candidates, wrong, strict=True) if some == min(wrong)]


def _candidates(
    space: PolicySet, names: Collection[str], questions: _Questions, whole: _Questions
) -> list[dict[str, str]]:
    """Combinations of the choices on which the answers to some questions can depend.

    A choice counts if it changes an answer of the whole pool, or an answer to these questions under
    a combination found before. The others are those of the simplest policy, as are those for which
    there would be too many combinations of a target that contradicts itself.
    """
    most = _CONTRADICTED if questions.asked.contradicted else math.inf
    base = simplest(space)
    units = [set(factor.names) for factor in space.factors]
    for pair in _TOGETHER:
        touched = [unit for unit in units if unit & set(pair)]
        units = [unit for unit in units if unit not in touched] + [set().union(*touched)]
    projected = (space.project([n for n in names if n in unit]) for unit in units)
    apart = [rows for rows in projected if 1 < len(rows) <= most]
    found: list[dict[str, str]] = [{}]
    for rows in list(apart):
        if len(found) * len(rows) <= most and any(
            (whole[base | row] != whole[base]).any() for row in rows
        ):
            apart.remove(rows)
            found = [one | row for one in found for row in rows]
    while True:
        for rows in apart:
            if len(found) * len(rows) <= most and any(
                (questions[base | one | row] != questions[base | one]).any()
                for one in found
                if base | one != base  # checked on the whole pool above
                for row in rows
            ):
                apart.remove(rows)
                found = [one | row for one in found for row in rows]
                break
        else:
            return found


def separating(answers: Sequence[NDArray[np.uint64]]) -> list[int]:
    """Questions that together tell apart all candidates that any questions tell apart.

    The question with the most different answers comes first, then those that split the rest best.

    Args:
        answers: for each candidate a word for each question.
    """
    table = np.array(answers)
    order = np.argsort(table, axis=0)
    ordered = np.take_along_axis(table, order, 0)
    ranks = np.zeros(table.shape, np.int64)
    steps = np.cumsum(ordered[1:] != ordered[:-1], axis=0)
    np.put_along_axis(ranks, order[1:], steps, 0)
    useful = np.flatnonzero(ranks.max(axis=0, initial=0))
    _, once = np.unique(ranks[:, useful], axis=1, return_index=True)
    useful = useful[np.sort(once)]
    ranks, labels, chosen = ranks[:, useful], np.zeros(len(table), np.int64), []
    while useful.size:
        pairs = np.sort(labels[:, np.newaxis] * len(table) + ranks, axis=0)
        classes = (pairs[1:] != pairs[:-1]).sum(axis=0)
        best = int(classes.argmax())
        if classes[best] == labels.max():
            break
        chosen.append(int(useful[best]))
        labels = np.unique(labels * len(table) + ranks[:, best], return_inverse=True)[1]
    return chosen
