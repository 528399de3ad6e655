"""What is wrong with calls about tensors: stages that give all answers, or rules for each part."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile
from mxref.conformance.checking.call_questions import CallReply
from mxref.conformance.checking.call_rules import rule_of
from mxref.conformance.compare.compare import with_one_nan
from mxref.conformance.compare.tensor_cases import scale_counts
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, misses_by
from mxref.operands.word_rows import padded
from mxref.policy.policy import Policy

__all__ = ["answer_by", "parts_text", "stages_text"]

Words = NDArray[np.uint64]

#: Elements of a call whose answers are taken apart, and those of all such calls.
_SMALL, _ALL = 7000, 400_000
#: Wrong calls, and right ones, by which stages are found, and the elements of most of them; they
#: are confirmed by all small ones.
_FEW, _TINY = 12, 2500
#: Wrong calls of an axis from which on there is a rule about them.
_TOLD = 4


class _Subject(Protocol):
    """What is asked."""

    @property
    def file(self) -> VectorFile: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def cause(self) -> Cause | None: ...


class _Question(Protocol):
    """A call about a tensor."""

    @property
    def subject(self) -> _Subject: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def axis(self) -> int: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...


def _asked(reply: CallReply) -> _Question:
    """The question of a reply, which is about a tensor."""
    return cast("_Question", reply.question)


def answer_by(cause: Cause, question: _Question) -> Words:
    """The answer to a question that a cause gives."""
    file = question.subject.file
    inputs = _row(question)[np.newaxis]
    words = cause.answer(Questions(file, inputs), Policy.parse(cause.policy))
    return with_one_nan(file, words.astype(np.uint64), inputs[:, :3]).reshape(-1)


def stages_text(replies: Sequence[CallReply]) -> str:
    """The stages that give the answers to all small calls, in words; empty if none known do.

    What a subject's own cause does is not said again.
    """
    small = sorted(_small(replies), key=lambda one: one.question.elements)
    bad, right = ([one for one in small if one.wrong is is_wrong] for is_wrong in (True, False))
    if not bad or any(one.error for one in small):
        return ""
    from mxref.conformance.verdict.stages.tensor_fit import fit_tensor
    from mxref.conformance.verdict.stages.tensor_steps import TensorSteps

    few = [one for some in (bad, right) for one in _spread(some)]
    subject = _asked(bad[0]).subject
    policy, cause = subject.policy, subject.cause
    known = cause.steps if cause is not None else None
    like = known if isinstance(known, TensorSteps) else TensorSteps()
    found = fit_tensor(_evidence(few), policy, like)
    if found is None or found.misses or misses_by(_evidence(small), found.steps, policy):
        return ""
    if cause is not None and like is not known:
        own = fit_tensor(_evidence(few, wanted=True), policy, like)
        like = like if own is None else own.steps
    said = {one.name for one in like.wrong}
    return "; and ".join(one.text for one in found.steps.wrong if one.name not in said)


def _spread(replies: Sequence[CallReply]) -> Sequence[CallReply]:
    """A few of some replies, of all sizes that are not large; of larger ones if there are none."""
    some = [one for one in replies if one.question.elements <= _TINY] or replies
    return some[:: len(some) // _FEW + 1]


def _small(replies: Sequence[CallReply]) -> Iterator[CallReply]:
    """The smaller calls, as many as can be looked at."""
    left = _ALL
    for one in sorted(replies, key=lambda one: one.question.elements):
        left -= one.question.elements
        if one.question.elements > _SMALL or left < 0:
            return
        yield one


def _row(question: _Question) -> Words:
    """The words of a case."""
    array = question.arguments[0]
    words = np.ascontiguousarray(array).view(f"u{array.itemsize}").reshape(-1).astype(np.uint64)
    return np.concatenate([np.array([*question.shape, question.axis], np.uint64), words])


def _evidence(replies: Sequence[CallReply], *, wanted: bool = False) -> list[Evidence]:
    """The answers, or those that were wanted, by float type."""
    found = []
    for name in dict.fromkeys(one.question.features["float"] for one in replies):
        some = [one for one in replies if one.question.features["float"] == name]
        rows = padded([_row(_asked(one)) for one in some])
        given = [one.question.wanted if wanted or one.got is None else one.got for one in some]
        file = _asked(some[0]).subject.file
        answers = padded([one.astype(np.uint64) for one in given])
        found.append(Evidence(Questions(file, rows), answers, np.ones(len(some), bool)))
    return found


def parts_text(replies: Sequence[CallReply]) -> str:
    """For each axis, and each kind of wrong words, which calls are wrong; empty if no rule says it.

    The kinds are the number of words, scales and elements.
    """
    found = []
    for axis, kind in itertools.product((0, 1), ("sizes", "scales", "elements")):
        some = [one for one in replies if one.question.features["axis"] == f"axis {axis}"]
        wrong = [kind in _kinds(one) for one in some]
        if sum(wrong) < _TOLD:
            continue
        rule = rule_of([one.question.features for one in some], wrong)
        text = f"with axis {axis}, {kind} are wrong in"
        if rule is None:
            found.append(f"{text} {sum(wrong)} of {len(wrong)} calls")
        else:
            inside = int(rule.inside.sum())
            found.append(f"{text} calls with {rule.text} ({sum(wrong)} of {inside})")
    return "; ".join(found)


def _kinds(reply: CallReply) -> tuple[str, ...]:
    """What is wrong with a reply."""
    got, want = reply.got, reply.question.wanted
    if got is None:
        return ("sizes",) if reply.error else ()
    if got.size != want.size:
        return ("sizes",)
    question = _asked(reply)
    count = int(scale_counts(np.array([[*question.shape, question.axis]], np.uint64))[0])
    wrong = got != want
    return ("scales",) * bool(wrong[:count].any()) + ("elements",) * bool(wrong[count:].any())
