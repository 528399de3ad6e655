"""Asking a target no more than needed: questions that split what is left, until nothing does."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.cases.answers import reads
from mxref.cases.records import NO_WORD, padded, same_width, stripped
from mxref.conformance.identification.alike import Setting
from mxref.conformance.identification.pools import Pool, Words
from mxref.conformance.identification.predicted import comparable, hashed, predicted, shown
from mxref.conformance.identification.space import Space, simplest
from mxref.targets.calls import without_cases
from mxref.targets.target import Target

__all__ = ["PROBES", "Asked", "Probe", "narrowed", "separating"]

#: The most probes of an operation, a format and a float type.
PROBES = 64
#: How many questions of a pool are looked at first, and how many are asked before looking again.
_FEW, _ROUND = 48, 3
#: Choices that can matter only if both are changed: truncation hides an overflow that is not
#: clamped before, and what becomes subnormal when it is rounded first can be flushed then.
_TOGETHER = (("overflow", "clamp"), ("pre_rounding", "subnormal_inputs"))
#: Operations of layouts in which a policy can have no answer at all to bytes of another size.
_SIZED = ("unpack", "unpack_scales", "unpack_blocks")


@dataclass(frozen=True, slots=True)
class Probe:
    """One question and what came back; `answer` is None where the target raised an error."""

    words: tuple[int, ...]
    answer: tuple[int, ...] | None
    error: str = ""


class Asked:
    """What has been asked, and what came back."""

    def __init__(self, target: Target, setting: Setting) -> None:
        self.target, self.setting = target, setting
        self.file = without_cases(setting.op, setting.format, setting.float)
        self.probes: list[Probe] = []
        self.number: dict[tuple[int, ...], int] = {}

    def ask(self, words: Words) -> list[Probe]:
        """The probes of some questions, new or not; of the first ones if not all can be asked."""
        new = [row for row in words if stripped(row) not in self.number]
        new = new[: PROBES - len(self.probes)]
        if new:
            answers = self.target.ask(self.file, np.array(new, np.uint64))
            given = comparable(self.setting, answers.words)
            for i, row in enumerate(new):
                error = answers.errors.get(i)
                answer = None if error is not None else stripped(given[i])
                self.number[stripped(row)] = len(self.probes)
                self.probes.append(Probe(stripped(row), answer, error or ""))
        keys = itertools.takewhile(self.number.__contains__, map(stripped, words))
        return [self.probes[self.number[key]] for key in keys]

    def words(self) -> list[Words]:
        """What has been asked, questions of equally many words together."""
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
        """For some probes the first word in which a policy differs from the answer; -1 if none."""
        probes = self.probes if some is None else [self.probes[i] for i in some]
        if not probes:
            return np.zeros(0, np.int64)
        want = self.predicted(members, probes)
        got = padded([probe.answer or () for probe in probes])
        want, got = same_width(want, got)
        unequal = shown(want, shows) != shown(got, shows)
        if self.setting.op in _SIZED:  # a policy has no answer to bytes of another size
            unequal &= (want != np.uint64(NO_WORD)).any(axis=1, keepdims=True)
        return np.where(unequal.any(axis=1), unequal.argmax(axis=1), -1)

    def predicted(self, members: Mapping[str, str], probes: Sequence[Probe]) -> NDArray[np.uint64]:
        """The answers of a policy to probes, those of equally many words together."""
        parts: dict[int, list[int]] = {}
        for i, probe in enumerate(probes):
            parts.setdefault(len(probe.words), []).append(i)
        rows: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)] * len(probes)
        for some in parts.values():
            words = np.array([probes[i].words for i in some], np.uint64)
            for i, row in zip(some, predicted(self.setting, words, members), strict=True):
                rows[i] = row
        return padded(rows)


def narrowed(space: Space, pool: Pool, asked: Asked) -> Space:
    """What is left of a set of policies after the questions of a pool that tell them apart."""
    names = pool.reads or reads(asked.setting.op)
    must = pool.words[list(pool.always)]
    step = max(1, len(pool.words) // _FEW)
    few = _Questions(asked, np.concatenate([must, pool.words[::step]]), pool.shows)
    few.ask(range(len(must)))
    whole = _Questions(asked, pool.words, pool.shows)
    for questions in (few, whole):
        while True:
            candidates = _candidates(space, names, questions, whole)
            space = space.keep(candidates[0], questions.closest(candidates, simplest(space)))
            base = simplest(space)
            left = _candidates(space, names, questions, whole)
            chosen = separating([questions[base | one] for one in left])
            if not questions.ask(chosen[:_ROUND]):
                break
    return space


class _Questions:
    """Some questions: what policies answer, as one word each, and what came back where asked."""

    def __init__(self, asked: Asked, words: Words, shows: str) -> None:
        self.asked, self.words, self.shows = asked, words, shows
        self.known: dict[tuple[tuple[str, str], ...], NDArray[np.uint64]] = {}
        self.rows: list[int] = []
        self.got = np.zeros(0, np.uint64)

    def __getitem__(self, members: Mapping[str, str]) -> NDArray[np.uint64]:
        key = tuple(sorted(members.items()))
        if key not in self.known:
            answers = predicted(self.asked.setting, self.words, members, self.shows)
            self.known[key] = hashed(shown(answers, self.shows))
        return self.known[key]

    def ask(self, rows: Iterable[int]) -> bool:
        """Ask some of them; whether there was anything new to ask, and a probe left for it."""
        new = [row for row in rows if row not in self.rows]
        probes = self.asked.ask(self.words[new])
        answers = padded([probe.answer or () for probe in probes])
        self.got = np.append(self.got, hashed(shown(answers, self.shows)))
        self.rows += new[: len(probes)]
        return bool(probes)

    def closest(
        self, candidates: Sequence[Mapping[str, str]], base: Mapping[str, str]
    ) -> list[Mapping[str, str]]:
        """The candidates that give the most of the answers."""
        wrong = []
        for one in candidates:
            want = self[{**base, **one}][self.rows]
            differ = want != self.got
            if self.asked.setting.op in _SIZED:  # no answer to bytes of another size
                differ &= want != np.uint64(0)
            wrong.append(int(differ.sum()))
        return [one for one, some in zip(candidates, wrong, strict=True) if some == min(wrong)]


def _candidates(
    space: Space, names: Collection[str], questions: _Questions, whole: _Questions
) -> list[dict[str, str]]:
    """Combinations of those choices on which the answers to some questions can depend.

    These are the choices that change an answer of the whole pool, or an answer to these questions
    under one of the combinations so found, and so on; others are as in the simplest policy.
    """
    base = simplest(space)
    units = [set(factor.names) for factor in space.factors]
    for pair in _TOGETHER:
        touched = [unit for unit in units if unit & set(pair)]
        units = [unit for unit in units if unit not in touched] + [set().union(*touched)]
    projected = (space.project([n for n in names if n in unit]) for unit in units)
    apart = [rows for rows in projected if len(rows) > 1]
    found: list[dict[str, str]] = [{}]
    for rows in list(apart):
        if any((whole[base | row] != whole[base]).any() for row in rows):
            apart.remove(rows)
            found = [one | row for one in found for row in rows]
    while True:
        for rows in apart:
            if any(
                (questions[base | one | row] != questions[base | one]).any()
                for one in found
                if base | one != base  # which the whole pool has been asked already
                for row in rows
            ):
                apart.remove(rows)
                found = [one | row for one in found for row in rows]
                break
        else:
            return found


def separating(answers: Sequence[NDArray[np.uint64]]) -> list[int]:
    """Questions that together tell candidates apart whenever any questions do.

    The question with the most different answers comes first, then those that split what is left.

    Args:
        answers: of each candidate, a word for each question.
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
