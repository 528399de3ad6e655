"""Signals that end a command: each unwinds it, so that it cleans up, as Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

__all__ = ["SIGNALS", "STEADY", "TerminationError", "exit_status", "told", "unwinding_signals"]

#: The signals that end a command, as far as the system has them.
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
#: Seconds after a signal in which no other one disturbs the cleaning up.
STEADY = 1.0


class TerminationError(KeyboardInterrupt):
    """SIGTERM or SIGHUP; like every KeyboardInterrupt it is nobody's fault.

    Args:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def unwinding_signals() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, and SIGTERM and SIGHUP `TerminationError`, once a second.

    For command lines: outside the main thread nothing changes, and handlers already set stay, such
    as those of signals that are ignored.
    """
    last = float("-inf")

    def unwind(number: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < STEADY:  # cleaning up is not to be disturbed
            return
        last = now
        raise KeyboardInterrupt if number == signal.SIGINT else TerminationError(number)

    numbers = SIGNALS if threading.current_thread() is threading.main_thread() else []
    usual = (signal.SIG_DFL, signal.default_int_handler)
    old = {one: signal.getsignal(one) for one in numbers if signal.getsignal(one) in usual}
    for one in old:
        signal.signal(one, unwind)
    try:
        yield
    finally:
        for one, handler in old.items():
            signal.signal(one, handler)


def told(error: KeyboardInterrupt) -> str:
    """What has ended a command, in words.

    >>> told(KeyboardInterrupt()), told(TerminationError(signal.SIGTERM))
    ('interrupted', 'ended by SIGTERM')
    """
    if isinstance(error, TerminationError):
        return f"ended by {signal.Signals(error.number).name}"
    return "interrupted"


def exit_status(error: KeyboardInterrupt) -> int:
    """The exit status of a command that a signal has ended, as shells give it.

    >>> exit_status(KeyboardInterrupt()), exit_status(TerminationError(signal.SIGTERM))
    (130, 143)
    """
    return 128 + (error.number if isinstance(error, TerminationError) else signal.SIGINT)
