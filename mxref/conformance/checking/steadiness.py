"""Why answers change from call to call: the size of the call, state, memory, or threads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import VectorFile, padded, stripped
from mxref.cases.words import LAYOUT_OPERATIONS
from mxref.conformance.checking.batches import FIRST, TELLING, Call, Ways
from mxref.conformance.checking.rules import Rule
from mxref.conformance.checking.sizes import Sized, least_wrong, places_text, size_rule
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.verdict.uses import Use
from mxref.targets.results import ResultsTarget

__all__ = ["Wanted", "changed_answers", "judge_calls", "two_answers"]

#: The right answers to the cases of a file, one a row.
Wanted = Callable[[Ways], NDArray[np.uint64]]

#: What calls of an operation consist of, if not of rows.
_UNITS = {
    "encode": "numbers",
    "encode_scale": "numbers",
    "shared_scale": "numbers",
    "encode_stochastic": "numbers",
    "decode": "codes",
    "decode_scale": "codes",
}
#: Rules that may say no more than that a call has several rows, or not every case in it.
_VAGUE = re.compile(r"[2-8] \w+ and more|[\d,]+ \w+ and fewer|fewer than [\d,]+ \w+")
#: Kinds of use, and what is wrong in calls made otherwise than in batches.
_OTHERWISE = {
    "held": ("state", "the result of a call is overwritten by the next call"),
    "in_place": (
        "state",
        "not reproducible: an array changed in place gives the answers to what it was before",
    ),
    "memory": ("memory", "wrong where arrays do not begin at a multiple of 16 bytes"),
    "strided": ("memory", "wrong where arrays are not contiguous"),
    "threads": ("threads", "wrong when two threads call it at once"),
}


@dataclass(frozen=True, slots=True)
class _Judge:
    """The files of an operation and format, with the right answers."""

    of: Mapping[str, Ways]
    wanted: Wanted
    unit: str

    def bad(self, call: Call) -> bool:
        """Whether an answer in a call is wrong; calls other than batches may not differ at all."""
        if call.error or not call.changed.size:
            return bool(call.error)
        right = self.wanted(self.of[call.file.stem])[call.rows[call.changed]]
        return call.way != "batch" or not same_answers(call.file, right, call.got).all()

    def wrong_places(self, call: Call) -> NDArray[np.int64]:
        """The places of a call where the answer is wrong."""
        one = self.of[call.file.stem]
        answers = one.first[call.rows].copy()
        answers[call.changed, : call.got.shape[1]] = call.got
        right = self.wanted(one)[call.rows]
        return np.flatnonzero(~same_answers(call.file, right, answers).all(axis=1))

    def first_calls(self, calls: Sequence[Call]) -> Iterator[Call]:
        """The calls to the vectors, whose wrong answers became right later."""
        for one in self.of.values():
            found = [np.empty(0, np.int64)]
            for call in calls:
                if call.file is one.file and call.changed.size:
                    rows = call.rows[call.changed]
                    same = same_answers(call.file, self.wanted(one)[rows], call.got).all(axis=1)
                    found.append(rows[same])
            wrong = np.unique(np.concatenate(found))
            every = np.arange(len(one.inputs))
            yield Call(one.file, every, 0, 0, "batch", wrong, one.first[wrong])

    def example(self, call: Call) -> str:
        """The first wrong answer of a call, as reports show failures."""
        if call.error:
            return call.error
        right = self.wanted(self.of[call.file.stem])[call.rows[call.changed]]
        wrong = ~same_answers(call.file, right, call.got).all(axis=1)
        which = int(np.argmax(wrong))
        number = int(call.rows[call.changed[which]])
        case = call.file.cases[number]
        failure = Failure(number, case, stripped(right[which]), stripped(call.got[which]))
        place = f"with {len(call.rows):,} {self.unit}, {case.id}"
        return f"{place}: {difference(call.file, failure)}"


def judge_calls(ways: Sequence[Ways], calls: Sequence[Call], wanted: Wanted) -> Iterator[Use]:
    """What is wrong with the calls of one operation and format; refusals of memory are not.

    Args:
        ways: its files.
        calls: every call that was made for them, in order.
        wanted: the right answers to the cases of a file.
    """
    if not any(call.differs for call in calls):
        return
    op, format = ways[0].file.op, ways[0].file.format
    judge = _Judge({one.file.stem: one for one in ways}, wanted, _UNITS.get(op, "rows"))
    stale = next((call for call in calls if _is_stale(judge, call)), None)
    if stale is not None:  # that is sure, whatever other calls may look like
        kind, text = _OTHERWISE[stale.way]
        yield Use(op, format, kind, f"{text}: {judge.example(stale)}")
        return
    batches = [call for call in calls if call.way == "batch"]
    if any(judge.bad(call) for call in batches) or any(
        call.changed.size for call in judge.first_calls(batches)
    ):
        yield Use(op, format, *_of_batches(judge, batches))
        return
    for way, (kind, text) in _OTHERWISE.items():
        refused = kind == "memory"
        bad = [call for call in calls if call.way == way and call.differs]
        bad = [call for call in bad if not (refused and call.error)]
        if bad:
            yield Use(op, format, kind, f"{text}: {judge.example(bad[0])}")


def _is_stale(judge: _Judge, call: Call) -> bool:
    """Whether a call that shares memory with another gave that one's answers."""
    if call.way not in ("held", "in_place") or not call.changed.size:
        return False
    one = judge.of[call.file.stem]
    others = one.chosen(len(call.rows), 2 if call.way == "held" else 1)
    answers = one.first[others[call.changed]][:, : call.got.shape[1]]
    if not same_answers(call.file, answers, call.got).all():
        return False
    # In an array of its own it is right: else what is kept is kept by something else.
    return call.way == "held" or not one.ask(call.rows, 2).changed.size


