"""Memory-mapped files larger than memory: used pages are handed back to the system."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np


class Mapped:
    """The shared file mappings of `np.memmap` below some arrays, whose used pages are released."""

    #: Bytes between two releases.
    STEP = 1 << 26

    def __init__(self, *arrays: object) -> None:
        self._maps: list[mmap.mmap] = []
        self._used = 0
        for array in arrays:
            if type(array) is np.ndarray and array.base is None:  # as those of most calls
                continue
            if (shared := _shared_map(array)) is not None:
                self._maps.append(shared)

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
    """The mapping of the `np.memmap` that an array views, if it is shared with a file."""
    owner: Any = array
    while owner is not None:
        if isinstance(owner, np.memmap) and isinstance(owner.base, mmap.mmap):
            shared = owner.mode in ("r", "r+", "w+") and hasattr(mmap, "MADV_DONTNEED")
            return owner.base if shared else None
        owner = getattr(owner, "base", None)
    return None
