"""How the parts of a check end, by the reports of each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tables import rows

from mxref.conformance.checking.check_parts import PartResult, part_result
from mxref.conformance.verdict.call_dependence import CallDependence, Scope

USES = {
    "size": CallDependence("decode", "e2m1", "size", "wrong only in calls with 33 codes"),
    "state": CallDependence("decode", "e2m1", "state", "not reproducible"),
}
SCOPES = {"asked": Scope(calls=9), "searched": Scope(searched=1000, seed=7), "": Scope()}


@pytest.mark.parametrize(
    ("part", "scope", "found", "listed", "stale", "word", "text"),
    rows("conformance/checking", "ends"),
)
def test_how_a_part_ends(
    part: str, scope: str, found: str, listed: str, stale: str, word: str, text: str
) -> None:
    report: Any = SimpleNamespace(
        unlisted_uses=[USES[one] for one in found.split()],
        uses=[USES[one] for one in listed.split()],
        stale=stale.split(", ") if stale else [],
        known={use.key: "by design (T-1)" for use in USES.values()} if listed else {},
        scope=SCOPES[scope],
        **{"failures": (), "rows": (), "unlisted": (), "findings": (), "verdict": "conforms"},
    )
    assert part_result(part, report) == PartResult(word, text, with_report=found != "")
