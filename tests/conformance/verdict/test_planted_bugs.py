"""Planted bugs are found; the cases that fail are worked out by hand from the standard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from planted_bugs import BUGS
from verify_helpers import RIGHT, Vectors, read, target_file

from mxref.conformance import load_target, verify


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found(name: str, tmp_path: Path, vectors: Vectors) -> None:
    bug, case = BUGS[name], BUGS[name].case
    report = verify(load_target(target_file(tmp_path, RIGHT + bug.body)), read(vectors(bug.stem)))
    is_error = isinstance(case.got, str)
    wanted = "fails with errors" if is_error else f"violates {case.rule}"
    assert (report.verdict, report.passed) == (case.verdict or wanted, False)
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
