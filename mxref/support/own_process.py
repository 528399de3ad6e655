"""A check in a process of its own, which hands over its verdict: the checked code may end it."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from mxref.support.interruption import SIGNALS, STEADY, TerminationError, end_text, exit_status
from mxref.support.time_limit import LOOK, Board, share

__all__ = ["copies_end", "in_own_process"]

#: Seconds that the process of a check has to end, after its verdict or a signal.
GRACE = 10.0
#: Seconds in which it can end the programs that it waits for, once foreign code hangs.
UNWINDING = 2.0
#: Where file descriptors of its own begin, out of the way of those that a target opens or closes.
_OWN = 256


@contextlib.contextmanager
def copies_end() -> Iterator[None]:
    """End every copy of this process made by `os.fork` in the block, when it leaves the block.

    So a target that forks gives one report, not two.
    """
    own = os.getpid()
    status = 1
    try:
        yield
        status = 0
    finally:
        if os.getpid() != own:
            os._exit(status)


def in_own_process(check: Callable[[], int]) -> int:
    """The exit status that `check` returns, run in a copy of this process.

    If the copy ends without a status, as after `os._exit` or a crash, or since foreign code hangs
    (`mxref.support.time_limit`), the status is 1, and a sentence on stderr says why. The copy
    shares the terminal and standard input, gets the signals that this process gets, and ends when
    this process does. It is killed if it still runs `GRACE` seconds after its verdict or after a
    signal, as threads may. In the copy only `sys.stdout` writes to standard output; file descriptor
    1, which C code writes to, leads to stderr. The call returns in both processes, with the same
    status. This process should be small, as it is copied.
    """
    if not hasattr(os, "fork"):
        return check()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()  # else both processes would write it
    board = share()
    told_by, tells = os.pipe()
    ends_with, lives = os.pipe()  # this process's end is closed when it ends
    child = os.fork()
    if not child:
        os.close(told_by)
        os.close(lives)
        os.read(ends_with, 1)  # waits until the parent forwards signals
        threading.Thread(target=_end_with_parent, args=(ends_with,), daemon=True).start()
        board.own()
        tells = _kept(tells)
        _keep_output()
        status = check()
        with contextlib.suppress(OSError):  # the checked code closed it
            os.write(tells, f"{os.getpid()} {status}\n".encode())
        return status
    os.close(tells)
    os.close(ends_with)
    verdict, got, how = _ending(child, told_by, lives, board)
    if verdict is not None:
        return verdict
    if got is not None:
        print(f"mxref: {end_text(got)}", file=sys.stderr)
        return exit_status(got)
    print(f"mxref: error: no verdict: the process of the check {how}", file=sys.stderr)
    return 1


def _kept(number: int) -> int:
    """A copy of a file descriptor, with a high number where the system has such."""
    with contextlib.suppress(OSError, ValueError):
        fcntl = importlib.import_module("fcntl")  # POSIX has it, as `os.fork`
        return int(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _OWN))
    return os.dup(number)


def _keep_output() -> None:
    """Let `sys.stdout` write to a copy of its file descriptor; descriptor 1 leads to stderr."""
    old = sys.stdout
    if old is None:  # closed by the caller
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        number = old.fileno()
        buffering = 1 if old.line_buffering else -1
        sys.stdout = open(  # noqa: SIM115 - until the process ends
            _kept(number), "w", buffering, old.encoding, old.errors, closefd=False
        )
        os.dup2(2, number)


def _end_with_parent(ends_with: int) -> None:
    """End this process by SIGTERM when its parent ends, and by SIGKILL if it still runs later."""
    os.read(ends_with, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os.kill(os.getpid(), signal.SIGKILL)


def _ending(
    child: int, told_by: int, lives: int, board: Board
) -> tuple[int | None, KeyboardInterrupt | None, str]:
    """Wait for a child: its verdict, the signal that this process got, and how the child ended.

    Signals are forwarded to the child. It is killed if it still runs `GRACE` seconds after the
    first signal or its verdict, or if another signal comes more than `STEADY` seconds after the
    first. If foreign code does not return in the time that the board says, it gets SIGTERM, so that
    it ends the programs that it waits for, and is killed `UNWINDING` seconds later.
    """
    first: tuple[int, float] | None = None

    def forward(number: int, frame: FrameType | None) -> None:
        nonlocal first
        late = first is not None and time.monotonic() - first[1] > STEADY
        first = first or (number, time.monotonic())
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL if late else number)

    awake, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # it only wakes `select`
    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, forward)
    with contextlib.suppress(OSError):  # it has ended
        os.write(lives, b".")
    sources, heard = [awake, told_by], b""
    verdict: int | None = None
    end, killed, done, hung, looked = 0.0, False, 0, "", time.monotonic()
    while not done:
        done, status = os.waitpid(child, os.WNOHANG)
        rest = max(end - time.monotonic(), 0) if end and not killed else LOOK
        ready = select.select(sources, [], [], 0 if done else rest)[0]
        if awake in ready:
            os.read(awake, 1 << 16)
        if told_by in ready:
            new = os.read(told_by, 1 << 16)
            heard = (heard + new)[-(1 << 16) :]
            # Copies that the target made write here, too, but with their own process number.
            said = re.search(rf"^{child} (\d+)$".encode(), heard, re.MULTILINE)
            verdict = verdict if said is None else int(said[1])
            if not new:  # the child and all its children have closed it
                sources.remove(told_by)
        if not end and (first is not None or verdict is not None):
            end = time.monotonic() + GRACE
        if end and not killed and not done and time.monotonic() > end:
            if not hung:
                print(f"mxref: the check did not end within {GRACE:g} s: killed", file=sys.stderr)
            os.kill(child, signal.SIGKILL)
            killed = True
        now = time.monotonic()
        if not end and not done and (hung := board.hung(now - looked)):
            os.kill(child, signal.SIGTERM)
            end = now + UNWINDING
        looked = now
    if hung:
        return None, None, f"was killed: {hung}; --timeout SECONDS gives it longer"
    how = _in_words(os.waitstatus_to_exitcode(status))
    if first is None:
        return verdict, None, how
    got = KeyboardInterrupt() if first[0] == signal.SIGINT else TerminationError(first[0])
    return verdict, got, how


def _in_words(code: int) -> str:
    """How a process has ended without a verdict, by its exit status, negative for a signal."""
    if code >= 0:
        return f"ended with exit status {code}, as by os._exit"
    names = {one.value: one.name for one in signal.Signals}  # some signals have none
    return f"was ended by {names.get(-code, f'signal {-code}')}"
