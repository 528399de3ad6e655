"""Calls of `os._exit` by a target that shares its process with a test runner."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import NoReturn

__all__ = ["exits_raised", "keep_status"]


@contextlib.contextmanager
def exits_raised() -> Iterator[None]:
    """Makes a fault of `os._exit`, where a target must not end the process that asks it.

    Copies of this process can still be ended, and it by another thread, as by that of a time limit:
    with the status 1 instead of 0, which nobody has given yet.
    """
    own, native = (os.getpid(), threading.get_ident()), os._exit

    def raised(status: int) -> NoReturn:
        if os._exit is not raised:  # kept by the target until it is no longer asked
            os._exit(status)
        if os.getpid() != own[0]:
            native(status)
        if threading.get_ident() != own[1]:
            native(status or 1)
        raise SystemExit(f"os._exit({status})")

    os._exit = raised
    try:
        yield
    finally:
        os._exit = native


def keep_status(outcome: Callable[[], int]) -> None:
    """Let a target that ends the process at its exit hide no failure.

    Handlers that it has registered with `atexit` before are called later than that of this one.

    Args:
        outcome: gives the exit status of this process.
    """
    own = os.getpid()

    def replace() -> None:
        native = os._exit

        def ended(status: int) -> NoReturn:
            if os.getpid() == own:
                sys.stdout.flush()
                status = status or outcome()
            native(status)

        os._exit = ended

    atexit.register(replace)
