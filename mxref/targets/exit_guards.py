"""Guards so that a target in a test runner's process cannot end it as if all tests passed."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["exits_guarded", "exits_raised", "keep_status"]

#: Functions of `os` that end this process, or replace its program.
_ENDS = ("_exit", "execv", "execve")
#: The threads that are calling a target.
_asking: set[int] = set()
#: Returns the exit status that replaces 0: 1 until all tests have run.
_outcome: Callable[[], int] = lambda: 1  # noqa: E731 - a default


def exits_guarded() -> None:
    """From now on let no `os._exit` end this process with status 0.

    This holds for every thread, handler and other name of `os._exit`. The status is then 1, or that
    of `keep_status`. Copies of this process may still end freely, and `os.exec` works in the main
    thread. An `_exit` called from C is not caught.
    """
    if getattr(os._exit, "guards", 0) != os.getpid():
        for name in _ENDS:
            _guard(name)


def _guard(name: str) -> None:
    own, native = os.getpid(), getattr(os, name)

    def ended(*arguments: Any, **named: Any) -> Any:
        thread = threading.get_ident()
        if os.getpid() != own:
            return native(*arguments, **named)
        if thread in _asking:
            shown = map(repr, (*arguments, *named.values()))
            raise SystemExit(f"os.{name}({', '.join(shown)})")
        if name != "_exit":
            if thread == threading.main_thread().ident:
                return native(*arguments, **named)
            os._exit(1)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        return native(next(iter((*arguments, *named.values())), 1) or _outcome())

    ended.guards = own  # type: ignore[attr-defined]
    for module in (os, sys.modules[os.name]):
        setattr(module, name, ended)


@contextlib.contextmanager
def exits_raised() -> Iterator[None]:
    """Turn `os._exit` and `os.exec`, called by a target in this thread, into an exception.

    Called in another thread, such as that of a time limit, they end the process as `exits_guarded`
    says.
    """
    exits_guarded()
    thread = threading.get_ident()
    inner = thread in _asking
    _asking.add(thread)
    try:
        yield
    finally:
        if not inner:
            _asking.discard(thread)


def keep_status(outcome: Callable[[], int]) -> None:
    """Let a target that ends the process after all tests, such as at exit, hide no failure.

    Args:
        outcome: gives the exit status of this process.
    """
    global _outcome
    exits_guarded()
    _outcome = outcome
