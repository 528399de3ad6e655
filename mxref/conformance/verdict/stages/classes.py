"""Numbers that are right by one rule in each class, such as normal results, and NaN.

A kernel with two faults follows one known way in some numbers and another in the rest. What tells
them apart is one feature of a few classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mxref.bits.floats import I64, Bool
from mxref.cases.answers import reads
from mxref.cases.records import VectorFile
from mxref.conformance.verdict.cause.cause import Cause, Stage, first_cause
from mxref.conformance.verdict.cause.diagnose import other_choices
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words, misses_by
from mxref.conformance.verdict.cause.hypotheses import told
from mxref.conformance.verdict.cause.parts import Answer
from mxref.conformance.verdict.cause.suspects import Suspect, of_stage, over, right, suspects
from mxref.conformance.verdict.describe.features import FEATURES, Table
from mxref.conformance.verdict.describe.units import features_of
from mxref.formats.catalog import CODE_FORMATS
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.distinct import distinct

#: The most ways of one kernel.
_WAYS = 3


@dataclass(frozen=True, slots=True)
class _ByClass:
    """A way for each class of a feature, and the class of each word of all answers."""

    feature: str
    column: I64
    ways: dict[int, Suspect]

    @property
    def length(self) -> tuple[int, int]:
        """How many ways there are, and in how many classes one is wrong."""
        ways = self.ways.values()
        return len({way.name for way in ways}), sum(bool(way.text) for way in ways)

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """The answers to questions, where all else follows a policy."""
        classes = _classes(questions, policy, self.feature)
        found = questions.answers(policy).copy()
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
    of_numbers = REGISTRY[op].arrays == 1 and not REGISTRY[op].varied  # judged one by one
    if not of_numbers or not all(one.answered.all() for one in whole):
        return None
    return first_cause(policies, lambda policy: _cause(op, whole, policy))


def _cause(op: str, whole: Sequence[Evidence], policy: Policy) -> Cause | None:
    """The feature whose classes need the fewest ways, if there is one."""
    every = [(way, _wrong(way, whole, policy)) for way in ways(op, whole, policy)]
    tried = [(way, wrong) for way, wrong in every if wrong is not None]
    fits = (_by_class(*one, tried) for one in _columns(whole, policy))
    best = min((one for one in fits if one), key=lambda one: one.length, default=None)
    if best is None or misses_by(whole, best, policy):
        return None
    stages = tuple(_stages(best, tried[0][1]))
    name = "+".join(dict.fromkeys(way.name for way in best.ways.values() if way.text))
    text = "; and ".join(stage.text for stage in stages)
    found = of_stage(op, name, text, best.answer).cause(op, policy, whole)
    return replace(found, stages=stages)


def ways(op: str, whole: Sequence[Evidence], policy: Policy) -> Iterator[Suspect]:
    """The right way, those of other choices, and known bugs."""
    yield of_stage(op, "right", "", right)
    given = {word for one in whole for word in distinct(one.answers).tolist()}
    if len(given) == 1:
        yield _constant(op, given.pop(), whole[0].questions.file)
    drawn = op == "encode_stochastic"
    for choice in other_choices(reads(op, whole[0].questions.file.format), policy, drawn=drawn):
        ((name, value),) = choice.items()
        yield of_stage(op, f"{name}={value}", f"follows {name}={value}", over(choice))
    if drawn:
        yield from _of_bits()
    yield from of_formats(op, whole[0].questions.file.format)
    for some in suspects(op, whole[0].questions.file.format):
        yield from some


def _wrong(way: Suspect, whole: Sequence[Evidence], policy: Policy) -> Bool | None:
    """The words of all answers that a way does not give."""
    found = []
    for one in whole:
        answers = way.answers(one, policy)
        if answers is None or answers.shape != one.answers.shape:
            return None
        found.append(one.differ(answers))
    return np.concatenate(found, axis=None)


def _columns(whole: Sequence[Evidence], policy: Policy) -> Iterator[tuple[str, I64]]:
    """Each feature of few classes, and the class of each word of all answers."""
    for name, feature in FEATURES.items():
        if feature.names and all(name in _features(one.questions, policy) for one in whole):
            each = [_classes(one.questions, policy, name).reshape(-1) for one in whole]
            yield name, np.concatenate(each)


def _by_class(feature: str, column: I64, tried: Sequence[tuple[Suspect, Bool]]) -> _ByClass | None:
    """Ways that give all words of every class, if there are few."""
    size = len(FEATURES[feature].names) + 1  # the last one where the feature is not known
    left, ways = np.bincount(column, minlength=size) > 0, dict[int, Suspect]()
    gives = np.array([np.bincount(column[wrong], minlength=size) == 0 for _, wrong in tried])
    while left.any():
        covered = (gives & left).sum(axis=1)
        which = int(covered.argmax())
        if not covered[which] or len({way.name for way in ways.values()}) == _WAYS:
            return None
        ways |= dict.fromkeys(np.flatnonzero(gives[which] & left).tolist(), tried[which][0])
        left &= ~gives[which]
    return _ByClass(feature, column, ways)


def _stages(best: _ByClass, wrong: Bool) -> Iterator[Stage]:
    """A line for each way that is not right, with its classes."""
    feature = FEATURES[best.feature]
    for name in dict.fromkeys(way.name for way in best.ways.values() if way.text):
        values = sorted(value for value, way in best.ways.items() if way.name == name)
        text, some = best.ways[values[0]].text, np.isin(best.column, values)
        if len(values) < len(best.ways):
            where = feature.show_classes([one for one in values if one < len(feature.names)])
            text = f"where {where}, it {text}"
        counts = int((wrong & some).sum()), 0, int(some.sum())
        yield Stage("numbers", text, *counts, "numbers", "")


def _features(questions: Questions, policy: Policy) -> Table:
    """The features of each word of right answers."""
    asked = questions.file, questions.inputs, questions.answers(policy), policy
    return questions.once("features", policy, lambda: features_of(*asked))


def _classes(questions: Questions, policy: Policy, feature: str) -> I64:
    """The class of each word of right answers."""
    column = _features(questions, policy)[feature].reshape(questions.answers(policy).shape)
    return np.minimum(column, len(FEATURES[feature].names))


def _constant(op: str, word: int, file: VectorFile) -> Suspect:
    """One word, whatever the question is."""
    text = f"gives {word:0{file.out_digits}x} for every question"

    def answer(asked: Questions, policy: Policy) -> Words:
        return np.full_like(asked.answers(policy), word)

    return of_stage(op, f"constant_{word:x}", text, answer)


def of_formats(op: str, format: str) -> Iterator[Suspect]:
    """Codes of another format of the same size."""
    text = {"encode": "gives the codes of {}", "decode": "reads codes as those of {}"}
    if op not in text:
        return

    def way(name: str) -> Suspect:
        def answer(questions: Questions, policy: Policy) -> Words:
            file = replace(questions.file, format=name, cases=())
            return Questions(file, questions.inputs).answers(policy)

        return of_stage(op, f"codes_of_{name}", text[op].format(name), answer)

    bits = CODE_FORMATS[format].bits
    alike = (name for name, fmt in CODE_FORMATS.items() if fmt.bits == bits and name != format)
    yield from map(way, alike)


def _of_bits() -> Iterator[Suspect]:
    """Random bits that are read otherwise: in other places, fewer of them, or their complement."""
    for k, changes in [*((k, _SOME_BITS) for k in range(1, 17)), (0, _ALL_BITS)]:
        for name, text, change in told("bits", changes):
            words = text.format(k=k, places=f"{k} place{'s' * (k > 1)}")
            answer = _of_changed_bits(change, np.uint64(k))
            yield of_stage("encode_stochastic", name.format(k=k), words, answer)


def _of_changed_bits(change: _Change, k: np.uint64) -> Answer:
    def answer(questions: Questions, policy: Policy) -> Words:
        words = questions.inputs.copy()
        words[:, 1] = change(words[:, 1], words[:, 2], k)
        return Questions(questions.file, words).answers(policy)

    return answer


def _ones(width: Words) -> Words:
    return (np.uint64(1) << width) - np.uint64(1)


#: What becomes of random bits: of the bits, how many they are, and k.
_Change = Callable[[Words, Words, np.uint64], Words]
_SOME_BITS: dict[str, _Change] = {
    "too_low_{k}": lambda bits, width, k: bits >> k,
    "too_high_{k}": lambda bits, width, k: bits << k & _ones(width),
    "lowest_{k}": lambda bits, width, k: bits & _ones(np.minimum(width, k)),
    "highest_{k}": lambda bits, width, k: bits & ~_ones(np.maximum(width, k) - k),
}
_ALL_BITS: dict[str, _Change] = {
    "complement": lambda bits, width, k: bits ^ _ones(width),
    "no_bits": lambda bits, width, k: bits & np.uint64(0),
}
