"""Why answers change from call to call: the size of the call, state, memory, or threads."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import stripped
from mxref.conformance.checking.batches import Call, Ways
from mxref.conformance.compare.compare import Failure, same_answers
from mxref.conformance.compare.failure_text import difference
from mxref.conformance.verdict.uses import Use

__all__ = ["Wanted", "judge_calls"]

#: The right answers to the cases of a file, one a row.
Wanted = Callable[[Ways], NDArray[np.uint64]]

#: Steps of sizes: vectors, warps and blocks of threads.
_MULTIPLES = (128, 64, 32, 16, 8, 4, 2)
#: Units in which calls of an operation are counted, if they are not rows.
_UNITS = {"encode": "numbers", "encode_scale": "numbers", "shared_scale": "numbers",
          "encode_stochastic": "numbers", "decode": "codes", "decode_scale": "codes"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Judged:
    """A call with its size, and whether an answer in it is wrong."""

    call: Call
    size: int
    bad: bool
    again: bool  #: whether a call of this size was made before


@dataclass(frozen=True, slots=True)
class _Rule:
    """A property of calls that all bad ones have."""

    text: str
    holds: Callable[[int], bool]


def judge_calls(ways: Sequence[Ways], calls: Sequence[Call], wanted: Wanted) -> Iterator[Use]:
    """What is wrong with the calls of one operation and format; refusals are not.

    Args:
        ways: its files.
        calls: every call that was made for them, in order.
        wanted: the right answers to the cases of a file.
    """
    of = {one.file.stem: one for one in ways}
    if not any(call.differs for call in calls):
        return
    judged = list(_judged(of, calls, wanted))
    op, format = ways[0].file.op, ways[0].file.format
    batches = [one for one in judged if one.call.way == "batch"]
    if any(one.bad for one in batches):
        yield Use(op, format, *_of_batches(of, batches, wanted))
        return
    for way, kind, text in (
        ("held", "state", "the result of a call is overwritten by the next call"),
        ("memory", "memory", "wrong where arrays do not begin at a multiple of 16 bytes"),
        ("threads", "threads", "wrong when two threads call it at once"),
    ):
        bad = [one.call for one in judged if one.call.way == way and one.bad]
        bad = [call for call in bad if not (way == "memory" and call.error)]
        if bad:
            yield Use(op, format, kind, f"{text}: {_example(of, bad[0], wanted)}")
            return


def _judged(of: dict[str, Ways], calls: Sequence[Call], wanted: Wanted) -> Iterator[_Judged]:
    """The calls, those to the vectors first, each with whether it is bad."""
    good_now = {stem: _right(of[stem], calls, wanted) for stem in of}
    seen: set[int] = set()
    for stem, one in of.items():
        size = len(one.inputs)
        call = Call(one.file, np.arange(size), 0, 0, "batch", good_now[stem], one.first[:0])
        yield _Judged(call, size, good_now[stem].size > 0, size in seen)
        seen.add(size)
    for call in calls:
        bad = bool(call.error)
        if call.changed.size:
            right = wanted(of[call.file.stem])[call.rows[call.changed]]
            bad = not same_answers(call.file, right, call.got).all() or call.way != "batch"
        yield _Judged(call, len(call.rows), bad, len(call.rows) in seen)
        seen.add(len(call.rows))


def _right(one: Ways, calls: Sequence[Call], wanted: Wanted) -> NDArray[np.int64]:
    """The cases whose first answer was wrong, and a later one right."""
    found: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for call in calls:
        if call.file is one.file and call.changed.size:
            rows = call.rows[call.changed]
            same = same_answers(call.file, wanted(one)[rows], call.got).all(axis=1)
            found.append(rows[same])
    return np.unique(np.concatenate(found))


def _of_batches(of: dict[str, Ways], calls: Sequence[_Judged], wanted: Wanted) -> tuple[str, str]:
    """The kind and the text of what is wrong with calls of many sizes."""
    bad = [one for one in calls if one.bad]
    example = max((one.call for one in bad), key=lambda call: call.turn)
    one = of[example.file.stem]
    again = [one.ask(example.rows, 2) for _ in range(2)] if example.turn else []
    steady = all(_same(example, call) for call in again)
    unit = _UNITS.get(one.file.op, "rows")
    rule = _rule_of(calls, unit) if steady else None
    if rule is not None and _holds(rule, of, calls):
        inside = sum(rule.holds(one.size) for one in calls)
        counts = f"{len(bad)} of {inside} such calls, right in the other {len(calls) - inside}"
        where = _positions([one.call for one in bad], unit)
        text = f"wrong only in calls with {rule.text} ({counts}){where}"
        return "size", f"{text}: {_example(of, example, wanted)}"
    text = _two_answers(of, example, unit)
    first = [one for one in calls if not one.again]
    later = [one for one in calls if one.again]
    if not any(one.bad for one in first) and sum(one.bad for one in later) * 2 >= len(later):
        return "state", f"{text}; right in the first call of each size, wrong in later ones"
    if steady and example.turn:
        return "company", f"{text}: an answer depends on what else is in the call"
    counts = f"{len(bad)} of {len(calls)} calls have wrong answers"
    return "state", f"{text}; {counts}"


def _same(one: Call, other: Call) -> bool:
    same_places = np.array_equal(one.changed, other.changed)
    return same_places and bool(np.array_equal(one.got, other.got)) and one.error == other.error


def _rule_of(calls: Sequence[_Judged], unit: str) -> _Rule | None:
    """The property of sizes that all bad calls have and fewest good ones, if those are few."""
    best: tuple[float, _Rule] | None = None
    for rule in _rules(sorted({one.size for one in calls}), unit):
        inside = [one for one in calls if rule.holds(one.size)]
        outside = len(calls) - len(inside)
        if not outside or any(one.bad and not rule.holds(one.size) for one in calls):
            continue
        good = sum(not one.bad for one in inside) / len(inside)
        if good <= 0.5 and (best is None or good < best[0]):
            best = (good, rule)
    return None if best is None else best[1]


def _rules(sizes: Sequence[int], unit: str) -> Iterator[_Rule]:
    for size in sizes:
        yield _Rule(f"{size:,} {unit} and more", partial(operator.le, size))
    for size in sizes:
        yield _Rule(f"{size:,} {unit} and fewer", partial(operator.ge, size))
    for m in _MULTIPLES:
        yield _Rule(f"a number of {unit} that is no multiple of {m}", partial(_ragged, m))
        yield _Rule(f"a multiple of {m} {unit}", partial(_whole, m))
        for least in (m, 8 * m):
            text = f"more than {least:,} {unit}, no multiple of {m}"
            yield _Rule(text, partial(_long_and_ragged, m, least))
    for size in sizes:
        yield _Rule(f"{size:,} {unit}", partial(operator.eq, size))


def _ragged(m: int, n: int) -> bool:
    return n % m != 0


def _whole(m: int, n: int) -> bool:
    return n % m == 0


def _long_and_ragged(m: int, least: int, n: int) -> bool:
    return n > least and n % m != 0


def _holds(rule: _Rule, of: dict[str, Ways], calls: Sequence[_Judged]) -> bool:
    """Whether calls with other cases, made now, follow the rule: else it is state that decides."""
    bad = [one for one in calls if one.bad and one.call.turn]
    good = [one for one in calls if not one.bad and not rule.holds(one.size) and one.call.turn]
    for some, expected in ((bad, True), (good, False)):
        asked = [of[one.call.file.stem].ask(one.call.rows, 2) for one in some[:3] + some[-2:]]
        if some and not all(
            call.differs is expected or not one.call.changed.size
            for call, one in zip(asked, some[:3] + some[-2:], strict=True)
        ):
            return False
    return True


def _positions(bad: Sequence[Call], unit: str) -> str:
    """Where in the calls the wrong answers stand, if one rule says it."""
    places = [(call.changed, len(call.rows)) for call in bad if call.changed.size and call.turn]
    if not places:
        return ""
    for m in _MULTIPLES:
        if all((changed >= n // m * m).all() for changed, n in places):
            return f", in the {unit} behind the last multiple of {m}"
    least = min(int(changed.min()) for changed, _ in places)
    for power in range(6, 20):
        if 0 <= least - (1 << power) < max(8, 1 << power - 3):
            return f", in {unit} from number {least:,} on"
    return ""


def _two_answers(of: dict[str, Ways], call: Call, unit: str) -> str:
    """That one question has two answers, with the first word that differs."""
    one = of[call.file.stem]
    op, size = call.file.op, len(call.rows)
    same = {"quantize": "the same block", "dequantize": "the same scale and codes"}
    same_text = same.get(op, "the same number" if unit == "numbers" else "the same question")
    if call.error:
        return f"not reproducible: a call with {size:,} {unit} raised {call.error}"
    if not call.turn:
        return f"not reproducible: {same_text} gave two answers"
    place = int(call.changed[0])
    before = one.first[call.rows[place]]
    now = call.got[0]
    index = int(np.argmax(before[: now.size] != now))
    digits = call.file.out_digits
    width = one.inputs.shape[1]
    if op == "quantize":
        same_text = f"the same {width} numbers"
    a, b = int(before[index]), int(now[index])
    return (
        f"not reproducible: {same_text} gave {a:0{digits}x} and {b:0{digits}x}, "
        f"the second time in a call with {size:,} {unit}"
    )


def _example(of: dict[str, Ways], call: Call, wanted: Wanted) -> str:
    """The first wrong answer of a call, as reports show failures."""
    if call.error:
        return call.error
    one = of[call.file.stem]
    if not call.turn:  # the call to the vectors
        case, got = int(call.changed[0]), one.first[call.changed[0]]
    else:
        right = wanted(one)[call.rows[call.changed]]
        wrong = ~same_answers(call.file, right, call.got).all(axis=1)
        which = int(np.argmax(wrong))
        case, got = int(call.rows[call.changed[which]]), call.got[which]
    failure = Failure(case, call.file.cases[case], stripped(wanted(one)[case]), stripped(got))
    place = "" if not call.turn else f"{len(call.rows):,} {_UNITS.get(call.file.op, 'rows')}: "
    return f"{place}{call.file.cases[case].id}: {difference(call.file, failure)}"
