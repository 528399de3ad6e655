"""Computed calls with ordinary data: what is asked, and what is wrong with the replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mxref.conformance.checking.call_findings import wrong_alone
from mxref.conformance.checking.call_manner import Manner
from mxref.conformance.checking.call_questions import (
    CallQuestion,
    CallReply,
    CallSubject,
    ask,
)
from mxref.conformance.checking.call_rules import Features, rule_of
from mxref.conformance.verdict.call_dependence import OrdinaryScope

__all__ = ["data_finding"]

#: About how many elements the calls have, at most three times as many: small to large ones.
_ELEMENTS = (40, 700, 9000, 60_000)


def data_finding(
    function: Callable[..., Any], subject: CallSubject, questions: Sequence[CallQuestion]
) -> tuple[tuple[str, str] | None, OrdinaryScope | None]:
    """What is wrong with calls of each kind of data, each asked before and after it is broken.

    Args:
        function: the target's function, which is right in calls with other data.
        subject: the operation and format.
        questions: those that were asked.

    Returns:
        The kind and the text of what is wrong, None if nothing is; and what was asked, None if no
        call was.
    """
    replies: list[CallReply] = []
    kinds: dict[str, None] = {}
    sizes: list[int] = []
    for question in _some(questions):
        replies.append(ask(function, question))
        for name, kind, broken in question.ordinary():
            replies += [ask(function, one) for one in (kind, broken, kind)]
            kinds[name] = None
            sizes += [question.elements] * 3
    of = subject.op, subject.format, tuple(kinds)
    asked = OrdinaryScope(*of, len(sizes), sum(sizes), max(sizes)) if sizes else None
    return _wrong(function, subject.manner, replies), asked


def _wrong(
    function: Callable[..., Any], manner: Manner, replies: Sequence[CallReply]
) -> tuple[str, str] | None:
    """The kind and the text of what is wrong; None if nothing is."""
    bad = [one for one in replies if one.wrong]
    if not bad:
        return None
    wrong = [one.wrong for one in replies]
    data: list[Features] = [one.question.data for one in replies]
    pairs = zip(data, replies, strict=True)
    both = [{**one, **reply.question.features} for one, reply in pairs]
    rule = rule_of(data, wrong) or rule_of(both, wrong)
    where = f"in {len(bad)} of {len(replies)} {manner.calls}"
    if rule is not None:
        where = f"only in {manner.calls} with {rule.text} ({rule.counts(wrong)})"
    if wrong_alone(function, bad):
        return "numbers", f"wrong {where}, whatever the size: {bad[0].text}"
    return "data", f"wrong {where}: {bad[0].text}"


def _some(questions: Sequence[CallQuestion]) -> Iterator[CallQuestion]:
    """For each float type, and for scales of groups and of channels, those of some sizes.

    Their axes are as long as can be, the shortest one first.
    """
    kinds: dict[tuple[str, ...], list[CallQuestion]] = {}
    for one in questions:
        if not one.memory:
            named = (one.features.get(name) for name in ("float", "scales"))
            kind = tuple(word for word in named if isinstance(word, str))
            kinds.setdefault(kind, []).append(one)
    for some in kinds.values():
        yield from dict.fromkeys(
            max(near, key=_lengths) for count in _ELEMENTS if (near := _near(some, count))
        )


def _near(questions: Sequence[CallQuestion], count: int) -> list[CallQuestion]:
    """Those of about so many elements, or of the most there are."""
    small = [one for one in questions if one.elements <= 3 * count]
    most = max((one.elements for one in small), default=0)
    return [one for one in small if 3 * one.elements >= most]


def _lengths(question: CallQuestion) -> list[int]:
    """The lengths of its axes, in order."""
    return sorted(size for size in question.features.values() if isinstance(size, int))
