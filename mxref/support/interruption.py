"""Signals that end a command: each unwinds it, so that it cleans up, as Ctrl-C does."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["TerminationError", "exit_status", "told", "unwinding_signals"]


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
    """Let SIGTERM and SIGHUP raise `TerminationError`, as SIGINT raises KeyboardInterrupt.

    For command lines: outside the main thread nothing changes, and handlers already set stay.
    """

    def unwind(number: int, frame: FrameType | None) -> None:
        for one in old:
            signal.signal(one, signal.SIG_IGN)  # cleaning up is not to be disturbed
        raise TerminationError(number)

    numbers = [signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    old = [number for number in set(numbers) if signal.getsignal(number) is signal.SIG_DFL]
    for number in old:
        signal.signal(number, unwind)
    try:
        yield
    finally:
        for number in old:
            signal.signal(number, signal.SIG_DFL)


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
