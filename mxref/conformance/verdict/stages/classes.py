"""Numbers that are right by one rule in each class, such as normal results, and NaN.

A kernel with two faults follows one known way in some numbers and another in the rest. What tells
them apart is one feature of a few classes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import I64, Bool
from mxref.cases.answers import choices_read, reads
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.verdict.cause.cause import Cause, Stage
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words
from mxref.conformance.verdict.cause.suspects import Answer, suspects
from mxref.conformance.verdict.describe.features import FEATURES
from mxref.conformance.verdict.describe.units import features_of
from mxref.policy.policy import Policy

__all__ = ["OF_NUMBERS", "class_cause"]

#: Operations whose answers are numbers that are judged one by one.
OF_NUMBERS = (
    *("encode", "encode_stochastic", "encode_scale", "shared_scale"),
    *("decode", "decode_scale", "dequantize"),
)
#: The most ways of one kernel.
_WAYS = 3
_OF_CODES = ("encode", "encode_stochastic", "encode_scale", "shared_scale")


@dataclass(frozen=True, slots=True)
class _Way:
    """A known way to answer: its name, its words, and the answers."""

    name: str
    text: str
    answer: Answer


@dataclass(frozen=True, slots=True)
class _ByClass:
    """A way for each class of a feature."""

    feature: str
    ways: dict[int, _Way]

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """The answers to questions, where all else follows a policy."""
        right = questions.answers(policy)
        classes = _classes(questions, policy, self.feature)
        found = right.copy()
        for value, way in self.ways.items():
            if (some := classes == value).any() and way.text:
                found[some] = way.answer(questions, policy)[some]
        return found


def class_cause(op: str, whole: Sequence[Evidence], policies: Sequence[Policy]) -> Cause | None:
    """Known ways that together give all answers, one in each class of a feature.

    Args:
        op: the operation.
        whole: all of a target's answers to it in one format.
        policies: what all else may follow.
    """
    if op not in OF_NUMBERS or not all(one.answered.all() for one in whole):
        return None
    for policy in dict.fromkeys(policies):
        try:
            found = _Search(op, whole, policy).found()
        except ValueError:  # the policy has no answer to some question
            continue
        if found is not None:
            return found
    return None


class _Search:
    """Ways, and in which words each is wrong."""

    def __init__(self, op: str, whole: Sequence[Evidence], policy: Policy) -> None:
        self.op, self.whole, self.policy = op, whole, policy
        self.format = whole[0].questions.file.format
        self.tried: list[tuple[_Way, Bool]] = []
        for way in self._ways():
            wrong = self._wrong(way)
            if wrong is not None:
                self.tried.append((way, wrong))

    def _ways(self) -> Iterator[_Way]:
        yield _Way("right", "", lambda questions, policy: questions.answers(policy))
        for name in reads(self.op):
            for member in Policy.members(name):
                other = self.policy.choices()[name] != member.value
                if other and ("stochastic" not in member.value or self.op == "encode_stochastic"):
                    choice = {name: member.value}
                    yield _Way(
                        f"{name}={member.value}",
                        f"follows {name}={member.value}",
                        _of_choice(choice),
                    )
        if self.op == "encode_stochastic":
            yield from _of_bits()
        for some in suspects(self.op, self.format):
            yield from (_Way(one.name, one.text, one.answer) for one in some)

    def _wrong(self, way: _Way) -> Bool | None:
        """The words of all answers that a way does not give."""
        found = []
        for one in self.whole:
            try:
                answers = way.answer(one.questions, self.policy)
            except Exception:  # known bugs are made for some float types, and may fail on others
                return None
            if answers.shape != one.answers.shape:
                return None
            asked = one.questions
            found.append(~same_answers(asked.file, answers, one.answers, asked.inputs).reshape(-1))
        return np.concatenate(found)

    def found(self) -> Cause | None:
        """The feature whose classes need the fewest ways, if there is one."""
        best: _ByClass | None = None
        for feature, column in self._columns():
            one = self._by_class(feature, column)
            if one is not None and (best is None or _count(one) < _count(best)):
                best = one
        if best is None:
            return None
        total = sum(len(one.answers) for one in self.whole)
        misses = sum(one.misses(best.answer(one.questions, self.policy)) for one in self.whole)
        if misses:
            return None
        stages = tuple(self._stages(best))
        name = "+".join(dict.fromkeys(way.name for way in best.ways.values() if way.text))
        read = str(Policy().replace(**choices_read(self.op, self.policy)))
        text = "; and ".join(stage.text for stage in stages)
        return Cause(
            "stages", name, "", text, self.op, (), read, (), total, total,
            stages=stages, answer=best.answer,
        )  # fmt: skip

    def _columns(self) -> Iterator[tuple[str, I64]]:
        """Each feature of few classes, in all words."""
        tables = [
            features_of(
                one.questions.file,
                one.questions.inputs,
                one.questions.answers(self.policy),
                self.policy,
            )
            for one in self.whole
        ]
        for name in FEATURES:
            if FEATURES[name].names and all(name in table for table in tables):
                yield name, np.concatenate([table[name].reshape(-1) for table in tables])

    def _by_class(self, feature: str, column: I64) -> _ByClass | None:
        """Ways that give all words of every class, if there are few."""
        size = len(FEATURES[feature].names)
        column = np.where(column < size, column, size)  # where the feature is not known
        size += 1
        present = np.bincount(column, minlength=size) > 0
        gives = np.array(
            [np.bincount(column[wrong], minlength=size) == 0 for _, wrong in self.tried]
        )
        left, ways = present.copy(), dict[int, _Way]()
        while left.any():
            covered = (gives & left).sum(axis=1)
            which = int(covered.argmax())
            if not covered[which] or len({way.name for way in ways.values()}) == _WAYS:
                return None
            for value in np.flatnonzero(gives[which] & left).tolist():
                ways[value] = self.tried[which][0]
            left &= ~gives[which]
        return _ByClass(feature, ways)

    def _stages(self, best: _ByClass) -> Iterator[Stage]:
        """A line for each way that is not right, with its classes."""
        wrong = self.tried[0][1]
        column = np.concatenate(
            [_classes(one.questions, self.policy, best.feature).reshape(-1) for one in self.whole]
        )
        for name in dict.fromkeys(way.name for way in best.ways.values() if way.text):
            values = [value for value, way in best.ways.items() if way.name == name]
            way = best.ways[values[0]]
            some = np.isin(column, values)
            known = [value for value in sorted(values) if value < len(FEATURES[best.feature].names)]
            where = FEATURES[best.feature].show_classes(known)
            text = f"where {where}, it {way.text}" if len(values) < len(best.ways) else way.text
            yield Stage(
                "numbers", text, int((wrong & some).sum()), 0, int(some.sum()), "numbers", ""
            )


def _of_choice(choice: dict[str, str]) -> Answer:
    return lambda questions, policy: questions.answers(policy.replace(**choice))


def _of_bits() -> Iterator[_Way]:
    """Random bits that are read otherwise: in other places, fewer of them, or their complement."""

    def way(name: str, text: str, change: Callable[[Words, Words], Words]) -> _Way:
        def answer(questions: Questions, policy: Policy) -> Words:
            words = questions.inputs.copy()
            words[:, 1] = change(words[:, 1], words[:, 2])
            return Questions(questions.file, words).answers(policy)

        return _Way(name, text, answer)

    for k in range(1, 17):
        places = f"{k} place{'s' * (k > 1)}"
        for name, text, change in (
            ("too_low", f"adds the random bits {places} too low", _lower),
            ("too_high", f"adds the random bits {places} too high, those that fit", _higher),
            ("lowest", f"uses the lowest {k} random bits alone", _lowest),
            ("highest", f"uses the highest {k} random bits alone", _highest),
        ):
            yield way(f"{name}_{k}", text, functools.partial(change, np.uint64(k)))
    yield way("complement", "uses the complement of the random bits", lambda b, w: b ^ _ones(w))
    yield way("no_bits", "uses no random bits", lambda bits, width: bits & np.uint64(0))


def _ones(width: Words) -> Words:
    return (np.uint64(1) << width) - np.uint64(1)


def _lower(k: np.uint64, bits: Words, width: Words) -> Words:
    return bits >> k


def _higher(k: np.uint64, bits: Words, width: Words) -> Words:
    return bits << k & _ones(width)


def _lowest(k: np.uint64, bits: Words, width: Words) -> Words:
    return bits & _ones(np.minimum(width, k))


def _highest(k: np.uint64, bits: Words, width: Words) -> Words:
    return bits & ~_ones(np.maximum(width, k) - k)


def _count(one: _ByClass) -> tuple[int, int]:
    """How many ways there are, and in how many classes one is wrong."""
    return len({way.name for way in one.ways.values()}), sum(
        bool(w.text) for w in one.ways.values()
    )


def _classes(questions: Questions, policy: Policy, feature: str) -> I64:
    """The class of each word of right answers."""
    right = questions.answers(policy)
    table = questions.once(
        "features", policy, lambda: features_of(questions.file, questions.inputs, right, policy)
    )
    column = table[feature].reshape(right.shape)
    return np.minimum(column, len(FEATURES[feature].names))
