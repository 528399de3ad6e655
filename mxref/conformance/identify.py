"""Which choices a target makes, found by asking as little as possible."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.block import quantize
from mxref.conformance.alike import Setting, alike, because
from mxref.conformance.calls import without_cases
from mxref.conformance.questions import Pool, Words, pools
from mxref.conformance.space import Space
from mxref.conformance.target import Target
from mxref.formats import block_format
from mxref.golden.answers import fast_answers, reads
from mxref.golden.records import NO_WORD, padded, same_width, stripped
from mxref.golden.splitmix import splitmix64
from mxref.policy import Policy

__all__ = ["PROBES", "Clash", "Finding", "Identified", "Probe", "identify_one"]

#: The most probes of an operation, a format and a float type.
PROBES = 64
#: How many questions of a pool are looked at first, and how many are asked before looking again.
_FEW, _ROUND = 48, 3
#: Operations of layouts in which a policy can have no answer at all to bytes of another size.
SIZED = ("unpack", "unpack_scales", "unpack_blocks")


@dataclass(frozen=True, slots=True)
class Probe:
    """One question and what came back; `answer` is None where the target raised an error."""

    words: tuple[int, ...]
    answer: tuple[int, ...] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one choice.

    Args:
        choice: its name.
        values: the members that give the target's answers, given the other choices.
        shown: for each member that is ruled out, the number of a probe that does, and the first of
            its words that differs.
        because: why the values, if there are several, cannot be told apart.
    """

    choice: str
    values: tuple[str, ...]
    shown: Mapping[str, tuple[int, int]]
    because: str


@dataclass(frozen=True, slots=True)
class Clash:
    """A probe that contradicts the others.

    Args:
        probe: its number.
        want: the answer of the policy that gives most others; None for an error.
        otherwise: single choices that would give the answer that came.
    """

    probe: int
    want: tuple[int, ...] | None
    otherwise: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identified:
    """What `identify` found of an operation, a format and a float type.

    Args:
        setting: operation, format and float type.
        probes: what was asked.
        space: the policies that cannot be told apart, by one member of those that are one function;
            those nearest to the answers where the target contradicts itself.
        clashes: the probes that contradict; none if a policy gives all answers.
    """

    setting: Setting
    probes: tuple[Probe, ...]
    space: Space
    findings: tuple[Finding, ...]
    clashes: tuple[Clash, ...]

    @property
    def consistent(self) -> bool:
        """Whether some policy gives all answers."""
        return not self.clashes

    @property
    def count(self) -> int:
        """How many policies give all answers, in the choices that the operation reads."""
        return self._whole().count if self.consistent else 0

    @property
    def policies(self) -> Iterator[Policy]:
        """Every policy that gives all answers; choices that are not read are as in `ocp`."""
        if self.consistent:
            for members in self._whole():
                yield Policy().replace(**members)

    def contains(self, policy: Policy) -> bool:
        """Whether a policy gives all answers, whatever it says of choices that are not read."""
        chosen = policy.choices()
        some = {name: chosen[name] for name in reads(self.setting.op)}
        return self.consistent and some in self._whole()

    @property
    def policy(self) -> Policy:
        """The policy with the shortest spelling that gives the most answers."""
        return Policy().replace(**_simplest(self._whole()))

    def _whole(self) -> Space:
        """The same set, with all members that are one function."""
        space = self.space
        for name in reads(self.setting.op):
            groups = {group[0]: group for group, _ in alike(self.setting, name)}
            space = space.widen(name, groups)
        return space


def predicted(
    setting: Setting, words: Words, members: Mapping[str, str], shows: str = "all"
) -> NDArray[np.uint64]:
    """The answers of a policy, one a row; NO_WORD throughout where it makes the input an error."""
    op, format, float = setting.op, setting.format, setting.float
    if op == "quantize_tensor" and words.shape[1] == 35:  # one block
        return predicted(Setting("quantize", format, float), words[:, 3:], members, shows)
    policy = _policy(members)
    if shows == "scale":
        return _scales(setting, words, policy)
    try:
        answers = fast_answers(op, format, float, words, policy).astype(np.uint64)
    except ValueError:  # of `nan_to_finite=error`
        if len(words) == 1:
            return np.full((1, 1), NO_WORD, np.uint64)
        half = len(words) // 2
        parts = [predicted(setting, part, members) for part in (words[:half], words[half:])]
        answers = np.concatenate(same_width(*parts))
    return comparable(setting, answers)


