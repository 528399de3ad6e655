"""A time limit on calls of foreign code, kept by the process that waits for the check.

The process of a check notes on a board, in memory that both share, until when a call has to end.
The waiting process looks at it (`mxref.support.own_process`): it can end a check that has stopped
itself, or that never returns from C code.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

__all__ = ["Board", "limited", "set_limit", "share"]

#: Seconds that a call may take at least, and how many times as long as the longest one before.
LEAST, TIMES = 300.0, 100.0
#: Seconds between two looks at the board, and after which the waiting process itself was stopped.
LOOK, STOPPED = 0.5, 5.0
_HEAD = struct.Struct("<dd")  # when the call has to end, 0 for none; how long it may take
_SIZE = 1024


class Board:
    """What the process of a check is calling, and until when; shared with the one that waits."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _SIZE)
        self._owner = os.getpid()
        #: Of each thread that is in foreign code: what it is in, and when that began.
        self._calls: dict[int, tuple[str, float]] = {}
        self.limit: float | None = None
        self._longest = 0.0

    def own(self) -> None:
        """Let this process write to it, and note in time where a call hangs."""
        self._owner = os.getpid()
        threading.Thread(target=self._note_places, daemon=True).start()

    def is_own(self) -> bool:
        """Whether it is this process that writes; a copy of it, such as a worker, does not."""
        return os.getpid() == self._owner

    def begin(self, what: str) -> None:
        """Note that this thread goes into foreign code."""
        self._calls[threading.get_ident()] = what, time.monotonic()
        self._note()

    def end(self) -> None:
        """Note that it came back."""
        _, began = self._calls.pop(threading.get_ident())
        self._longest = max(self._longest, time.monotonic() - began)
        self._note()

    def is_in(self) -> bool:
        """Whether this thread is in foreign code already."""
        return threading.get_ident() in self._calls

    def hung(self, waited: float) -> str:
        """What has not ended in time, in words; empty if nothing has.

        Args:
            waited: seconds since the last look, by which the end is put off if they are many: then
                the waiting process was stopped itself, as by Ctrl-Z.
        """
        end, limit = _HEAD.unpack_from(self._memory)
        if not end:
            return ""
        if waited > STOPPED:
            _HEAD.pack_into(self._memory, 0, end + waited, limit)
            return ""
        if time.monotonic() < end + 2 * LOOK:
            return ""
        text = self._memory[_HEAD.size :].rstrip(b"\0").decode(errors="replace")
        return f"{text} within {limit:g} s"

    def _note(self, place: str = "") -> None:
        """Write down the call that began first."""
        calls = [*self._calls.values()]
        what, began = min(calls, key=lambda call: call[1], default=("", 0.0))
        limit = max(LEAST, TIMES * self._longest) if self.limit is None else self.limit
        text = f"{what} did not end{place}".encode()[: _SIZE - _HEAD.size]
        self._memory[_HEAD.size :] = text.ljust(_SIZE - _HEAD.size, b"\0")
        _HEAD.pack_into(self._memory, 0, began + limit if began else 0.0, limit)

    def _note_places(self) -> None:
        """While a call is late, note the line where it is."""
        while True:
            time.sleep(LOOK)
            end, _ = _HEAD.unpack_from(self._memory)
            late = end and time.monotonic() > end
            if late and (calls := [*self._calls.items()]):
                thread, _ = min(calls, key=lambda one: one[1][1])
                frame = sys._current_frames().get(thread)
                while frame and _module(frame).startswith("mxref.support."):  # such as `print`
                    frame = frame.f_back
                if frame and not _module(frame).startswith("mxref."):
                    name = os.path.basename(frame.f_code.co_filename)
                    self._note(f" ({name}:{frame.f_lineno})")


def _module(frame: FrameType) -> str:
    """The name of the module of a frame."""
    return str(frame.f_globals.get("__name__", ""))


#: That of this process, if another one waits for it.
_board: Board | None = None


def share() -> Board:
    """The board of this process, which a copy of it may `own`."""
    global _board
    _board = Board()
    return _board


def set_limit(seconds: float | None) -> None:
    """Limit each call of foreign code; None is `LEAST`, or `TIMES` the longest call, if longer.

    Raises:
        ValueError: no number of seconds above 0, or no process that would keep the limit.
    """
    if seconds is None:
        return
    if not 0 < seconds < float("inf"):
        raise ValueError(f"--timeout must be a number of seconds above 0, got {seconds}")
    if _board is None:
        raise ValueError("--timeout must be given without --in-process, where nothing can keep it")
    _board.limit = seconds


@contextlib.contextmanager
def limited(what: str) -> Iterator[None]:
    """Limit the time that foreign code takes in a block; its subject is `what`, such as `encode`.

    Nothing happens where no other process waits for this one. Blocks inside count as the outer one.
    """
    board = _board
    if board is None or not board.is_own() or board.is_in():
        yield
        return
    board.begin(what)
    try:
        yield
    finally:
        board.end()
