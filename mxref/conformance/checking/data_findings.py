"""Computed calls with ordinary data: what is asked, and what is wrong with the replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mxref.conformance.checking.call_findings import wrong_alone
from mxref.conformance.checking.call_questions import CallQuestion, Manner, ask
from mxref.conformance.checking.call_rules import Features, rule_of

__all__ = ["data_finding"]

#: About how many elements the calls have, at most three times as many: small to large ones.
_ELEMENTS = (40, 700, 9000, 60_000)


def data_finding(
    function: Callable[..., Any], manner: Manner, questions: Sequence[CallQuestion]
) -> tuple[str, str] | None:
    """What is wrong with calls of each kind of data, each asked before and after it is broken.

    Args:
        function: the target's function, which is right in calls with other data.
        manner: how calls are spoken of.
        questions: those that were asked.

    Returns:
        The kind and the text of what is wrong; None if nothing is.
    """
    replies = [
        ask(function, one)
        for question in _some(questions)
        for kind, broken in ((question, question), *question.ordinary())
        for one in ((kind, broken, kind) if kind is not broken else (kind,))
    ]
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
        inside = int(rule.inside.sum())
        counts = f"{len(bad)} of {inside} such calls, right in the other {len(replies) - inside}"
        where = f"only in {manner.calls} with {rule.text} ({counts})"
    if wrong_alone(function, bad):
        return "numbers", f"wrong {where}, whatever the size: {bad[0].text}"
    return "data", f"wrong {where}: {bad[0].text}"


def _some(questions: Sequence[CallQuestion]) -> Iterator[CallQuestion]:
    """For each float type the questions of some sizes whose axes are as long as can be."""
    fresh = [one for one in questions if not one.memory]
    kinds = dict.fromkeys(str(one.features.get("float", "")) for one in fresh)
    for kind in kinds:
        some = [one for one in fresh if str(one.features.get("float", "")) == kind]
        yield from dict.fromkeys(
            max(near, key=_shortest) for count in _ELEMENTS if (near := _near(some, count))
        )


def _near(questions: Sequence[CallQuestion], count: int) -> list[CallQuestion]:
    """Those of about so many elements, or of the most there are."""
    small = [one for one in questions if one.elements <= 3 * count]
    most = max((one.elements for one in small), default=0)
    return [one for one in small if 3 * one.elements >= most]


def _shortest(question: CallQuestion) -> int:
    """The length of the shortest of its axes."""
    return min(size for size in question.features.values() if isinstance(size, int))
