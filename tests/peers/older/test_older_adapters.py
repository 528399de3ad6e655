"""Adapters of MLX 0.31, torchmx, torchao 0.6.1 and TOSA, as tests/peers asks all others.

And the pages of docs/reports and the suites of other projects that need this environment.
"""

from __future__ import annotations

from pathlib import Path

import peer_adapters as peers
import pytest
from peer_suites import run_suite, suites_of
from report_pages import pages_of, reproduce

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", peers.OLDER)
def test_one_file(name: str) -> None:
    assert peers.asked(peers.failed, name) == peers.FILES[name][1]


@pytest.mark.parametrize("name", [*peers.OLDER, *peers.OLDER_PRODUCTS])
def test_adapters_equal_their_profiles_or_policies(name: str) -> None:
    assert peers.unexplained(name) == []


@pytest.mark.parametrize("name", peers.OLDER_INTEGERS)
def test_integer_operations(name: str) -> None:
    report = peers.asked(peers.integer_report, name)
    assert report.verdict.startswith(peers.OLDER_INTEGERS[name])
    assert report.passed
    assert report.failures == []


@pytest.mark.parametrize("page", pages_of("older"), ids=lambda page: page.stem)
def test_a_report_reproduces(page: Path, tmp_path: Path) -> None:
    reproduce(page, tmp_path)


@pytest.mark.parametrize("name", suites_of("older"))
def test_suite(name: str) -> None:
    run_suite(name)
