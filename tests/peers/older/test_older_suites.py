"""Other projects' own tests on mxref, those that need this environment."""

from __future__ import annotations

import pytest
from peer_suites import run_suite, suites_of


@pytest.mark.parametrize("name", suites_of("older"))
def test_suite(name: str) -> None:
    run_suite(name)
