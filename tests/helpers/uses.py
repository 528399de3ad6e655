"""Checks of calls that take no time, and what their reports say changes answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from mxref.conformance.checking import target_speed
from mxref.conformance.verdict.call_dependence import CallDependence


@pytest.fixture(autouse=True)
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every target takes no time, so that what is asked does not depend on the machine."""
    monkeypatch.setattr(target_speed, "time", SimpleNamespace(perf_counter=lambda: 0.0))


def assert_use(uses: Sequence[CallDependence], kind: str, text: str) -> CallDependence:
    """There is one, of a kind; so its text begins, where `...` stands for any words."""
    (use,) = uses
    assert use.kind == kind, use
    assert re.match(re.escape(text).replace(r"\.\.\.", ".*"), use.text), use.text
    return use
