"""Signals that end a command: each unwinds it, so that it cleans up, as Ctrl-C does."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = [
    "SIGNALS",
    "STEADY",
    "TerminationError",
    "end_text",
    "exit_status",
    "held_signals",
    "is_interruption",
    "unwinding_signals",
]

#: The signals that end a command, as far as the system has them.
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
#: Seconds after a signal in which no other one disturbs the cleaning up.
STEADY = 1.0
#: Seconds until a signal that Python has dropped comes again.
_SOON = 0.02


#: Whether the handlers of `unwinding_signals` are set, and whether one has been called.
_unwinding = _came = False
#: Signals that wait for the end of a block; None outside of such blocks.
_waiting: list[int] | None = None


class TerminationError(KeyboardInterrupt):
    """SIGTERM or SIGHUP ended the command; no fault of the program, like every KeyboardInterrupt.

    Args:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def unwinding_signals(*, last: bool = False) -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt, and SIGTERM and SIGHUP `TerminationError`.

    For `STEADY` seconds after a signal further ones are ignored, so that the command can clean up.
    Outside the main thread nothing changes. Handlers that were already set stay, such as those of
    signals that are ignored.

    Args:
        last: whether the process ends after the block. Then the handlers stay after a signal, and
            without one SIGINT from then on ends the process silently, as SIGTERM does.
    """
    global _unwinding
    got, own = float("-inf"), os.getpid()
    ended: KeyboardInterrupt | None = None

    def unwind(number: int, frame: FrameType | None) -> None:
        global _came
        nonlocal got, ended
        if os.getpid() != own:  # a copy, such as a target's worker, ends by the signal itself
            signal.signal(number, old[number])
            os.kill(os.getpid(), number)
            return
        if _waiting is not None:
            _waiting.append(number)
            return
        if _runs(again, frame):  # an exception raised there would be dropped again
            _send_soon(number)
            return
        now = time.monotonic()
        if now - got < STEADY:  # cleaning up is not to be disturbed
            return
        got = now
        _came = True
        ended = KeyboardInterrupt() if number == signal.SIGINT else TerminationError(number)
        raise ended

    def again(lost: sys.UnraisableHookArgs) -> None:
        nonlocal got
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            before(lost)
            return
        got = float("-inf")  # Python dropped it, as in a destructor: it is sent again
        _send_soon(exit_status(lost.exc_value) - 128)

    numbers = SIGNALS if threading.current_thread() is threading.main_thread() else []
    usual = (signal.SIG_DFL, signal.default_int_handler)
    old = {one: signal.getsignal(one) for one in numbers if signal.getsignal(one) in usual}
    for one in old:
        signal.signal(one, unwind)
    before, sys.unraisablehook = sys.unraisablehook, again
    outer, _unwinding = _unwinding, bool(old)
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException:
        if ended is None:
            raise
        raise ended from None  # NumPy, while imported, replaces it by another error
    finally:
        sys.unraisablehook, _unwinding = before, outer
        if not last or got < 0:
            for one, handler in old.items():
                signal.signal(one, signal.SIG_DFL if last else handler)


def _runs(function: Callable[..., None], frame: FrameType | None) -> bool:
    """Whether a frame, or one of its callers, is a call of the function."""
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return frame is not None


def _send_soon(number: int) -> None:
    """Send a signal to this process, from another thread."""
    threading.Timer(_SOON, os.kill, (os.getpid(), number)).start()


@contextlib.contextmanager
def held_signals() -> Iterator[None]:
    """Let the signals of `unwinding_signals` wait for the end of a block.

    For imports: extensions in C print a traceback of an exception that ends them.
    """
    global _waiting
    _waiting = []
    try:
        yield
    finally:
        came, _waiting = _waiting, None
        if came:
            os.kill(os.getpid(), came[0])


def is_interruption(error: BaseException) -> bool:
    """Whether a KeyboardInterrupt stands for a signal, and was not made up by foreign code.

    Where `unwinding_signals` has not set its handlers, every one does.

    >>> is_interruption(KeyboardInterrupt()), is_interruption(ValueError())
    (True, False)
    """
    return isinstance(error, KeyboardInterrupt) and (_came or not _unwinding)


def end_text(error: KeyboardInterrupt) -> str:
    """What has ended a command, in words.

    >>> end_text(KeyboardInterrupt()), end_text(TerminationError(signal.SIGTERM))
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
