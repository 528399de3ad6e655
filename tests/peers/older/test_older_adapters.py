"""Adapters of MLX 0.31, torchmx, torchao 0.6.1 and TOSA, as tests/peers asks all others."""

from __future__ import annotations

import peer_adapters as peers
import pytest

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
