"""What the tests of tools/bench.py share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from benchmark import rows
from benchmark.jobs import OPS, Job, Side
from benchmark.measure import Timing
from benchmark.peers import PEERS, Peer
from benchmark.rows import BenchRow, beside, jobs_of

SHAPE = (4, 1024)
QUICK = ("--quick", "--elements", "4096")


def take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured: mine takes a microsecond, the other three."""

    def in_no_time(mine: Any, theirs: Any, seconds: float, clock: Any) -> Timing:
        mine(), theirs()
        return Timing((1e-6, 1e-6), (3e-6, 3e-6))

    monkeypatch.setattr(rows, "in_turns", in_no_time)
    monkeypatch.setattr(rows, "extra_memory", lambda call: None)


def peer(side: Callable[[Job], Side], **changes: Any) -> Peer:
    known = Peer("other", "other==1.0", "numpy", OPS, side)
    return dataclasses.replace(known, **changes)


def rows_beside(name: str, data: str) -> list[BenchRow]:
    """Rows of everything that a library has."""
    assert PEERS[name].absent == ""
    found = [
        beside(job, PEERS[name], 0)
        for float in PEERS[name].floats
        for job in jobs_of(list(OPS), None, (4, 32, 32), float=float, data=data)
        if PEERS[name].measures(job)
    ]
    assert len(found) >= 2
    return found
