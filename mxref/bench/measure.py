"""Two sides in turns, A B B A ..., so that what the machine does besides slows both; and memory."""

from __future__ import annotations

import ctypes
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mxref.support.collector import no_collection

__all__ = ["Timing", "extra_memory", "in_turns"]

#: A sample takes at least so many seconds: of short calls it is several, of which only the first
#: finds in the cache what the other side left there.
_SAMPLE = 0.01
_LEAST, _MOST = 5, 1000


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds a call of two sides, round by round.

    >>> timing = Timing((1.0, 2.0, 1.0), (3.0, 4.0, 5.0))
    >>> timing.ratio, timing.lowest, timing.of_minima
    (3.0, 2.0, 3.0)
    """

    mine: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """How many times as fast my side was, in each round."""
        return tuple(b / a for a, b in zip(self.mine, self.theirs, strict=True))

    @property
    def ratio(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)

    @property
    def lowest(self) -> float:
        """The ratio of the worst round."""
        return min(self.ratios)

    @property
    def of_minima(self) -> float:
        """The ratio of the quickest calls, of whatever rounds they are."""
        return min(self.theirs) / min(self.mine)


def in_turns(
    mine: Callable[[], object],
    theirs: Callable[[], object],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Call two functions in turns until the time is over, five times at least.

    Both are called once before: tables are built, and code is compiled, only once.

    Args:
        mine: one of them.
        theirs: the other.
        seconds: for all rounds together, on the clock.
        clock: what tells the time in seconds: `time.process_time` counts every thread of the
            process, and not what other processes do; `time.perf_counter` is what a person waits.
    """
    sides = (mine, theirs)
    for call in sides:
        call()
    with no_collection():
        many = [_calls_of_a_sample(call, clock) for call in sides]
        rounds: list[tuple[float, float]] = []
        begin = clock()
        while len(rounds) < _LEAST or (clock() - begin < seconds and len(rounds) < _MOST):
            found = [0.0, 0.0]
            for i in (0, 1) if len(rounds) % 2 == 0 else (1, 0):
                found[i] = _sample(sides[i], many[i], clock)
            rounds.append((found[0], found[1]))
    one, other = zip(*rounds, strict=True)
    return Timing(one, other)


def _sample(call: Callable[[], object], many: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(many):
        call()
    # A clock of coarse steps may say that no time has passed.
    return max(clock() - start, 1e-9) / many


def _calls_of_a_sample(call: Callable[[], object], clock: Callable[[], float]) -> int:
    return max(1, math.ceil(_SAMPLE / _sample(call, 1, clock)))


def extra_memory(call: Callable[[], Any]) -> int | None:
    """Bytes that a call needs at its peak, beyond what is there before it and what it returns.

    It is the resident memory of the process, which every library's allocations are part of, so that
    small ones are lost in whole pages.

    Returns:
        None where the system cannot tell: it takes Linux and glibc.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what is free already would not be counted
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the peak is what there is now
        before = _status("VmRSS")
        result = call()
        peak = _status("VmHWM")
    except (OSError, AttributeError):
        return None
    return max(0, peak - before - _held(result))


def _status(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field))


def _held(result: Any) -> int:
    """Bytes of a result: of arrays, and of what holds them."""
    if isinstance(result, dict):
        return sum(map(_held, result.values()))
    if isinstance(result, (tuple, list)):
        return sum(map(_held, result))
    if hasattr(result, "scale_codes"):
        return int(result.codes.nbytes + result.scale_codes.nbytes)
    return int(getattr(result, "nbytes", 0))
