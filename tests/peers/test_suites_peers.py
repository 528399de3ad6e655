"""Other projects' own tests on mxref."""

from __future__ import annotations

import pytest
from peer_suites import run_suite, suites_of


@pytest.mark.parametrize("name", suites_of("current"))
def test_suite(name: str) -> None:
    run_suite(name)
