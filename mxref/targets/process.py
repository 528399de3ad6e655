"""A running program: text in, lines out, with limits of time and memory, killed afterwards.

One loop waits for all three pipes at once, so that none can block another. The program has a
session of its own, and its whole process group is killed with it. A grandchild that leaves the
group (a daemon) is not found.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from mxref.support.text import one_line
from mxref.targets.line_protocol import LONGEST
from mxref.targets.target import TargetError

__all__ = ["RunningProgram", "SilenceError"]

_CHUNK = 1 << 16
#: Seconds between two checks whether the program has ended, while its pipes are silent.
_LOOK = 0.05


class SilenceError(Exception):
    """The time for an answer passed without one."""


class RunningProgram:
    """A running program.

    Args:
        command: the program and its arguments.
        timeout: seconds that may pass without progress: an answer, or accepted input.

    Raises:
        TargetError: it cannot be started.
    """

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        if os.name != "posix":
            raise TargetError("a command can be run on POSIX systems only: use --results instead")
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except (OSError, ValueError) as error:
            text = getattr(error, "strerror", None) or error
            raise TargetError(f"command {command[0]!r} cannot be run: {text}") from None
        self._process = process
        self._selector = selectors.DefaultSelector()
        #: Kills the program: on a call, when nobody refers to this object any more (so its
        #: arguments must not), or when Python ends.
        self.stop = weakref.finalize(self, _stop, process, self._selector)
        self._input, self._output, self._errors = (
            stream.fileno() for stream in (process.stdin, process.stdout, process.stderr) if stream
        )
        for number in (self._input, self._output, self._errors):
            os.set_blocking(number, False)
        self._selector.register(self._output, selectors.EVENT_READ)
        self._selector.register(self._errors, selectors.EVENT_READ)
        self._text: Iterator[bytes] = iter(())
        self._chunk = memoryview(b"")
        self._close_input = False
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._last_errors = b""
        self._ended = False  # whether the output has ended
        self._timeout = timeout
        self.progress()

    def send(self, lines: Iterator[bytes], *, last: bool) -> None:
        """Set the lines to write while `line` waits; with `last` the input is closed after them."""
        unfinished = self._input in self._selector.get_map()
        self._text = iter([*self._text, *lines]) if unfinished else lines
        self._close_input = last
        self.progress()
        if not unfinished:
            self._selector.register(self._input, selectors.EVENT_WRITE)

    def progress(self) -> None:
        """Restart the time for an answer."""
        self._progress = time.monotonic()
        self._over = False  # whether the time for an answer has run out

    def line(self) -> bytes | None:
        """The next line of output, with its end; None where there will be none.

        A line that is too long comes without its end, and none after it.

        Raises:
            SilenceError: no progress for too long.
        """
        while not self._lines:
            if self._ended:
                return None
            left = self._left()
            events = self._selector.select(min(left, _LOOK))
            for key, _ in events:
                self._serve(key.fd)
            if not events and self._process.poll() is not None:
                self._end_output()  # a grandchild may still hold the pipe open
        return self._lines.popleft()

    def ending(self) -> str:
        """Wait until the program has ended, and say how; empty if it ended with success.

        Raises:
            SilenceError: it goes on for too long.
        """
        while True:
            try:
                status = self._process.wait(min(self._left(), _LOOK))
                break
            except subprocess.TimeoutExpired:
                self._drain()  # else it might wait until its errors are read
        if status < 0:
            return f"was ended by {_signal_name(-status)}"
        return f"ended with exit status {status}" if status else ""

    def finish(self, seconds: float) -> None:
        """Close its input, give it some seconds to end by itself, then kill it."""
        if self._process.stdin is not None:
            if self._input in self._selector.get_map():
                self._selector.unregister(self._input)
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.stop()

    def cut_off(self) -> bytes:
        """The output after the last whole line."""
        return self._rest

    def last_errors(self) -> str:
        """The last line that it wrote to its standard error, if any, as a clause."""
        self._drain()
        lines = self._last_errors.decode("ascii", "backslashreplace").strip().splitlines()
        return f"; the last line of its stderr: {one_line(lines[-1])}" if lines else ""

    def _left(self) -> float:
        """Seconds left; once they are over 0 once, for output that came in the meantime."""
        left = self._progress + self._timeout - time.monotonic()
        if left > 0:
            return left
        if self._over:
            raise SilenceError
        self._over = True
        return 0.0

    def _serve(self, number: int) -> None:
        """Read from or write to a pipe that is ready."""
        if number == self._input:
            self._write()
        elif number == self._output:
            self._read()
        else:
            self._read_errors()

    def _write(self) -> None:
        if not self._chunk:
            self._chunk = memoryview(b"".join(islice(self._text, 256)))
        try:
            written = os.write(self._input, self._chunk[:_CHUNK]) if self._chunk else 0
        except BlockingIOError:
            return
        except BrokenPipeError:  # it reads no more; its answers will show why
            self._text, self._chunk = iter(()), memoryview(b"")
        else:
            self._chunk = self._chunk[written:]
            if written:
                self.progress()
                return
        self._selector.unregister(self._input)
        if self._close_input and self._process.stdin is not None:
            self._process.stdin.close()

    def _read(self) -> None:
        data = _available(self._output)
        *lines, self._rest = (self._rest + (data or b"")).split(b"\n")
        self._lines.extend(line + b"\n" for line in lines)
        if len(self._rest) > LONGEST + 1:
            self._lines.append(self._rest)
            self._end_output()
        elif data == b"":
            self._end_output()

    def _end_output(self) -> None:
        """Stop reading: the output has ended or is unusable."""
        self._ended = True
        self._selector.unregister(self._output)

    def _read_errors(self) -> None:
        data = _available(self._errors)
        self._last_errors = (self._last_errors + (data or b""))[-4096:]
        if data == b"":
            self._selector.unregister(self._errors)

    def _drain(self) -> None:
        """Read the bytes that the pipe of errors holds."""
        if self._errors in self._selector.get_map():
            for key, _ in self._selector.select(0):
                if key.fd == self._errors:
                    self._read_errors()


def _available(number: int) -> bytes | None:
    """The bytes that a pipe holds: empty at its end, None if it holds none yet."""
    try:
        return os.read(number, _CHUNK)
    except BlockingIOError:
        return None


def _stop(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)  # members of the group may outlive it
    process.wait()
    selector.close()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
