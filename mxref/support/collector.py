"""Python's garbage collector, which looks at all objects again and again while many are made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["no_collection"]


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Without it: for what makes a million objects and no garbage, and for what is timed."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
