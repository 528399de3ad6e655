"""Two and three faults by somebody who had not seen what the diagnosis tries.

What is said of each was read beside the sources of its faults by somebody else: of 60 pairs both
were named truly in 38 when they were first asked, of 15 triples all in 6; and in 56 and 12 after
what had no words was mended by its kind. It may not become less.
"""

from __future__ import annotations

import json
import re

import pytest
from strange_told import SETS, TOLD, report_on, words_of

from mxref.cases.records import VectorFile
from mxref.conformance.verdict.one_sentence import verdict_text

#: Vector files that were read, by their stems.
READ: dict[str, VectorFile] = {}
EXPECTED: dict[str, list[str]] = json.loads(TOLD.read_text("utf-8"))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", SETS)
def test_what_is_said_of_strange_faults(name: str) -> None:
    report = report_on(SETS[name], READ)
    assert report.failures
    assert words_of(report) == EXPECTED[name]
    assert not re.search("cause unknown|a rule unknown", verdict_text(report))
