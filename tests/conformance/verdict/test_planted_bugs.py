"""Planted bugs are found; the cases that fail are worked out by hand from the standard."""

from __future__ import annotations

import re

import pytest
from planted_bugs import BUGS
from verify_helpers import RIGHT, UNEXPLAINED, Kit, assert_described, read, rule_titles

from mxref.conformance import load_target, verify

OPEN = "the standard leaves these bits open"
#: What a verdict says instead of that where scales are wrong, alone or with other bits.
STANDING = {
    "scale one too large just below a power of two": (
        "the standard recommends other scales but requires none (MX 6.3)"
    ),
    "scales of twice the size": (
        "the standard recommends other scales but requires none (MX 6.3), and leaves the other "
        "bits open"
    ),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(kit: Kit, name: str) -> None:
    bug, case = BUGS[name], BUGS[name].case
    spec = kit.target(RIGHT + bug.body)
    folder = kit.vectors(bug.stem)
    report = verify(load_target(spec), read(folder))
    error = isinstance(case.got, str)
    wanted = case.verdict or ("fails with errors" if error else f"violates {case.rule}")
    assert report.verdict == wanted
    assert not report.passed
    failures = {failure.case.id: failure for _, failure in report.failures}
    assert len(failures) == len(report.failures)
    failure = failures[case.id]
    assert failure.want[case.word] == case.want
    assert failure.case.rule == case.rule
    if isinstance(case.got, str):
        assert failure.got is None
        assert re.fullmatch(case.got, failure.error)
    else:
        assert failure.got is not None
        assert failure.got[case.word] == case.got
        assert failure.got[: case.word] == failure.want[: case.word]
    run = kit.run(spec, "--vectors", folder, "--show", 1000)
    assert_described(run, failures, rule_titles(folder, bug.stem))
    count = len(report.failures)
    text = wanted
    if wanted == "unexplained":
        text = UNEXPLAINED.replace(OPEN, STANDING.get(name, OPEN))
    verdict = f"FAIL {spec}: {report.compared} cases, {count} failed: {text}"
    standings = (
        r"( \(\w+=dropped: (contradicts|silent) for [^)]*\))*"
        r"(; it passes with POLICY = .* --policy)?$"
    )
    assert re.sub(standings, "", run.last_line) == verdict