def _of_batches(judge: _Judge, calls: Sequence[Call]) -> tuple[str, str]:
    """The kind and the text of what is wrong with calls of many sizes."""
    every = [*judge.first_calls(calls), *calls]
    bad = [call for call in every if call.changed.size and judge.bad(call)]
    bad = bad or [call for call in every if judge.bad(call) or (not call.turn and call.differs)]
    example = next((call for call in bad if call.turn), bad[0])
    one = judge.of[example.file.stem]
    gave = _two_answers(judge, example)
    text = f"not reproducible: {gave}"
    if not _steady(one, example):
        counts = f"{len(bad)} of {len(every)} calls have wrong answers"
        return "state", f"{text}; {_order(every, bad) or counts}"
    largest = max(len(call.rows) for call in calls if call.file is example.file)
    sizes = [size for size in TELLING if size <= largest]
    telling = [one.ask(one.chosen(size, turn), 2) for size in sizes for turn in range(3, 9)]
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
    if vague and _by_company(judge, one, example):
        return "company", f"an answer depends on what else is in the call: {gave}"
    if found is not None:
        rule, counts = found
        wrong = [call for call in (*bad, *telling) if call.changed.size and judge.bad(call)]
        places = [(judge.wrong_places(call), len(call.rows)) for call in wrong if call.turn]
        where = places_text(places, judge.unit)
        text = f"{_exact(judge, one, rule)} ({counts}){where}"
        how = "raises" if all(call.error for call in bad) else "wrong"
        return "size", f"{how} only in calls with {text}: {judge.example(example)}"
    if _right_if_longer(one, example, every):
        return "state", f"{text}; right in a call of another size"
    return "company", f"an answer depends on what else is in the call: {gave}"


