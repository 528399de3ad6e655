"""Why answers change from call to call: the size of the call, state, memory, or threads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from mxref.conformance.checking.array_memory import wrong_in
from mxref.conformance.checking.axis_sizes import TELLING, around
from mxref.conformance.checking.call_places import edge_text, places_text, zero_words
from mxref.conformance.checking.call_rules import (
    Rule,
    Sized,
    least_wrong,
    size_rule,
)
from mxref.conformance.checking.case_judge import (
    Judge,
    Wanted,
    answers_text,
    subject,
    usual_answers,
    wanted_by,
)
from mxref.conformance.checking.deciding_rows import deciding_rows
from mxref.conformance.checking.kept_results import IN_PLACE, MIDDLE, overwritten
from mxref.conformance.checking.one_case import by_company, of_one_case
from mxref.conformance.checking.progress import untold
from mxref.conformance.checking.repeated_calls import FIRST, ask_again, refusals
from mxref.conformance.checking.repeated_cases import Call, RepeatedCases
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.verdict.call_dependence import CallDependence, Scope
from mxref.conformance.verdict.report import Report
from mxref.operands.word_rows import NO_WORD
from mxref.operations.registry import REGISTRY
from mxref.targets.target import PythonTarget

__all__ = ["ask_cases_again"]

#: Rules that may say no more than that a call has several rows, or not every case in it.
_VAGUE = re.compile(r"[2-8] \w+ and more|[\d,]+ \w+ and fewer|fewer than \S+ \w+(, N .*)?")
#: New sizes that are right where a wrong call of another size has become so by earlier calls.
_NEW = 4
#: The least and the greatest wrong sizes that other float types are asked.
_ENDS = 3
#: What is wrong where a call raises and those before it do not; nothing more is known of it.
_RAISES = "not reproducible: a call raises where others of its size do not"
#: Words of wrong answers from which on it is no chance that all are 0.
_TOLD = 4
#: Kinds of use, and what is wrong in calls made otherwise than in batches. Of a result that is held
#: it is said which call overwrites it, and of arrays where they lie.
_OTHERWISE = {
    "held": ("state", _RAISES),
    "in_place": ("state", f"not reproducible: {IN_PLACE}"),
    "middle": ("state", f"{MIDDLE} one number in the middle"),
    "memory": ("memory", ""),
    "scales": ("company", "wrong only where rows have tensor scales that are near each other"),
    "threads": ("threads", "wrong when two threads call it at once"),
}


def ask_cases_again(
    target: PythonTarget, report: Report, most: int, tell: Callable[[float], None] = untold
) -> tuple[list[CallDependence], Scope]:
    """Every case in calls of many sizes, twice: what is wrong with them, and what was asked.

    Args:
        target: the implementation.
        report: its answers to the vectors.
        most: the largest number of elements in a call.
        tell: called with the share of this that is done.
    """
    outcomes = [outcome for row in report.rows for outcome in row.outcomes]
    cases = [RepeatedCases(target.operations[one.file.op], one) for one in outcomes]
    wanted = wanted_by(report)
    every = list(ask_again(cases, most, threads=target.threads, tell=tell))
    uses: list[CallDependence] = []
    for key in dict.fromkeys((call.file.op, call.file.format) for call in every):
        of = [one for one in cases if (one.file.op, one.file.format) == key]
        calls = [call for call in every if (call.file.op, call.file.format) == key]
        uses += judge_calls(of, calls, wanted)
    sizes = [len(call.rows) for call in every]
    if not sizes:
        return [], Scope()
    notes = tuple(refusals(every))
    return uses, Scope(calls=len(sizes), smallest=min(sizes), largest=max(sizes), notes=notes)


def judge_calls(
    cases: Sequence[RepeatedCases], calls: Sequence[Call], wanted: Wanted
) -> Iterator[CallDependence]:
    """What is wrong with the calls of one operation and format; refusals of memory are not.

    Args:
        cases: its files.
        calls: every call that was made for them, in order.
        wanted: the right answers to the cases of a file.
    """
    if not any(call.differs for call in calls):
        return
    op, format = cases[0].file.op, cases[0].file.format
    usual = {one.file.stem: usual_answers(one, calls, wanted(one)) for one in cases}
    judge = Judge({one.file.stem: one for one in cases}, wanted, usual, REGISTRY[op].unit)
    stale = next((call for call in calls if _is_stale(judge, call)), None)
    if stale is not None:  # that is sure, whatever other calls may look like
        kind, text = _OTHERWISE[stale.way]
        text = overwritten(stale.later) if stale.way == "held" else text
        yield CallDependence(op, format, kind, f"{text}: {judge.example(stale)}")
        return
    batches = [call for call in calls if call.way == "batch"]
    if any(judge.bad(call) for call in batches) or any(
        call.changed.size for call in judge.first_calls(batches)
    ):
        yield CallDependence(op, format, *_of_batches(judge, batches))
        return
    for way, (kind, text) in _OTHERWISE.items():
        refused = kind == "memory"
        bad = [call for call in calls if call.way == way and judge.differs(call)]
        bad = [call for call in bad if not (refused and call.error)]
        if bad:
            text = wrong_in(call.memory for call in bad) if refused else text
            text = _RAISES if kind == "state" and bad[0].error else text
            yield CallDependence(op, format, kind, f"{text}: {judge.example(bad[0])}")


def _is_stale(judge: Judge, call: Call) -> bool:
    """Whether a later call changed a result, or one gave that of other numbers before it."""
    if call.way not in ("held", "in_place", "middle") or not call.changed.size:
        return False
    if call.way != "in_place":
        return True
    one = judge.of[call.file.stem]
    others = one.chosen(len(call.rows), 1)
    answers = judge.usual[call.file.stem][others[call.changed]][:, : call.got.shape[1]]
    if not same_answers(call.file, answers, call.got).all():
        return False
    # In an array of its own it is right: else what is kept is kept by something else.
    return not one.ask(call.rows, 2).changed.size


def _of_batches(judge: Judge, calls: Sequence[Call]) -> tuple[str, str]:
    """The kind and the text of what is wrong with calls of many sizes."""
    every = [*judge.first_calls(calls), *calls]
    bad = [call for call in every if judge.bad(call) and (call.changed.size or call.error)]
    bad = bad or [call for call in every if judge.bad(call) or (not call.turn and call.differs)]
    example = next((call for call in bad if call.turn), bad[0])
    one = judge.of[example.file.stem]
    gave = _two_answers(judge, example)
    text = f"not reproducible: {gave}"
    counts = f"{len(bad)} of {len(every)} calls have wrong answers"
    vectors = _vectors_again(one)
    if vectors is not None:
        size = f"{len(vectors.rows):,} {judge.unit}"
        before, now = one.first[vectors.changed[0]], vectors.got[0]
        gave = f"{answers_text(one.file, before, now)}, both times in the same call with {size}"
        return "state", f"not reproducible: {gave}; {_order(every, bad) or counts}"
    if not _steady(one, example):
        return "state", f"{text}; {_order(every, bad) or counts}"
    largest = max(len(call.rows) for call in calls if call.file is example.file)
    least = min(len(call.rows) for call in bad if call.file is example.file)
    turns = {size: range(3, 5) for size in around(least)} | {size: range(3, 9) for size in TELLING}
    telling = [
        one.ask(one.chosen(size, turn), 2)
        for size in sorted(turns)
        for turn in turns[size]
        if size <= largest
    ]
    sized = [
        Sized(len(call.rows), judge.bad(call) or (not call.turn and call.differs))
        for call in (*every, *telling)
        # What the vectors' call raised for was asked again one by one, so that it looks right.
        if call.file is example.file and (call.turn or not example.error)
    ]
    order = _order(every, bad)
    if order:
        return "state", f"{text}; {order}"
    found = size_rule(sized, judge.unit)
    vague = found is None or _VAGUE.fullmatch(found[0].text)
    if vague and by_company(judge, one, example):
        return "company", _of_company(judge, one, gave)
    if vague and (alone := of_one_case(judge, one, example, largest)):
        return "size", f"{alone}: {judge.example(example)}"
    wrong = [call for call in (*bad, *telling) if call.changed.size and judge.bad(call)]
    if found is not None:
        rule, counts = found
        places = [(judge.wrong_places(call), len(call.rows)) for call in wrong if call.turn]
        where = f"{places_text(places, judge.unit)}{_zeros(judge, wrong)}"
        text = f"{_exact(judge, one, rule)} ({counts}){where}"
        sizes = sorted({call.size for call in sized if call.bad})
        floats = _of_floats(judge, {call.file.float for call in bad}, sizes)
        how = "raises" if all(call.error for call in bad) else "wrong"
        return "size", f"{how} only in calls{floats} with {text}: {judge.example(example)}"
    ends = [(judge.wrong_places(call), len(call.rows)) for call in wrong]
    where = edge_text(ends, sized, judge.unit)
    if where:
        return "size", f"wrong {where}{_zeros(judge, wrong)}: {judge.example(example)}"
    if _right_if_longer(one, example, every):
        return "state", f"{text}; right in calls of sizes that were not asked before"
    return "company", _of_company(judge, one, gave)


def _of_company(judge: Judge, one: RepeatedCases, gave: str) -> str:
    """That an answer depends on what else is in a call, and on which of it if that is found."""
    which = deciding_rows(one, judge.unit)
    where = f", {which}" * bool(which)
    return f"an answer depends on what else is in the call{where}: {gave}"


def _zeros(judge: Judge, calls: Sequence[Call]) -> str:
    """That all wrong answers are 0 in every word, in words; else nothing."""
    found = [call.got[judge.wrong(call)].reshape(-1) for call in calls]
    words = np.concatenate([np.empty(0, np.uint64), *found])
    words = words[words != NO_WORD]
    told = zero_words(words, "answer") if words.size >= _TOLD else ()
    return "".join(f", {text}" for text in told)


def _of_floats(judge: Judge, wrong: set[str], sizes: Sequence[int]) -> str:
    """The float types of wrong calls, if calls of some of their sizes are right in others."""
    some = sorted({*sizes[:_ENDS], *sizes[-_ENDS:]})
    others = [one for one in judge.of.values() if one.usable and one.file.float not in wrong]
    right = {
        one.file.float
        for one in others
        if not any(judge.bad(one.ask(one.chosen(size, 3), 2)) for size in some)
    }
    floats = [one.file.float for one in judge.of.values() if one.file.float not in right]
    return f" of {' and '.join(floats)}" if right else ""


def _exact(judge: Judge, one: RepeatedCases, rule: Rule) -> str:
    """The text of a rule; of "N rows and more" with the least N, by further calls."""
    if rule.least is None:
        return rule.text

    def is_wrong(size: int) -> bool:
        # A large call has every case in it.
        turns = (3,) if size >= len(one.inputs) else (3, 4, 5)
        return any(judge.bad(one.ask(one.chosen(size, turn), 2)) for turn in turns)

    unit, right, wrong = rule.least
    return f"{least_wrong(right, wrong, is_wrong):,} {unit} and more"


def _vectors_again(one: RepeatedCases) -> Call | None:
    """The vectors' call once more, if its answers are others now; None if they are the same.

    An exception says nothing: where the first call raised one, cases were asked one by one.
    """
    if one.outcome.errors:
        return None
    call = one.ask(np.arange(len(one.inputs)), 2)
    return call if call.changed.size else None


def _steady(one: RepeatedCases, example: Call) -> bool:
    """Whether a call gives the same answers again, also after other calls of its size."""
    size = len(example.rows)
    for turn in (None, 4, 5):
        if turn is not None:
            one.ask(one.chosen(size, turn), 2)
        again = one.ask(example.rows, 2)
        same = again.error == example.error
        if example.turn:
            same &= np.array_equal(again.changed, example.changed)
            same &= bool(np.array_equal(again.got, example.got))
        else:  # the call to the vectors: nothing has changed from it
            same &= not again.changed.size
        if not same:
            return False
    return True


def _order(every: Sequence[Call], bad: Sequence[Call]) -> str:
    """That the first call of each size is right and most later ones are wrong; else nothing."""
    seen = {(call.file.stem, FIRST) for call in every}
    later: list[Call] = []
    for call in every:
        key = (call.file.stem, len(call.rows))
        if key in seen:
            later.append(call)
        elif any(call is one for one in bad):
            return ""
        seen.add(key)
    wrong = sum(any(call is one for one in bad) for call in later)
    right_first = 2 * wrong >= len(later) > 0
    return "right in the first call of each size, wrong in later ones" if right_first else ""


def _right_if_longer(one: RepeatedCases, example: Call, every: Sequence[Call]) -> bool:
    """Whether calls of some new sizes that begin with the same rows are right."""
    sizes = {len(call.rows) for call in every} | set(TELLING)
    new = [n for n in range(1, 1000) if len(example.rows) + n not in sizes][:_NEW]
    longer = (np.concatenate([example.rows, one.chosen(n, 3)]) for n in new)
    return example.turn > 0 and not any(one.ask(rows, 2).differs for rows in longer)


def _two_answers(judge: Judge, call: Call) -> str:
    """That one question has two answers, with the first word that differs."""
    one, size = judge.of[call.file.stem], len(call.rows)
    if call.error:
        return f"a call with {size:,} {judge.unit} raised {call.error}"
    if not call.turn:
        return f"{subject(call.file)} gave another answer the second time"
    before, now = one.first[call.rows[call.changed[0]]], call.got[0]
    when = f"the second time in a call with {size:,} {judge.unit}"
    return f"{answers_text(call.file, before, now)}, {when}"
