"""How many values of integer operations the tests of peers have compared, by implementation.

Tests say so with `compared`; the end of a run of pytest, in one process, prints the sums:

    pytest --peers current --complete tests/peers/test_*integer*.py tests/peers/test_*_peers.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

__all__ = ["COMPARED", "compared", "lines"]

#: (implementation, operation) -> values that were compared and did not differ.
COMPARED: Counter[tuple[str, str]] = Counter()


def compared(peer: str, operation: str, count: int) -> None:
    """Count values that are those of an implementation."""
    COMPARED[peer, operation] += count


def lines() -> Iterator[str]:
    """The sums in words."""
    if COMPARED:
        yield f"integer values compared, 0 differ: {sum(COMPARED.values()):,}"
        for (peer, operation), count in sorted(COMPARED.items()):
            yield f"  {peer:24} {operation:20} {count:>13,}"
