"""A wrong case of a call in calls of nothing else: its place decides, or what else is there."""

from __future__ import annotations

import numpy as np

from mxref.conformance.checking.axis_sizes import TELLING, around
from mxref.conformance.checking.call_places import places_text
from mxref.conformance.checking.call_rules import Sized, size_rule
from mxref.conformance.checking.case_judge import Judge
from mxref.conformance.checking.repeated_cases import Call, RepeatedCases

__all__ = ["by_company", "of_one_case"]

#: The longest call of nothing but one case.
_LONGEST = 5000


def of_one_case(judge: Judge, one: RepeatedCases, example: Call, largest: int) -> str:
    """In which calls of nothing but a wrong case, and where in them, it is wrong; else nothing."""
    wrong = np.empty(0, np.int64) if example.error else judge.wrong_places(example)
    if not wrong.size:
        return ""
    own, sizes = example.rows[wrong[0]], {*TELLING, *around(len(example.rows))}
    calls = [one.ask(np.full(n, own), 2) for n in sorted(sizes) if n <= min(largest, _LONGEST)]
    places = [(judge.wrong_places(call), len(call.rows)) for call in calls if judge.bad(call)]
    found = size_rule([Sized(len(call.rows), judge.bad(call)) for call in calls], judge.unit)
    if found is None or any(call.error for call in calls):
        return ""
    rule, counts = found
    where = places_text(places, judge.unit)
    seen = f"seen in calls that repeat one {judge.unit.removesuffix('s')} ({counts})"
    return f"some {judge.unit} are wrong only in calls with {rule.text}, {seen}{where}"


def by_company(judge: Judge, one: RepeatedCases, example: Call) -> bool:
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
