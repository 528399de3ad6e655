"""Every adapter answers as the profile that it claims: level 1, every input where they are few,
and some random blocks; products as their POLICY. `tools/ledger` asks a hundred times as much.
"""

from __future__ import annotations

import peer_adapters as peers
import pytest


@pytest.mark.parametrize("name", [*peers.CURRENT, *peers.ORIGINALS])
@pytest.mark.filterwarnings("ignore")
def test_adapters_equal_their_profiles(name: str) -> None:
    assert peers.unexplained(name) == []


@pytest.mark.parametrize(
    "name", [name for name in peers.CURRENT_PRODUCTS if not name.startswith("mmasim")]
)
@pytest.mark.filterwarnings("ignore")
def test_products_are_those_of_their_policy(name: str) -> None:
    """Without MMA-Sim's, of which test_accumulation_peers.py compares far more outputs."""
    assert peers.unexplained(name) == []
