"""The first word that differs, in words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from mxref.cases.records import Case
from mxref.conformance.compare.compare import Failure
from mxref.conformance.compare.failure_text import difference
from mxref.targets.calls import without_cases

TABLE = tomllib.loads((Path(__file__).parent / "data" / "differences.toml").read_text("utf-8"))


@pytest.mark.parametrize("answer", TABLE["answer"])
def test_the_first_word_that_differs(answer: dict[str, Any]) -> None:
    inputs, want, got = (tuple(answer[name]) for name in ("inputs", "want", "got"))
    case = Case("id", inputs, (want,), (), "required", "MX-6.3", "", ())
    file = without_cases(answer["op"], "mxfp4_e2m1", "f32")
    assert difference(file, Failure(0, case, want, got)) == answer["text"]
