"""How the parts of a check end, by the reports of each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mxref.conformance.checking.check_parts import PartResult, part_result
from mxref.conformance.verdict.call_dependence import CallDependence, Scope

SIZE = CallDependence("decode", "e2m1", "size", "wrong only in calls with 33 codes")
STATE = CallDependence("decode", "e2m1", "state", "not reproducible")
CASE, KIND = "decode.e2m1.f32.00", "decode e2m1 size"
REASONS = {SIZE.key: "by design (T-1)", STATE.key: "by design (T-1)"}
ASKED, SEARCHED = Scope(calls=9), Scope(searched=1000, seed=7)


def report_of(**parts: Any) -> Any:
    """A report of these parts, the others of which are empty."""
    empty: dict[str, Any] = dict.fromkeys(
        ("unlisted_uses", "uses", "stale", "failures", "rows"), ()
    )
    empty |= {"unlisted": (), "known": {}, "scope": Scope(), "findings": (), "verdict": "conforms"}
    return SimpleNamespace(**{**empty, **parts})


#: Of each part: its report, and how it ends.
ENDS: tuple[tuple[str, dict[str, Any], PartResult], ...] = (
    ("calls", {"scope": ASKED}, PartResult("passed")),
    (
        "calls",
        {"scope": ASKED, "unlisted_uses": (SIZE, STATE), "stale": [KIND]},
        PartResult("failed", f"{SIZE}; {STATE}", with_report=True),
    ),
    (  # an id is looked for in the part of the vectors
        "calls",
        {"scope": ASKED, "stale": [CASE, KIND]},
        PartResult("failed", f"1 listed as known but pass: {KIND}"),
    ),
    ("calls", {"scope": ASKED, "stale": [CASE]}, PartResult("passed")),
    ("calls", {}, PartResult("skipped", "no case was answered that could be asked again")),
    (
        "calls",
        {"scope": ASKED, "uses": (SIZE, STATE), "known": REASONS},
        PartResult("known", "2 ways of calling: by design (T-1)"),
    ),
    ("search", {"scope": SEARCHED}, PartResult("passed")),
    ("search", {"scope": SEARCHED, "stale": [CASE]}, PartResult("passed")),
    (
        "search",
        {"scope": SEARCHED, "stale": [CASE, "decode e2m1 signs"]},
        PartResult("failed", "1 listed as known but pass: decode e2m1 signs"),
    ),
    (
        "search",
        {},
        PartResult(
            "skipped", "not searched: no policy that is known explains what the vectors show"
        ),
    ),
)


@pytest.mark.parametrize(("part", "report", "end"), ENDS)
def test_how_a_part_ends(part: str, report: dict[str, Any], end: PartResult) -> None:
    assert part_result(part, report_of(**report)) == end
