"""A check in a process of its own, which hands over its verdict: what is checked may end it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

from mxref.support.interruption import SIGNALS, STEADY, TerminationError, exit_status, told

__all__ = ["in_own_process"]


def in_own_process(check: Callable[[], int]) -> int:
    """The exit status that `check` returns in a copy of this process, which should be small.

    Without one, as after `os._exit` or a crash, a sentence on stderr says how the copy has ended,
    and the status is 1. The copy has the terminal and standard input of this process, gets the
    signals that this process gets, and ends when this process does. This function returns in both
    processes, with the same status.
    """
    if not hasattr(os, "fork"):
        return check()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # or both would write it
    told_by, tells = os.pipe()
    ends_with, lives = os.pipe()  # the end that this process holds is closed when it ends
    child = os.fork()
    if not child:
        os.close(told_by)
        os.close(lives)
        threading.Thread(target=_end_with_parent, args=(ends_with,), daemon=True).start()
        status = check()
        with contextlib.suppress(OSError):  # closed by what was checked
            # Copies that the target made of this process come here, too: by their own number.
            os.write(tells, f"{os.getpid()} {status}\n".encode())
        return status
    os.close(tells)
    os.close(ends_with)
    got, how = _ending(child)
    os.set_blocking(told_by, False)
    with contextlib.suppress(BlockingIOError):  # something that outlives the copy has the pipe
        verdict = re.search(rf"^{child} (\d+)$".encode(), os.read(told_by, 1 << 16), re.MULTILINE)
        if verdict is not None:
            return int(verdict[1])
    if got is not None:
        print(f"mxref: {told(got)}", file=sys.stderr)
        return exit_status(got)
    print(f"mxref: error: no verdict: the process of the check {how}", file=sys.stderr)
    return 1


def _end_with_parent(ends_with: int) -> None:
    """End this process as SIGTERM does when its parent ends."""
    os.read(ends_with, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _ending(child: int) -> tuple[KeyboardInterrupt | None, str]:
    """Wait for a child: the signal that this process got meanwhile, and how the child has ended.

    The child gets these signals, too, and is killed if it goes on until another one comes.
    """
    first: tuple[int, float] | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        nonlocal first
        late = first is not None and time.monotonic() - first[1] > STEADY
        first = first or (number, time.monotonic())
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL if late else number)

    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, forward)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    how = f"ended with exit status {code}, as by os._exit"
    if code < 0:
        with contextlib.suppress(ValueError):  # a signal without a name
            how = f"was ended by {signal.Signals(-code).name}"
    if first is None:
        return None, how
    return KeyboardInterrupt() if first[0] == signal.SIGINT else TerminationError(first[0]), how
