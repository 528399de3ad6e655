"""Memory-mapped files larger than memory: pages that were used are handed back."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np


class Mapped:
    """The shared file mappings below some arrays; private copies of pages are left alone."""

    #: Bytes between two releases.
    STEP = 1 << 26

    def __init__(self, *arrays: object) -> None:
        self._maps = [m for m in map(_shared_map, arrays) if m is not None]
        self._used = 0

    def use(self, nbytes: int) -> None:
        """Count bytes; hand the pages back to the system now and then (they stay in the file)."""
        if not self._maps:
            return
        self._used += nbytes
        if self._used >= self.STEP:
            self._used = 0
            for some in self._maps:
                some.madvise(mmap.MADV_DONTNEED)


def _shared_map(array: object) -> mmap.mmap | None:
    owner: Any = array
    while owner is not None and not isinstance(owner, mmap.mmap):
        if getattr(owner, "mode", None) == "c" and isinstance(owner, np.memmap):
            return None  # copy on write: its changed pages are nowhere else
        owner = getattr(owner, "base", None)
    return owner if owner is not None and hasattr(mmap, "MADV_DONTNEED") else None