def _policy(members: Mapping[str, str]) -> Policy:
    """The policy with these members; its parts are made once, since that takes time."""
    parts = {}
    for part in dataclasses.fields(Policy):
        own = {field.name for field in dataclasses.fields(type(part.default))}
        parts[part.name] = _part(part.name, tuple((n, m) for n, m in members.items() if n in own))
    return Policy(**parts)


@functools.lru_cache(maxsize=1 << 14)
def _part(name: str, members: tuple[tuple[str, str], ...]) -> Any:
    return getattr(Policy().replace(**dict(members)), name)


def _scales(setting: Setting, words: Words, policy: Policy) -> NDArray[np.uint64]:
    """Scale codes of blocks with one number that is not zero."""
    layout, fmt = setting.layout, block_format(setting.format)
    values = words.max(axis=1, keepdims=True).astype(layout.uint).view(layout.dtype)
    alone = dataclasses.replace(fmt, block_size=1)
    return quantize(values, alone, policy).scale_codes.astype(np.uint64)


def comparable(setting: Setting, answers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Answers with every NaN of a float type as one."""
    if setting.op in ("decode", "decode_scale", "dequantize"):
        layout = setting.layout
        magnitude = answers & np.uint64(layout.sign_bit - 1)
        is_nan = (magnitude > np.uint64(layout.inf_bits)) & (answers != np.uint64(NO_WORD))
        return np.where(is_nan, np.uint64(layout.nan_bits), answers)
    return answers


def identify_one(target: Target, setting: Setting) -> Identified:
    """Ask a target about an operation, a format and a float type.

    Args:
        target: the implementation; an error that it raises is an answer, too.
        setting: what to ask about.
    """
    names = reads(setting.op)
    space = Space.of({n: [group[0] for group, _ in alike(setting, n)] for n in names})
    asked = _Asked(target, setting)
    spare: list[Words] = []
    for make in pools(setting):
        pool = make(Policy().replace(**_simplest(space)))
        space = _narrowed(space, pool, asked)
        spare.append(pool.words)
    for i, words in enumerate(spare):  # the rest of the probes, evenly
        share = (PROBES - len(asked.probes)) // (len(spare) - i)
        asked.ask(words[np.arange(share) * len(words) // max(1, share)])
    found = _simplest(space)
    wrong = np.flatnonzero(~asked.agree(found))
    clashes = tuple(_clash(int(i), asked, found) for i in wrong)
    findings = tuple(_finding(name, space, asked, found) for name in names)
    return Identified(setting, tuple(asked.probes), space, findings, clashes)


class _Asked:
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
        if self.setting.op in SIZED:  # a policy has no answer to bytes of another size
            unequal &= (want != np.uint64(NO_WORD)).any(axis=1, keepdims=True)
        first = unequal.argmax(axis=1) + (shows == "elements")
        return np.where(unequal.any(axis=1), first, -1)

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


def shown(answers: NDArray[np.uint64], shows: str) -> NDArray[np.uint64]:
    """The words of answers that count."""
    match shows:
        case "scale":
            return answers[:, :1]
        case "elements":
            return answers[:, 1:]
        case "number":
            count = (answers != np.uint64(NO_WORD)).sum(axis=1, keepdims=True)
            return count.astype(np.uint64)
    return answers


def _narrowed(space: Space, pool: Pool, asked: _Asked) -> Space:
    """What is left of a set of policies after the questions of a pool that tell them apart."""
    names = pool.reads or reads(asked.setting.op)
    must = pool.words[list(pool.always)]
    few = pool.words[:: max(1, len(pool.words) // _FEW)]
    for words in (np.concatenate([must, few]), pool.words):
        questions = _Questions(asked, words, pool.shows)
        questions.ask(range(len(must)))
        while True:
            candidates = _candidates(space, names, questions)
            space = space.keep(candidates[0], questions.closest(candidates, _simplest(space)))
            base = _simplest(space)
            left = _candidates(space, names, questions)
            chosen = separating([questions[base | one] for one in left])
            if not questions.ask(chosen[:_ROUND]):
                break
    return space


class _Questions:
    """Some questions: what policies answer, as one word each, and what came back where asked."""

    def __init__(self, asked: _Asked, words: Words, shows: str) -> None:
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
            if self.asked.setting.op in SIZED:  # no answer to bytes of another size
                differ &= want != np.uint64(0)
            wrong.append(int(differ.sum()))
        return [one for one, some in zip(candidates, wrong, strict=True) if some == min(wrong)]


def _candidates(
    space: Space, names: Collection[str], questions: _Questions
) -> list[dict[str, str]]:
    """Combinations of those choices on which the answers to some questions can depend.

    These are the choices that change an answer under one of the combinations, and so on; others are
    as in the simplest policy.
    """
    base = _simplest(space)
    factors = [factor.project(names) for factor in space.factors]
    apart = [factor.dicts() for factor in factors if len(factor.rows) > 1]
    found: list[dict[str, str]] = [{}]
    while True:
        for rows in apart:
            if any(
                (questions[base | one | row] != questions[base | one]).any()
                for one in found
                for row in rows
            ):
                found = [one | row for one in found for row in rows]
                apart.remove(rows)
                break
        else:
            return found


def hashed(answers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A word for each answer, equal where the answers are; 0 where there is none."""
    factors = splitmix64(1, answers.shape[1]) | np.uint64(1)
    mixed = (answers + np.uint64(1)) * factors
    mixed ^= mixed >> np.uint64(29)
    result: NDArray[np.uint64] = (mixed * factors[::-1]).sum(axis=1, dtype=np.uint64)
    return result


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


def _clash(number: int, asked: _Asked, found: Mapping[str, str]) -> Clash:
    probe = asked.probes[number]
    want = stripped(asked.predicted(found, [probe])[0])
    otherwise = [
        f"{name}={member}"
        for name in reads(asked.setting.op)
        for group, _ in alike(asked.setting, name)
        for member in group[:1]
        if member != found[name] and asked.agree({**found, name: member}, [number])[0]
    ]
    return Clash(number, want or None, tuple(otherwise))


def _finding(name: str, space: Space, asked: _Asked, found: Mapping[str, str]) -> Finding:
    """What was found of a choice, and the fewest probes that rule out its other members."""
    setting = asked.setting
    groups = {group[0]: group for group, _ in alike(setting, name)}
    values = [member for first in space.values(name) for member in groups[first]]
    out = [one for one in groups if one not in space.values(name)]
    differ = {one: asked.difference({**found, name: one}) for one in out}
    counts = sum((some >= 0 for some in differ.values()), np.zeros(len(asked.probes), np.int64))
    ruled: dict[str, tuple[int, int]] = {}
    for first in out:
        where = np.flatnonzero(differ[first] >= 0)
        if where.size:
            probe = int(where[counts[where].argmax()])
            for member in groups[first]:
                ruled[member] = (probe, int(differ[first][probe]))
    known = {n: space.values(n)[0] for n in reads(setting.op) if len(space.values(n)) == 1}
    why = because(setting, name, values, known) if len(values) > 1 else ""
    return Finding(name, tuple(values), ruled, why)


def _simplest(space: Space) -> dict[str, str]:
    """The combination with the fewest choices that are not those of `ocp`."""
    default = Policy().choices()
    found: dict[str, str] = {}
    for factor in space.factors:
        row = min(
            factor.rows,
            key=lambda row: sum(default[n] != m for n, m in zip(factor.names, row, strict=True)),
        )
        found |= dict(zip(factor.names, row, strict=True))
    return found