def _exact(judge: _Judge, one: Ways, rule: Rule) -> str:
    """The text of a rule; of "N rows and more" with the least N, by further calls."""
    if rule.least is None:
        return rule.text

    def is_wrong(size: int) -> bool:
        # A large call has every case in it.
        turns = (3,) if size >= len(one.inputs) else (3, 4, 5)
        return any(judge.bad(one.ask(one.chosen(size, turn), 2)) for turn in turns)

    unit, right, wrong = rule.least
    return f"{least_wrong(right, wrong, is_wrong):,} {unit} and more"


def _by_company(judge: _Judge, one: Ways, example: Call) -> bool:
    """Whether a wrong answer is right in the same place among other cases, each repeated."""
    wrong = np.empty(0, np.int64) if example.error else judge.wrong_places(example)
    if not wrong.size or not example.turn:
        return False
    place = wrong[0]
    own = example.rows[place]
    for case in (own, *one.chosen(4, 6)):
        rows = np.full_like(example.rows, case)
        rows[place] = own
        call = one.ask(rows, 2)
        if not call.error and place not in judge.wrong_places(call):
            return True
    return False


def _steady(one: Ways, example: Call) -> bool:
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


def _right_if_longer(one: Ways, example: Call, every: Sequence[Call]) -> bool:
    """Whether the wrong answers are right in a call of a new size with the same first rows."""
    sizes = {len(call.rows) for call in every} | set(TELLING)
    more = next(n for n in range(1, 1000) if len(example.rows) + n not in sizes)
    longer = one.ask(np.concatenate([example.rows, one.chosen(more, 3)]), 2)
    if not example.turn:
        return longer.changed.size > 0
    return not longer.error and not np.isin(example.changed, longer.changed).any()


def _two_answers(judge: _Judge, call: Call) -> str:
    """That one question has two answers, with the first word that differs."""
    one, size = judge.of[call.file.stem], len(call.rows)
    if call.error:
        return f"a call with {size:,} {judge.unit} raised {call.error}"
    subject = _subject(call.file)
    if not call.turn:
        return f"{subject} gave another answer the second time"
    before, now = one.first[call.rows[call.changed[0]]], call.got[0]
    when = f"the second time in a call with {size:,} {judge.unit}"
    return f"{two_answers(call.file, before, now)}, {when}"


def _subject(file: VectorFile) -> str:
    if file.op in LAYOUT_OPERATIONS:
        return "the same input"
    width = len(file.cases[0].inputs)
    unit = _UNITS.get(file.op, "rows").removesuffix("s")
    blocks = {"quantize": f"the same {width} numbers", "dequantize": "the same scale and codes"}
    return blocks.get(file.op, f"the same {unit}")


def two_answers(file: VectorFile, before: NDArray[np.uint64], now: NDArray[np.uint64]) -> str:
    """That one question has two answers, with the first word that differs."""
    index = int(np.argmax(before[: now.size] != now))
    a, b = (f"{int(word):0{file.out_digits}x}" for word in (before[index], now[index]))
    return f"{_subject(file)} gave {a} and {b}"


def changed_answers(target: ResultsTarget, files: Sequence[VectorFile]) -> tuple[Use, ...]:
    """What is wrong with a program whose second answers are not its first ones."""
    found: dict[tuple[str, str], list[tuple[VectorFile, str]]] = {}
    asked: Counter[tuple[str, str]] = Counter()
    for file in files:
        asked[file.op, file.format] += len(file.cases)
        for id, other in target.again.get(file.stem, {}).items():
            first = target.answers[file.stem][id]
            before, now = padded([first.words, other.words])
            if first.unsupported != other.unsupported:
                text = f"{_subject(file)} was `unsupported` once, and was answered"
            elif same_answers(file, before[np.newaxis], now[np.newaxis]).all():
                continue
            else:
                text = two_answers(file, before, now)
            found.setdefault((file.op, file.format), []).append((file, f"{text} ({id})"))
    uses = []
    for (op, format), some in found.items():
        counts = f"{len(some)} of {asked[op, format]} cases, asked again in another order"
        uses.append(Use(op, format, "state", f"not reproducible: {some[0][1]}; {counts}"))
    return tuple(uses)
