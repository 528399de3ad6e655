"""Python's garbage collector switched off for a while, and switched on for what is new."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["collect_from_now_on", "import_first", "no_collection"]

#: Not empty while `import_first` holds.
_PAUSED: list[bool] = []


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """No garbage collection: for code that makes a million objects, or that is timed."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def import_first() -> None:
    """No garbage collection until `collect_from_now_on`: of modules nothing is garbage."""
    if gc.isenabled():
        gc.disable()
        _PAUSED.append(True)


def collect_from_now_on() -> None:
    """Collect garbage again after `import_first`, but look for none in what there is now."""
    if _PAUSED:
        _PAUSED.clear()
        gc.freeze()
        gc.enable()
