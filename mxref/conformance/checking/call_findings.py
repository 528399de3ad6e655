"""What is wrong with the replies to computed calls: size, options, numbers, state, memory, ..."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mxref.conformance.checking.array_memory import wrong_in
from mxref.conformance.checking.axis_sizes import around
from mxref.conformance.checking.call_manner import Manner
from mxref.conformance.checking.call_places import places_text
from mxref.conformance.checking.call_questions import (
    CallQuestion,
    CallReply,
    CallSubject,
    ask,
)
from mxref.conformance.checking.call_rules import TOLERATED, Rule, least_wrong, rule_of

__all__ = ["finding", "wrong_alone"]

Function = Callable[..., Any]
#: The first and the second reply to each question.
Turns = Sequence[tuple[CallReply, CallReply]]
#: The kind and the text of what is wrong.
Finding = tuple[str, str]

#: Sets of other random words that are asked for before a rule is believed, and their elements.
_MORE, _MOST = 2, 20_000
#: Wrong calls whose first wrong part is asked alone, and large right ones that remarks are about.
_ALONE = 8
#: The draw of calls of other sizes than a wrong one's, and their work in that of the largest call.
_DRAW, _TIMES = 3, 4
#: Draws of a call that is smaller than the wrong one.
_DRAWS = 16
#: Elements of a call below which it has few numbers.
_FEW = 30
#: Small wrong calls of which it is looked where they are wrong.
_PLACES = 48
#: Wrong calls from which on a remark on all of them is no chance.
_TOLD = 4
#: Right calls that a rule leaves at least where it covers most calls, and how likely they may be.
_RIGHT, _CHANCE = 6, 1e-3
#: From so many wrong calls on, each later than a right one of its size, it is state and no chance.
_LATER = 4


def finding(
    function: Function, subject: CallSubject, turns: Turns, *, fails: bool
) -> Finding | None:
    """What is wrong with the replies to questions of one group, each asked twice.

    Args:
        function: the target's function.
        subject: what the questions are about.
        turns: the replies to each question.
        fails: whether some answers to the vectors are wrong: then only what they do not show is
            said.
    """
    manner = subject.manner
    calls = [one for one, _ in turns if not one.question.memory]
    if manner.other_numbers:
        calls += [one for _, one in turns if not one.question.memory]
    elif found := _two_answers(turns):
        return found
    if not any(one.wrong for one in calls):
        return _memory(function, [one for turn in turns for one in turn])
    least = (len(calls) // 2 + 1) // 2 if manner.other_numbers else _LATER
    if _only_later(calls, least):
        text = f"right in the first call of each {manner.size}, wrong in later ones"
        return "state", f"not reproducible: {text}: {next(o for o in calls if o.wrong).text}"
    asked = len(calls)
    if not manner.other_numbers:
        calls += list(_more(function, calls))
    elif found := _two_answers_now(function, [one for one in calls if one.wrong], manner):
        return found
    calls += list(_resized(function, calls))
    bad, part = [one for one in calls if one.wrong], calls[0].question.part
    alone = wrong_alone(function, bad)
    rule = _rule([(one.question, one.wrong) for one in calls], ("axis", "float") if alone else ())
    # Calls near a wrong one are wrong more often than those that are asked of every target.
    drawn = rule and replace(rule, inside=rule.inside[:asked])
    if rule is None or not (_is_narrow(rule, asked, manner.most) or _is_no_chance(rule, calls)):
        rule = drawn = None
    told = subject.explained(calls)
    if fails and not told and not subject.tells(drawn, has_parts=bool(part), alone=alone):
        return None
    example = bad[0]
    parts = "" if told or (rule is not None and _is_exact(rule, bad)) else subject.of_parts(calls)
    if rule is None or parts:
        where = f"in {len(bad)} of {len(calls)} {manner.calls}"
        where += f", {parts}" * bool(parts) + f", where {told}" * bool(told)
    else:
        words_of, example = _exact_least(function, rule, calls)
        counts = rule.counts([one.wrong for one in calls])
        where = f"only in {manner.calls} with {words_of} ({counts})"
        where += f", where {told}" if told else f"{_where(bad)}{_remark(calls)}"
    if subject.beside:
        where += ", beside what the vectors show"
    if alone:
        return "numbers", f"wrong {where}, whatever the size: {example.text}"
    if rule is None and part and not any(one.error for one in bad):
        return "company", f"wrong {where}, in {part} that are right alone: {example.text}"
    kind = "size" if told or parts else manner.unexplained
    if rule is not None and not parts:
        kind = "size" if rule.sized else "options"
    return kind, f"wrong {where}: {example.text}"


def _two_answers(turns: Turns) -> Finding | None:
    """That the same question got two answers."""
    for one, other in turns:
        if not one.same(other):
            text = f"not reproducible: the same {one.question.name} gave two answers"
            wrong = [(a.question, a.wrong or b.wrong) for a, b in turns if not a.question.memory]
            rule = _rule(wrong)
            where = "" if rule is None else f", only in calls with {rule.text}"
            return "state", f"{text}{where}: {(one if one.wrong else other).text}"
    return None


def _two_answers_now(
    function: Function, bad: Sequence[CallReply], manner: Manner
) -> Finding | None:
    """That a wrong answer is another one after a call with other numbers."""
    for reply in (bad[0], bad[-1]):
        other = ask(function, reply.question.again(reply.question.draw + 2))
        if not (ask(function, reply.question).same(reply) or other.error):
            text = f"the same {manner.calls.removesuffix('s')} gave two answers"
            return "state", f"not reproducible: {text}: {reply.text}"
    return None


def _rule(calls: Sequence[tuple[CallQuestion, bool]], names: Sequence[str] = ()) -> Rule | None:
    """The rule over these features, by default over all."""
    features = [
        {name: value for name, value in one.features.items() if name in (names or one.features)}
        for one, _ in calls
    ]
    return rule_of(features, [wrong for _, wrong in calls]) if features[0] else None


def _is_narrow(rule: Rule, asked: int, most: float) -> bool:
    """Whether a rule covers no more than a share of the calls that every target is asked."""
    return bool(rule.inside[:asked].mean() <= most)


def _is_exact(rule: Rule, bad: Sequence[CallReply]) -> bool:
    """Whether a rule covers hardly more than the wrong calls."""
    return len(bad) >= (1 - TOLERATED) * int(rule.inside.sum())


def _is_no_chance(rule: Rule, calls: Sequence[CallReply]) -> bool:
    """Whether a rule leaves so many calls that their right answers are no chance.

    Small calls may be right by chance, so that no range of counts is.
    """
    others = int((~rule.inside).sum())
    wrong = np.mean([one.wrong for one, inside in zip(calls, rule.inside, strict=True) if inside])
    return rule.span is None and float((1 - wrong) ** others) < _CHANCE and others >= _RIGHT


def _only_later(calls: Sequence[CallReply], least: int) -> bool:
    """Whether `least` wrong calls or more all have the sizes of earlier ones, the first right.

    So it is where parameters of one call are kept for the next one of its size.
    """
    seen: set[tuple[object, ...]] = set()
    wrong = 0
    for one in calls:
        size = tuple(one.question.features.items())
        if one.wrong and size not in seen:
            return False
        wrong += one.wrong
        seen.add(size)
    return wrong >= least


def wrong_alone(function: Function, bad: Sequence[CallReply]) -> bool:
    """Whether the first wrong part of most of some wrong calls is wrong in small calls, too."""
    some = [(one.question, one.got) for one in bad if one.got is not None][:_ALONE]
    asked = [question.alone(got) for question, got in some]
    count = sum(all(ask(function, one).wrong for one in calls) for calls in asked if calls)
    return count * 2 > len(some)


def _memory(function: Function, replies: Sequence[CallReply]) -> Finding | None:
    """What is wrong with calls whose arrays lie elsewhere: their memory, or what lies there."""
    bad = [one for one in replies if one.wrong]
    moved = [one for one in bad if not ask(function, one.question, memory=0).wrong]
    if moved:
        return "memory", f"{wrong_in(one.question.memory for one in moved)}: {moved[0].text}"
    return ("data", f"wrong with equal rows or numbers: {bad[0].text}") if bad else None


def _more(function: Function, calls: Sequence[CallReply]) -> Iterator[CallReply]:
    """The smaller questions again with other random words, and others that tell more."""
    for turn in range(1, _MORE + 1):
        for one in calls:
            if one.question.elements <= _MOST:
                yield ask(function, one.question.again(one.question.draw + 2 * turn))
    wrong = next(one.question for one in calls if one.wrong)
    for other in wrong.telling(max(one.question.elements for one in calls)):
        yield ask(function, other)


def _resized(function: Function, calls: Sequence[CallReply]) -> Iterator[CallReply]:
    """The least wrong call with other sizes, one at a time, the cheapest first.

    A call with few numbers may be right by chance in every size.
    """
    bad = (one.question for one in calls if one.wrong)
    wrong = min(bad, key=lambda one: (one.elements < _FEW, one.work))
    most = max(one.question.work for one in calls)
    found = [
        wrong.resized(unit, size, _DRAW)
        for unit, count in wrong.features.items()
        if isinstance(count, int)
        for size in dict.fromkeys((1, 2, *around(count)))
    ]
    cheap = sorted((one for one in found if one and one.work <= most), key=lambda one: one.work)
    left = max(_TIMES * most, _MOST)
    for one in cheap:
        # A call with fewer numbers may be right by chance: the first wrong one of several counts.
        draws = min(_DRAWS, max(1, wrong.work // max(one.work, 1)))
        left -= one.work * draws
        if left < 0:
            return
        replies = (ask(function, one.again(_DRAW + 2 * turn)) for turn in range(draws))
        first = next(replies)
        yield first if first.wrong else next((reply for reply in replies if reply.wrong), first)


def _exact_least(
    function: Function, rule: Rule, calls: Sequence[CallReply]
) -> tuple[str, CallReply]:
    """A rule's text and a wrong call; of "N codes and more" with the least N, by bisection."""
    example = next(one for one in calls if one.wrong)
    if rule.least is None:
        return rule.text, example
    unit, right, wrong = rule.least
    found: dict[int, CallReply] = {}

    def is_wrong(count: int) -> bool:
        for draw in range(3):
            question = example.question.resized(unit, count, draw)
            reply = None if question is None else ask(function, question)
            if reply is not None and reply.wrong:
                found[count] = reply
                return True
        return False

    if not is_wrong(wrong):  # what else the call has decides as well
        return rule.text, example
    wrong = least_wrong(right, wrong, is_wrong)
    return f"{wrong:,} {unit} and more", found[wrong]


def _remark(calls: Sequence[CallReply]) -> str:
    """The most telling remark that is true of all wrong calls and not of all right ones."""
    few = sorted((one for one in calls if one.wrong), key=lambda one: one.question.elements)
    each = [one.question.remarks(one.got) for one in few[:_PLACES] if one.got is not None]
    shared = [text for text in each[0] if all(text in some for some in each)] if each else []
    if not shared or len(each) < _TOLD:
        return ""
    many = sorted((one.question for one in calls if not one.wrong), key=lambda one: -one.elements)
    right = [question.remarks(question.wanted) for question in many[:_ALONE]]
    told = (text for text in shared if not all(text in some for some in right))
    return "".join(f", {text}" for text in itertools.islice(told, 1))


def _where(bad: Sequence[CallReply]) -> str:
    """Where in the answers the wrong words stand, if one rule says it; else nothing."""
    few = sorted(bad, key=lambda one: one.question.elements)[:_PLACES]
    lines = [one.question.wrong_lines(one.got) for one in few if one.got is not None]
    units = dict.fromkeys(unit for some in lines for unit in some)
    return "".join(places_text([some[unit] for some in lines], unit) for unit in units)
