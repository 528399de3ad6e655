"""Timing of two calls in turns, A B B A ..., so that other load slows both; and peak memory."""

from __future__ import annotations

import ctypes
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mxref.support.collector import no_collection

__all__ = ["Timing", "extra_memory", "in_turns", "peak", "resident"]

#: Seconds that a sample takes at least. A sample of a short call is several calls, of which only
#: the first runs with the other side's data in the cache.
_SAMPLE = 0.01
_LEAST, _MOST = 5, 1000


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call of both sides in each round.

    >>> timing = Timing((1.0, 2.0, 1.0), (3.0, 4.0, 5.0))
    >>> timing.ratio, timing.lowest, timing.of_minima
    (3.0, 2.0, 3.0)
    """

    mine: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        """How many times as fast `mine` was in each round."""
        return tuple(b / a for a, b in zip(self.mine, self.theirs, strict=True))

    @property
    def ratio(self) -> float:
        """The median of the ratios of all rounds."""
        return statistics.median(self.ratios)

    @property
    def lowest(self) -> float:
        """The ratio of the worst round."""
        return min(self.ratios)

    @property
    def of_minima(self) -> float:
        """The ratio of the quickest calls of each side, from any rounds."""
        return min(self.theirs) / min(self.mine)


def in_turns(
    mine: Callable[[], object],
    theirs: Callable[[], object],
    seconds: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Timing:
    """Time two functions in turns until the time is over, for at least five rounds.

    Both are called once before the first round, so that tables are built and code is compiled.

    Args:
        mine: the first function.
        theirs: the second function.
        seconds: time for all rounds together, by the clock.
        clock: the clock, in seconds: `time.process_time` counts all threads of this process and no
            other process; `time.perf_counter` is elapsed time.
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
    # A coarse clock may say that no time has passed.
    return max(clock() - start, 1e-9) / many


def _calls_of_a_sample(call: Callable[[], object], clock: Callable[[], float]) -> int:
    return max(1, math.ceil(_SAMPLE / _sample(call, 1, clock)))


def resident() -> int:
    """Bytes of this process in memory, of all its libraries; `peak` counts from here on."""
    ctypes.CDLL(None).malloc_trim(0)  # memory that is free but resident would not be counted
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # resets the peak to the memory in use now
    return _status("VmRSS")


def peak() -> int:
    """Most bytes of this process in memory since the last call of `resident`."""
    return _status("VmHWM")


def _status(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field))


def extra_memory(
    call: Callable[[], Any],
    used: Callable[[], int] = resident,
    most: Callable[[], int] = peak,
) -> int | None:
    """Peak memory of a call in bytes, without memory in use before it and without its result.

    Args:
        call: what is called.
        used: bytes in use before the call.
        most: the most bytes in use since then.

    Returns:
        None on systems other than Linux with glibc.
    """
    try:
        before = used()
        result = call()
        return max(0, most() - before - _held(result))
    except (OSError, AttributeError):
        return None


def _held(result: Any) -> int:
    """Bytes of the arrays of a result, in containers, too."""
    if isinstance(result, dict):
        return sum(map(_held, result.values()))
    if isinstance(result, (tuple, list)):
        return sum(map(_held, result))
    if hasattr(result, "scale_codes"):
        return int(result.codes.nbytes + result.scale_codes.nbytes)
    return int(getattr(result, "nbytes", 0))
